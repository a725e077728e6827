/** A trigger that is killed at any of its steps leaves records that are true, and the next one goes on from there. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openDaemon } from '../daemon/support.ts';
import { sessionIdFile } from '../../src/process/owner-files.ts';
import { launchIn } from '../support/launch.ts';
import { ownersOf } from '../support/lost-store.ts';
import { eventually, isAlive } from '../support/processes.ts';
import type { Seen } from '../support/processes.ts';
import { brief, reviewingIn, sha } from '../support/reviewer.ts';
import type { Reviewing, ReviewFailure } from '../support/reviewer.ts';
import { createSandbox, finished } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';
import { unprovableHolder } from '../support/unprovable.ts';

let sandbox: Sandbox;
let reviews: Reviewing;
beforeEach(async () => {
  sandbox = createSandbox();
  reviews = reviewingIn(sandbox);
  await launchIn(sandbox, 'w', 'sleep', '600');
});
afterEach(() => sandbox.cleanUp());

/** Of PR 1 an older head, of PR 2 one that stays. */
/**
 * At these points whoever ends the reviewer writes its outcome. Its keeper, which would do so itself and may be quicker,
 * is kept from it, so that it is certain who dies over it.
 */
const isAtOutcome = (point: string) => point.startsWith('finalise.') || point === 'retire.ended';

async function underReview(point = ''): Promise<{ readonly run: string; readonly process: Seen }> {
  if (isAtOutcome(point)) sandbox.env['REEVE_CHECKPOINT'] = `keeper.recorded=wait:${sandbox.path('never')}`;
  const { reviewer } = await reviews.trigger({ 1: 'aaaa1', 2: 'bbbb1' });
  delete sandbox.env['REEVE_CHECKPOINT'];
  const { process } = await reviews.reviewer(reviewer?.run);
  return { run: reviewer?.run ?? '', process };
}

async function checkTruth(old: { readonly run: string; readonly process: Seen }): Promise<void> {
  const live = (await sandbox.show('review-w')).run;
  for (const { status, reviewer, pr, head } of await reviews.list('--all')) {
    const what = `${pr} at ${head}`;
    // A row that says `superseded` has no living reviewer, and one that says `running` has one.
    if (status === 'superseded') expect([what, isAlive(old.process)]).toEqual([what, false]);
    if (status === 'running') {
      expect([what, reviewer?.run, live.state]).toEqual([what, live.id, 'running']);
    }
    expect(['running', 'superseded', 'needs-review']).toContain(status);
  }
  if (isAlive(old.process)) expect(live.id).toBe(old.run);
}

describe('a trigger that supersedes, killed', () => {
  it.each([
    'review.locked',
    'review.planned',
    'retire.intended',
    'retire.tree_gone',
    'finalise.begun',
    'finalise.swept',
    'finalise.ended',
    'retire.ended',
    'review.retired',
    'review.settled',
    'launch.claimed',
    'review.bound',
    'launch.keeper_spawned',
    'launch.started',
    'launch.released',
    'launch.executing',
    'review.started',
  ])('at %s, is followed by one that leaves exactly one reviewer, with the whole queue', async (point) => {
    const old = await underReview(point);
    const killed = await reviews.review(reviews.words({ 1: 'aaaa2' }), { REEVE_CHECKPOINT: `${point}=kill` });
    expect(killed.signal).toBe('SIGKILL');
    await checkTruth(old);
    const next = await reviews.trigger({ 1: 'aaaa2' });
    const { process, queue } = await reviews.reviewer(next.reviewer?.run);
    expect(isAlive(old.process)).toBe(false);
    expect(reviews.alive()).toEqual([process]);
    const current = queue.map(({ pr, head }) => `${pr} at ${brief(head)}`).toSorted();
    expect(current).toEqual(['1 at aaaa2', '2 at bbbb1']);
    const open = (await reviews.list('--all')).filter(({ status }) => status !== 'superseded');
    expect(open.map(({ status, reviewer }) => [status, reviewer?.run])).toEqual([
      ['running', next.reviewer?.run],
      ['running', next.reviewer?.run],
    ]);
    expect(await reviews.told()).toContain('1 at aaaa1: superseded');
  });

  it('half-way, leaves an old reviewer whose submission is refused, whoever looks first', async () => {
    const old = await underReview();
    const [first] = await reviews.list();
    await reviews.review(reviews.words({ 1: 'aaaa2' }), { REEVE_CHECKPOINT: 'review.planned=kill' });
    expect(isAlive(old.process)).toBe(true);
    expect(await reviews.told()).toEqual([
      '1 at aaaa1: running',
      '2 at bbbb1: running',
      '1 at aaaa2: needs-review',
    ]);
    expect(await reviews.submit(first?.id ?? '', 'approve')).toBe(5);
    const [, second] = await reviews.list();
    expect(await reviews.submit(second?.id ?? '', 'approve')).toBe(0);
  });

  it('while its reviewer ends by itself, is no loss: the look after accounts for what was meant', async () => {
    const old = await underReview();
    await reviews.review(reviews.words({ 1: 'aaaa2' }), { REEVE_CHECKPOINT: 'review.planned=kill' });
    reviews.exit(old.run, 0);
    await eventually('it is over', async () => (await sandbox.show('review-w')).run.state === 'ended');
    expect(await reviews.told()).toEqual([
      '1 at aaaa1: superseded',
      '2 at bbbb1: needs-review',
      '1 at aaaa2: needs-review',
    ]);
  });
});

