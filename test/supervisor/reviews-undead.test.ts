/** When a reviewer cannot be ended: what was meant stays meant, nothing is repeated, and nobody calls it working. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createFreezer } from '../support/freezer.ts';
import type { Freezer } from '../support/freezer.ts';
import { launchIn } from '../support/launch.ts';
import { eventually, isAlive } from '../support/processes.ts';
import { reviewingIn } from '../support/reviewer.ts';
import type { Reviewing, ReviewFailure } from '../support/reviewer.ts';
import { createSandbox } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';
import { unprovable } from '../support/unprovable.ts';

/** Each try to end what cannot be ended takes its whole limit. */
vi.setConfig({ testTimeout: 120_000 });

let sandbox: Sandbox;
let reviews: Reviewing;
beforeEach(async () => {
  sandbox = createSandbox();
  reviews = reviewingIn(sandbox);
  await launchIn(sandbox, 'w', 'sleep', '600');
});
afterEach(() => sandbox.cleanUp());

async function underReview() {
  const { reviewer } = await reviews.trigger({ 1: 'aaaa1', 2: 'bbbb1' });
  return { run: reviewer?.run ?? '', ...(await reviews.reviewer(reviewer?.run)) };
}

const failure = (words: readonly string[]) => reviews.json<ReviewFailure>(words, 7);
const over = async () => (await sandbox.show('review-w')).run.state === 'ended';

describe('a reviewer on another host', () => {
  it('stays, what was asked for waits, and a trigger that is repeated repeats nothing', async () => {
    const { run, process } = await underReview();
    const restore = unprovable(sandbox, run);
    const asked = reviews.words({ 1: 'aaaa2', 3: 'cccc1' });
    expect((await failure(asked)).error).toMatchObject({ code: 'unproven', details: { run } });
    const after = await reviews.list('--all');
    expect(await reviews.told()).toEqual([
      '1 at aaaa1: running',
      '2 at bbbb1: running',
      '1 at aaaa2: needs-review',
      '3 at cccc1: needs-review',
    ]);
    for (const { reason } of after) expect(reason).toContain('another-host');
    expect(after[0]?.reason).toContain(after[2]?.id);
    await failure(asked);
    expect(await reviews.list('--all')).toEqual(after);
    expect(isAlive(process)).toBe(true);
    // What still runs is not hidden behind what is wanted now, and a person is told why.
    expect((await reviews.review(['ls'])).stdout.match(/could not be ended/g)).toHaveLength(4);
    restore();
    // What it has to say about the old head is late, although it lives; about the other it is not.
    const [one, two] = after;
    expect(await reviews.submit(one?.id ?? '', 'approve')).toBe(5);
    expect(await reviews.submit(two?.id ?? '', 'approve')).toBe(0);
    const next = await reviews.trigger({ 1: 'aaaa2' });
    expect(next).toMatchObject({ retired: run, pullRequests: [{ is: 'reused' }] });
    expect(isAlive(process)).toBe(false);
    expect(await reviews.told()).toEqual([
      '1 at aaaa1: superseded',
      '2 at bbbb1: up-to-date',
      '1 at aaaa2: running',
      '3 at cccc1: running',
    ]);
    for (const { reason } of await reviews.list('--all')) expect(reason).toBeNull();
  });

  it('that ends by itself leaves the older head superseded, and what goes on waiting', async () => {
    const { run } = await underReview();
    const restore = unprovable(sandbox, run);
    await failure(reviews.words({ 1: 'aaaa2' }));
    restore();
    reviews.exit(run, 0);
    await eventually('it is over', over);
    expect(await reviews.told()).toEqual([
      '1 at aaaa1: superseded',
      '2 at bbbb1: needs-review',
      '1 at aaaa2: needs-review',
    ]);
    await reviews.trigger({ 1: 'aaaa2' });
    expect((await reviews.told()).slice(1)).toEqual(['2 at bbbb1: running', '1 at aaaa2: running']);
  });

  it('whose head moves on again has one newer review, not one a try', async () => {
    const { run } = await underReview();
    const restore = unprovable(sandbox, run);
    await failure(reviews.words({ 1: 'aaaa2' }));
    await failure(reviews.words({ 1: 'aaaa3' }));
    restore();
    expect(await reviews.told()).toEqual([
      '1 at aaaa1: running',
      '2 at bbbb1: running',
      '1 at aaaa2: superseded',
      '1 at aaaa3: needs-review',
    ]);
  });

  it('is cancelled as soon as it is gone, and a cancel can be tried again', async () => {
    const { run, process } = await underReview();
    const restore = unprovable(sandbox, run);
    const words = ['cancel', '--worker', 'w', '--grace', '0.3'];
    expect((await failure(words)).error.code).toBe('unproven');
    expect(isAlive(process)).toBe(true);
    for (const { status, reason } of await reviews.list()) {
      expect([status, reason]).toEqual(['running', expect.stringContaining('another-host')]);
    }
    restore();
    expect(await reviews.json(words)).toMatchObject({
      retired: run,
      cancelled: [{ status: 'cancelled', reason: expect.stringContaining('cancelled it') }, { pr: '2' }],
    });
    expect(isAlive(process)).toBe(false);
  });

  it('with nothing left but what it was to be ended for is ended by a cancel of what waits', async () => {
    const { reviewer } = await reviews.trigger({ 1: 'aaaa1' });
    const { process } = await reviews.reviewer(reviewer?.run);
    const restore = unprovable(sandbox, reviewer?.run ?? '');
    await failure(reviews.words({ 1: 'aaaa2' }));
    restore();
    await reviews.json(['cancel', '--worker', 'w', '--grace', '0.3']);
    expect(isAlive(process)).toBe(false);
    expect(await reviews.told()).toEqual(['1 at aaaa1: superseded', '1 at aaaa2: cancelled']);
  });
});

// Where there is no such freezer the above stands for it alone.
describe('a reviewer that cannot be killed', { tags: ['freezer'] }, () => {
  let freezer: Freezer;
  beforeEach(() => {
    freezer = createFreezer();
  });
  afterEach(() => freezer.remove());

  it('is named, called unknown and not working, and its review is superseded once it is gone', async () => {
    const { run, process } = await underReview();
    freezer.freeze(process.pid);
    const { error } = await failure(reviews.words({ 1: 'aaaa2' }));
    expect(error).toMatchObject({
      code: 'survivors',
      message: expect.stringContaining(String(process.pid)),
    });
    const shown = await sandbox.show('review-w');
    expect(shown).toMatchObject({
      status: 'unknown',
      run: { id: run, state: 'running', liveness: 'alive' },
    });
    expect(shown.doubt).toContain(`pid ${process.pid}`);
    expect((await sandbox.list()).find(({ name }) => name === 'review-w')?.status).toBe('unknown');
    const [old] = await reviews.list('--all');
    expect(await reviews.show(old?.id ?? '')).toMatchObject({
      status: 'running',
      isCurrent: false,
      reason: expect.stringContaining(`pid ${process.pid}`),
    });
    freezer.thaw();
    await eventually('it is over', over);
    expect((await sandbox.show('review-w')).run.outcome).toBe('superseded');
    expect(await reviews.told()).toEqual([
      '1 at aaaa1: superseded',
      '2 at bbbb1: needs-review',
      '1 at aaaa2: needs-review',
    ]);
  });
});
