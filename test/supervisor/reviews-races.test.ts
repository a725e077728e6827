/** Ten triggers at once: never two reviewers, and in the end one, of what was asked for last. */
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { TriggerView } from '../../src/api/http-views.ts';
import { launchIn } from '../support/launch.ts';
import { reviewingIn } from '../support/reviewer.ts';
import type { Reviewing } from '../support/reviewer.ts';
import { createSandbox } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

const AT_ONCE = 10;
/** Ten reviewers, one after another, on a machine that does other things too. */
vi.setConfig({ testTimeout: 180_000 });

let sandbox: Sandbox;
let reviews: Reviewing;
beforeEach(async () => {
  sandbox = createSandbox();
  reviews = reviewingIn(sandbox);
  await launchIn(sandbox, 'w', 'sleep', '600');
});
afterEach(() => sandbox.cleanUp());

/** The answers, and the most reviewers that were ever seen at once while they were made. */
async function atOnce(heads: readonly Readonly<Record<string, string>>[]) {
  let most = 0;
  let isOver = false;
  const sampling = (async () => {
    while (!isOver) {
      most = Math.max(most, reviews.alive().length);
      await turn();
    }
  })();
  const answers: readonly TriggerView[] = await Promise.all(
    heads.map((each) => reviews.trigger(each, '--grace', '5')),
  ).finally(() => (isOver = true));
  await sampling;
  return { answers, most };
}

it('of the same head, exactly one starts a reviewer and the others find it', async () => {
  const { answers, most } = await atOnce(Array.from({ length: AT_ONCE }, () => ({ 17: 'aaaa1' })));
  expect(answers.filter(({ isStarted }) => isStarted)).toHaveLength(1);
  expect(new Set(answers.map(({ reviewer }) => reviewer?.run)).size).toBe(1);
  expect([most, reviews.alive().length]).toEqual([1, 1]);
  expect(await reviews.told()).toEqual(['17 at aaaa1: running']);
  expect((await sandbox.show('review-w')).epoch).toBe(1);
});

it('of different heads, they come one after another, and the last one’s reviewer is the only one', async () => {
  const heads = Array.from({ length: AT_ONCE }, (_, index) => ({ 17: `aaaa${index}` }));
  const { answers, most } = await atOnce(heads);
  expect(answers.every(({ isStarted }) => isStarted)).toBe(true);
  expect(most).toBe(1);
  expect(reviews.alive()).toHaveLength(1);
  const all = await reviews.list('--all');
  const last = all.at(-1);
  const ends = all.map(({ status, reason }) => (status === 'failed' ? `failed: ${reason}` : status));
  expect(ends).toEqual([...Array(AT_ONCE - 1).fill('superseded'), 'running']);
  expect(all.map(({ isCurrent }) => isCurrent)).toEqual([...Array(AT_ONCE - 1).fill(false), true]);
  // Each is superseded by the one that came next.
  expect(all.slice(0, -1).map(({ supersededBy }) => supersededBy)).toEqual(all.slice(1).map(({ id }) => id));
  expect((await sandbox.show('review-w')).run.id).toBe(last?.reviewer?.run);
  expect((await sandbox.show('review-w')).epoch).toBe(AT_ONCE);
});

it('of different pull requests, all are with the one reviewer that is left', async () => {
  const heads = Array.from({ length: AT_ONCE }, (_, index) => ({ [`pr-${index}`]: 'aaaa1' }));
  const { most } = await atOnce(heads);
  expect([most, reviews.alive().length]).toEqual([1, 1]);
  const { run } = await sandbox.show('review-w');
  const all = await reviews.list('--all');
  expect(all.map(({ status, reviewer }) => `${status} ${reviewer?.run}`)).toEqual(
    Array(AT_ONCE).fill(`running ${run.id}`),
  );
  const { queue } = await reviews.reviewer(run.id);
  expect(queue.map(({ pr }) => pr).toSorted()).toEqual(heads.flatMap((each) => Object.keys(each)).toSorted());
});
