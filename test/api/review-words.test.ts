import { describe, expect, it } from 'vitest';
import { byWorker, isOfNow, wantsPerson } from '../../src/api/review-words.ts';
import { reviewView } from '../fixtures/review-views.ts';

describe('the order of reviews', () => {
  it('is by worker and pull request, what wants a person first, of each the current head first', () => {
    const reviews = [
      reviewView('1', {
        worker: 'api',
        workerId: 's-api',
        pr: 'a',
        status: 'up-to-date',
        verdict: 'approve',
      }),
      reviewView('2', { worker: 'web', workerId: 's-web', pr: 'w1', status: 'running' }),
      reviewView('3', { worker: 'web', workerId: 's-web', pr: 'w2', status: 'superseded', isCurrent: false }),
      reviewView('4', { worker: 'web', workerId: 's-web', pr: 'w2', status: 'changes-requested' }),
      reviewView('5', { worker: 'web', workerId: 's-web', pr: 'w2', status: 'failed', isCurrent: false }),
    ];
    expect(
      byWorker(reviews).map(({ worker, workerId, pullRequests }) => [
        worker,
        workerId,
        pullRequests.map(({ pr, reviews: of }) => [pr, of.map(({ id }) => id)]),
      ]),
    ).toEqual([
      [
        'web',
        's-web',
        [
          ['w2', ['v-4', 'v-5', 'v-3']],
          ['w1', ['v-2']],
        ],
      ],
      ['api', 's-api', [['a', ['v-1']]]],
    ]);
  });

  it('does not care for what an older head came to', () => {
    const reviews = [
      reviewView('1', { pr: 'a', status: 'failed', isCurrent: false }),
      reviewView('2', { pr: 'a', status: 'up-to-date' }),
      reviewView('3', { pr: 'b', status: 'needs-review' }),
    ];
    expect(byWorker(reviews)[0]?.pullRequests.map(({ pr }) => pr)).toEqual(['b', 'a']);
  });
});

it('what is of now is the current head, and whatever is still being done', () => {
  const [old, current] = [{ isCurrent: false }, { isCurrent: true }];
  expect(isOfNow(reviewView('1', { ...old, status: 'superseded' }))).toBe(false);
  expect(isOfNow(reviewView('1', { ...old, status: 'running' }))).toBe(true);
  expect(isOfNow(reviewView('1', { ...old, status: 'needs-review' }))).toBe(true);
  expect(isOfNow(reviewView('1', { ...current, status: 'superseded' }))).toBe(true);
});

it('a person is wanted for what was found, and for what failed, at the current head only', () => {
  expect(wantsPerson(reviewView('1', { status: 'changes-requested' }))).toBe(true);
  expect(wantsPerson(reviewView('1', { status: 'failed' }))).toBe(true);
  expect(wantsPerson(reviewView('1', { status: 'failed', isCurrent: false }))).toBe(false);
  expect(wantsPerson(reviewView('1', { status: 'running' }))).toBe(false);
});