describe('a daemon that carries out a trigger, killed', () => {
  it.each(['review.planned', 'review.retired', 'review.bound', 'launch.started', 'review.started'])(
    'at %s, leaves what the next trigger goes on from, with one reviewer',
    async (point) => {
      const old = await underReview();
      sandbox.env['REEVE_CHECKPOINT'] = `${point}=kill`;
      const daemon = await openDaemon(sandbox);
      delete sandbox.env['REEVE_CHECKPOINT'];
      const body = {
        worker: 'w',
        pullRequests: [{ pr: '1', head: sha('aaaa2') }],
        reviewer: ['sh', '-c', reviews.command],
        graceSeconds: 0.3,
      };
      await expect(daemon.ask('POST', '/v1/reviews/trigger', { body })).rejects.toThrow();
      await checkTruth(old);
      const next = await reviews.trigger({ 1: 'aaaa2' });
      const { process } = await reviews.reviewer(next.reviewer?.run);
      expect(isAlive(old.process)).toBe(false);
      expect(reviews.alive()).toEqual([process]);
      await daemon.stop();
    },
  );
});

describe('a cancel, killed', () => {
  it.each(['review.planned', 'retire.intended', 'retire.tree_gone', 'finalise.ended', 'retire.ended'])(
    'at %s, can be followed by a trigger',
    async (point) => {
      const old = await underReview(point);
      const killed = await reviews.review(['cancel', '--worker', 'w', '--grace', '0.3'], {
        REEVE_CHECKPOINT: `${point}=kill`,
      });
      expect(killed.signal).toBe('SIGKILL');
      // Between the end of the reviewer and its outcome, its keeper still owns the session.
      await eventually('the list agrees with the processes', async () => {
        const rows = await reviews.list();
        const expected = isAlive(old.process) ? 'running' : 'cancelled';
        return rows.every(({ status }) => status === expected);
      });
      await reviews.trigger({ 1: 'aaaa1' });
      expect(isAlive(old.process)).toBe(false);
      expect(reviews.alive()).toHaveLength(1);
      expect(await reviews.told()).toEqual([
        '1 at aaaa1: cancelled',
        '2 at bbbb1: cancelled',
        '1 at aaaa1: running',
      ]);
    },
  );
});

it('a reviewer whose name was held for a while by somebody has its whole queue in the end', async () => {
  const { reviewer } = await reviews.trigger({ 1: 'aaaa1' });
  await reviews.reviewer(reviewer?.run);
  await sandbox.json(['stop', 'review-w', '--grace', '0.3']);
  const owners = ownersOf(sandbox);
  const file = sessionIdFile(owners, (await sandbox.show('review-w')).id);
  const holder = spawn('flock', ['--no-fork', file, 'sh', '-c', 'echo held; exec sleep 60'], {
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { PATH: process.env['PATH'] ?? '' },
  });
  await once(holder.stdout, 'data');
  const go = sandbox.path('go');
  sandbox.env['REEVE_CHECKPOINT'] = `keeper.holding=wait:${go}`;
  const triggered = reviews.trigger({ 1: 'aaaa2' });
  await eventually('its keeper has waited in vain', () => existsSync(`${go}.reached`));
  holder.kill('SIGKILL');
  await once(holder, 'exit');
  writeFileSync(go, '');
  const { reviewer: second } = await triggered;
  const { queue } = await reviews.reviewer(second?.run);
  expect(queue.map(({ pr, head }) => `${pr} at ${brief(head)}`)).toEqual(['1 at aaaa2']);
  expect(await reviews.told()).toContain('1 at aaaa2: running');
});

describe('a trigger that finds another at work', () => {
  const hold = async () => {
    const go = sandbox.path('go');
    const child = sandbox.start(['review', ...reviews.words({ 1: 'aaaa1' }), '--json'], {
      env: { ...sandbox.env, REEVE_CHECKPOINT: `review.locked=wait:${go}` },
    });
    await eventually('it holds the lock', () => existsSync(`${go}.reached`));
    return { child, go };
  };

  it('waits for it, and then sees what it did', async () => {
    const { child, go } = await hold();
    const first = finished(child);
    let isDone = false;
    const second = reviews.trigger({ 1: 'aaaa1' }).finally(() => (isDone = true));
    // It has been able to do several looks by the time that this one is done.
    await reviews.list();
    expect(isDone).toBe(false);
    writeFileSync(go, '');
    expect((await first).code).toBe(0);
    expect(await second).toMatchObject({ isStarted: false, pullRequests: [{ is: 'reused' }] });
    expect(reviews.alive()).toHaveLength(1);
  });

  it('that was stopped by a signal waits, for it is not dead', async () => {
    const { child, go } = await hold();
    child.kill('SIGSTOP');
    let isDone = false;
    const second = reviews.trigger({ 1: 'aaaa2' }).finally(() => (isDone = true));
    await reviews.list();
    expect(isDone).toBe(false);
    writeFileSync(go, '');
    child.kill('SIGCONT');
    expect((await finished(child)).code).toBe(0);
    expect(await second).toMatchObject({ isStarted: true, superseded: [{ head: sha('aaaa1') }] });
  });

  it('of which nothing can be proven is refused (7), and nothing changes', async () => {
    const { child, go } = await hold();
    const done = finished(child);
    const restore = unprovableHolder(sandbox);
    const { error } = await reviews.json<ReviewFailure>(reviews.words({ 1: 'aaaa2' }), 7);
    expect(error.code).toBe('unproven');
    restore();
    writeFileSync(go, '');
    expect((await done).code).toBe(0);
    expect(await reviews.told()).toEqual(['1 at aaaa1: running']);
  });
});
