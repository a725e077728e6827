/** What a reviewer submits counts once, from the one that has the review, while it is current. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SessionView } from '../../src/api/session-view.ts';
import { launchIn } from '../support/launch.ts';
import { eventually } from '../support/processes.ts';
import { reviewingIn, sha } from '../support/reviewer.ts';
import type { Reviewing } from '../support/reviewer.ts';
import { createSandbox } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

let sandbox: Sandbox;
let reviews: Reviewing;
beforeEach(async () => {
  sandbox = createSandbox();
  reviews = reviewingIn(sandbox);
  await launchIn(sandbox, 'w', 'sleep', '600');
});
afterEach(() => sandbox.cleanUp());

describe('a submission', () => {
  it('of the reviewer is on record with its verdict and what it wrote', async () => {
    const { pullRequests, reviewer } = await reviews.trigger({ 17: 'aaaa1' });
    const id = pullRequests[0]?.review.id ?? '';
    expect(await reviews.submit(id, 'approve')).toBe(0);
    expect(await reviews.show(id.slice(0, 12))).toMatchObject({
      id,
      status: 'up-to-date',
      verdict: 'approve',
      body: `What ${reviewer?.run} found in 17 at ${sha('aaaa1')}.\n`,
      late: null,
      endedAt: expect.any(String),
    });
  });

  it('made twice is accepted twice, and on record once', async () => {
    const { pullRequests, reviewer } = await reviews.trigger({ 17: 'aaaa1' });
    const id = pullRequests[0]?.review.id ?? '';
    const { token } = await reviews.reviewer(reviewer?.run);
    writeFileSync(sandbox.path('body'), '\u001B[31mfine');
    const words = ['submit', '--run', id, '--verdict', 'approve', '--body', sandbox.path('body'), '--json'];
    const own = { REEVE_RUN: reviewer?.run ?? '', REEVE_TOKEN: token };
    expect(JSON.parse((await reviews.review(words, own)).stdout)).toMatchObject({
      accepted: true,
      again: false,
    });
    expect(JSON.parse((await reviews.review(words, own)).stdout)).toMatchObject({
      accepted: true,
      again: true,
    });
    const other = await reviews.review(
      [...words.slice(0, 3), '--verdict', 'changes', '--body', sandbox.path('body')],
      own,
    );
    expect(other.code).toBe(5);
    expect(other.stderr).toContain('this review already has a verdict (approve)');
    expect(await reviews.show(id)).toMatchObject({ verdict: 'approve', late: { body: '\u001B[31mfine' } });
    expect((await reviews.review(['show', id])).stdout).toContain('\n\\x1b[31mfine\n');
  });

  it('of a reviewer that was superseded is refused (5), put aside, and changes nothing else', async () => {
    const first = await reviews.trigger({ 17: 'aaaa1' });
    const old = await reviews.reviewer(first.reviewer?.run);
    await reviews.trigger({ 17: 'aaaa2' });
    const before = await reviews.list('--all');
    const id = old.queue[0]?.id ?? '';
    writeFileSync(sandbox.path('body'), 'about the old one');
    const words = ['submit', '--run', id, '--verdict', 'approve', '--body', sandbox.path('body'), '--json'];
    const late = await reviews.review(words, {
      REEVE_RUN: first.reviewer?.run ?? '',
      REEVE_TOKEN: old.token,
    });
    expect(late.code).toBe(5);
    expect(JSON.parse(late.stdout)).toMatchObject({
      error: { code: 'fenced', details: { review: id, run: first.reviewer?.run, isKept: true } },
    });
    expect(await reviews.list('--all')).toEqual(before);
    expect(await reviews.show(id)).toMatchObject({
      status: 'superseded',
      verdict: null,
      body: null,
      late: { body: 'about the old one', because: expect.stringContaining('superseded') },
    });
  });

  it.each([
    ['with a forged token', (run: string) => ({ REEVE_RUN: run, REEVE_TOKEN: 'forged' }), 5],
    ['by nobody', () => ({}), 2],
  ])('%s is refused, and nothing is kept', async (_, credentials, exit) => {
    const { pullRequests, reviewer } = await reviews.trigger({ 17: 'aaaa1' });
    const id = pullRequests[0]?.review.id ?? '';
    writeFileSync(sandbox.path('body'), 'x');
    const words = ['submit', '--run', id, '--verdict', 'approve', '--body', sandbox.path('body')];
    expect((await reviews.review(words, credentials(reviewer?.run ?? ''))).code).toBe(exit);
    expect(await reviews.show(id)).toMatchObject({ status: 'running', body: null, late: null });
  });

  it('by another run, of the worker or of somebody else, is refused, and nothing is kept', async () => {
    const { pullRequests } = await reviews.trigger({ 17: 'aaaa1' });
    const id = pullRequests[0]?.review.id ?? '';
    const script = 'echo "$REEVE_TOKEN" > token.new; mv token.new token; exec sleep 60';
    const { run } = await sandbox.json<SessionView>(['run', '--detach', '-s', 'x', '--', 'sh', '-c', script]);
    await eventually('its token', () => existsSync(sandbox.path('token')));
    const token = readFileSync(sandbox.path('token'), 'utf8').trim();
    const words = ['submit', '--run', id, '--verdict', 'approve', '--body', '/dev/null'];
    expect((await reviews.review(words, { REEVE_RUN: run.id, REEVE_TOKEN: token })).code).toBe(5);
    expect(await reviews.show(id)).toMatchObject({ status: 'running', body: null, late: null });
  });

  it('of more than a megabyte is refused as too large', async () => {
    const { pullRequests, reviewer } = await reviews.trigger({ 17: 'aaaa1' });
    const { token } = await reviews.reviewer(reviewer?.run);
    writeFileSync(sandbox.path('body'), 'x'.repeat(1024 * 1024 + 1));
    const id = pullRequests[0]?.review.id ?? '';
    const words = ['submit', '--run', id, '--verdict', 'approve', '--body', sandbox.path('body'), '--json'];
    const result = await reviews.review(words, { REEVE_RUN: reviewer?.run ?? '', REEVE_TOKEN: token });
    expect({ code: result.code, error: JSON.parse(result.stdout) as unknown }).toMatchObject({
      code: 2,
      error: { error: { code: 'too_large' } },
    });
  });
});
