/** A command that retires a run and is interrupted: what it asked for is taken back, unless it is too late for that. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ChildProcess } from 'node:child_process';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openStore } from '../../src/store/open.ts';
import type { Store } from '../../src/store/store.ts';
import { launchIn } from '../support/launch.ts';
import { intentOnRecord } from '../support/on-record.ts';
import { eventually, isAlive, signalSeen } from '../support/processes.ts';
import { reviewingIn } from '../support/reviewer.ts';
import { CLI, createSandbox, finished, withJson } from '../support/sandbox.ts';
import type { Finished, Sandbox } from '../support/sandbox.ts';

/** A grace that no test sees the end of. */
const LONG = '600';
const TAKE_OVER = ['run', '-d', '--force', '--grace', LONG, '-s', 'a', '--', 'sleep', '60'];
const TAKE_OVER_HERE = ['run', '--force', '--grace', LONG, '-s', 'a', '--', 'sleep', '60'];
const RESUME = ['resume', 'a', '-d', '--on-live', 'retire', '--grace', LONG];
const STOP = ['stop', '--grace', LONG, 'a'];

/** Tells when it is asked to end, does not do it, and exits by itself when it is let go. */
const UNTIL_LET_GO = 'trap "touch asked" TERM; touch deaf; while [ ! -f go ]; do sleep 0.05; done; exit 0';

let sandbox: Sandbox;
beforeEach(() => {
  sandbox = createSandbox();
});
afterEach(() => sandbox.cleanUp());

const there = (file: string) => eventually(file, () => existsSync(sandbox.path(file)));

async function stubborn() {
  const launched = await launchIn(sandbox, 'a', 'sh', '-c', UNTIL_LET_GO);
  await there('deaf');
  return launched;
}

function begin(words: readonly string[], env: Record<string, string> = {}) {
  const command = sandbox.start(words, { env: { ...sandbox.env, ...env } });
  return { command, done: finished(command) };
}

/** Begins it, and interrupts it when the run has been asked. */
async function interrupted(words: readonly string[], signal: NodeJS.Signals): Promise<Finished> {
  const { command, done } = begin(words);
  await there('asked');
  command.kill(signal);
  return done;
}

/** At a step that the command has reached: interrupted there, and let go on. */
async function interruptedAt(
  point: string,
  words: readonly string[],
  signals: readonly NodeJS.Signals[] = ['SIGINT'],
): Promise<Finished> {
  const go = sandbox.path(`past-${point}`);
  const { command, done } = begin(words, { REEVE_CHECKPOINT: `${point}=wait:${go}` });
  await eventually(point, () => existsSync(`${go}.reached`));
  for (const signal of signals) {
    command.kill(signal);
    await heard(command);
  }
  writeFileSync(go, '');
  return done;
}

/** What the process was sent has reached it. */
async function heard({ pid }: ChildProcess): Promise<void> {
  await eventually('nothing is pending', () =>
    /^ShdPnd:\s*0+$/m.test(readFileSync(`/proc/${pid}/status`, 'latin1')),
  );
}

async function letGo() {
  writeFileSync(sandbox.path('go'), '');
  return eventually('it has ended', async () => {
    const { run } = await sandbox.show('a');
    return run.state === 'ended' && run;
  });
}

async function withStore<T>(use: (store: Store) => Promise<T>): Promise<T> {
  const store = await openStore({ sqlite: join(sandbox.home, 'reeve.db') });
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}

function kindsOf(session: string): Promise<string[]> {
  return withStore(async (store) => {
    const found = await store.sessionByName(session);
    const kinds = (await store.eventsOf(found?.session.id ?? '')).map(({ kind }) => kind);
    return kinds.filter((kind) => /^run\.(intended|withdrawn|ended)$/.test(kind));
  });
}

const BY_ITSELF = { outcome: 'completed', exitCode: 0, reason: 'it exited with code 0' };

describe('an interrupted', () => {
  it.each([
    ['takeover', TAKE_OVER, 'SIGINT', 130],
    ['takeover', TAKE_OVER, 'SIGTERM', 143],
    ['takeover', TAKE_OVER, 'SIGHUP', 129],
    ['takeover in the foreground', TAKE_OVER_HERE, 'SIGINT', 130],
    ['resume', RESUME, 'SIGTERM', 143],
    ['stop', STOP, 'SIGINT', 130],
    ['stop', STOP, 'SIGTERM', 143],
    ['stop', STOP, 'SIGHUP', 129],
  ] as const)(
    '%s (%s, %s) takes back what it asked, and the run ends by its own exit',
    async (_, words, signal, code) => {
      const { harness, run } = await stubborn();
      const result = await interrupted(words, signal);
      expect([result.code, result.signal]).toEqual([code, null]);
      expect(result.stderr).toContain(run.id);
      expect(isAlive(harness)).toBe(true);
      const between = await sandbox.show('a');
      expect(between).toMatchObject({ status: 'working', run: { id: run.id, reason: null } });
      expect(await letGo()).toMatchObject({ ...BY_ITSELF, id: run.id });
      expect(await kindsOf('a')).toEqual(['run.intended', 'run.withdrawn', 'run.ended']);
    },
  );

  it('stop with --json says so as an error', async () => {
    const { run } = await stubborn();
    const { stdout } = await interrupted(withJson(STOP), 'SIGTERM');
    expect(JSON.parse(stdout)).toMatchObject({
      error: { code: 'interrupted', details: { signal: 'SIGTERM', run: run.id, outcome: null } },
    });
  });

  it('stop takes it back also when its terminal tells it twice', async () => {
    await stubborn();
    expect((await interruptedAt('retire.intended', STOP, ['SIGHUP', 'SIGHUP'])).code).toBe(129);
    expect(await letGo()).toMatchObject(BY_ITSELF);
  });

  it('stop that had not asked yet asks nothing', async () => {
    await stubborn();
    expect((await interruptedAt('retire.intended', STOP)).code).toBe(130);
    expect(existsSync(sandbox.path('asked'))).toBe(false);
    expect(await letGo()).toMatchObject(BY_ITSELF);
  });

  it('takeover can be followed by a stop, which is what the record then says', async () => {
    const { run } = await stubborn();
    await interrupted(TAKE_OVER, 'SIGINT');
    await sandbox.json(['kill', 'a']);
    expect((await sandbox.show('a')).run).toMatchObject({ id: run.id, outcome: 'stopped' });
  });

  it.each([
    ['takeover', TAKE_OVER, 'superseded'],
    ['stop', STOP, 'stopped'],
  ])('%s whose run is gone already finishes, and begins nothing more', async (_, words, outcome) => {
    const { harness, run } = await launchIn(sandbox, 'a', 'sleep', '60');
    const { code } = await interruptedAt('retire.tree_gone', words);
    expect([code, isAlive(harness)]).toEqual([130, false]);
    const { runs } = await sandbox.show('a');
    expect(runs).toMatchObject([{ id: run.id, outcome }]);
    expect(await kindsOf('a')).toEqual(['run.intended', 'run.ended']);
  });

  it('stop of a run whose children are being dealt with finishes', async () => {
    const child = 'trap "touch child-asked" TERM; touch ready; while [ ! -f go ]; do sleep 0.05; done';
    writeFileSync(sandbox.path('child'), child);
    await launchIn(
      sandbox,
      'a',
      'sh',
      '-c',
      `${process.execPath} ${CLI} child run -d -s c -- sh child; ${UNTIL_LET_GO}`,
    );
    for (const file of ['deaf', 'ready']) await there(file);
    const { command, done } = begin(STOP);
    for (const file of ['child-asked', 'asked']) await there(file);
    command.kill('SIGINT');
    await heard(command);
    writeFileSync(sandbox.path('go'), '');
    expect((await done).code).toBe(130);
    expect((await sandbox.show('a')).run.outcome).toBe('stopped');
    expect((await sandbox.show('c')).run.outcome).toBe('cancelled');
  });

  it.each(['trigger', 'cancel'] as const)('review %s leaves the reviewer at work', async (verb) => {
    const reviews = reviewingIn(sandbox, 'deaf');
    await launchIn(sandbox, 'w', 'sleep', '600');
    const first = await reviews.trigger({ 17: 'aaaa1' });
    const { process: reviewer } = await reviews.reviewer(first.reviewer?.run);
    const words = {
      trigger: reviews.words({ 17: 'aaaa2' }, '--grace', LONG),
      cancel: ['cancel', '-w', 'w', '--grace', LONG],
    };
    const { command, done } = begin(['review', ...words[verb]]);
    await intentOnRecord(sandbox, 'review-w');
    command.kill('SIGTERM');
    expect((await done).code).toBe(143);
    expect(isAlive(reviewer)).toBe(true);
    expect(await kindsOf('review-w')).toEqual(['run.intended', 'run.withdrawn']);
    // What was meant for the review stays meant, and the next one carries it out.
    expect(await reviews.json(['cancel', '-w', 'w', '--grace', '0.3'])).toMatchObject({
      retired: first.reviewer?.run,
    });
    expect(isAlive(reviewer)).toBe(false);
  });
});

describe('two who want the same run to end', () => {
  it('end it once, and the one who goes on is on record when the other is interrupted', async () => {
    const { run } = await stubborn();
    const takeover = begin(TAKE_OVER);
    await there('asked');
    const go = sandbox.path('second');
    const kill = begin(['kill', 'a'], { REEVE_CHECKPOINT: `retire.intended=wait:${go}` });
    await eventually('the second has asked', () => existsSync(`${go}.reached`));
    takeover.command.kill('SIGINT');
    expect((await takeover.done).code).toBe(130);
    writeFileSync(go, '');
    expect((await kill.done).code).toBe(0);
    expect((await sandbox.show('a')).runs).toMatchObject([{ id: run.id, outcome: 'stopped' }]);
    expect(await kindsOf('a')).toEqual(['run.intended', 'run.intended', 'run.withdrawn', 'run.ended']);
  });
});

it('an intent that is taken back while the outcome is being decided does not decide it', async () => {
  const go = sandbox.path('decided');
  sandbox.env['REEVE_CHECKPOINT'] = `finalise.decided=wait:${go}`;
  const { run } = await stubborn();
  delete sandbox.env['REEVE_CHECKPOINT'];
  const { command, done } = begin(STOP);
  await there('asked');
  // Held where it stands, so that what it takes back comes between two steps of the finaliser.
  command.kill('SIGSTOP');
  writeFileSync(sandbox.path('go'), '');
  await there('decided.reached');
  await withStore(async (store) => {
    const intent = (await store.run(run.id))?.intent;
    expect(intent).toMatchObject({ outcome: 'stopped' });
    if (intent) expect(await store.step(run.id, { kind: 'withdraw', intent })).toMatchObject({ taken: true });
  });
  writeFileSync(go, '');
  await eventually('it has ended', async () => (await sandbox.show('a')).run.state === 'ended');
  command.kill('SIGCONT');
  await done;
  // By the finaliser itself, which was there: whoever looks after it could not call it proven.
  expect((await sandbox.show('a')).run).toMatchObject({ ...BY_ITSELF, proof: 'kernel' });
});

describe('whoever is killed in the middle of a takeover', () => {
  const killedAfterAsking = () => interrupted(TAKE_OVER, 'SIGKILL');

  it('has taken nothing over, and the record does not say so', async () => {
    const { run } = await stubborn();
    await killedAfterAsking();
    const ended = await letGo();
    expect(ended).toMatchObject({ id: run.id, outcome: 'superseded', exitCode: 0 });
    expect(ended.reason).not.toMatch(/took|taken/);
  });

  it('gives way to whoever wants the end next', async () => {
    const { run } = await stubborn();
    await killedAfterAsking();
    await sandbox.json(['kill', 'a']);
    expect((await sandbox.show('a')).run).toMatchObject({ id: run.id, outcome: 'stopped' });
  });

  it('gives way also to one who takes it back', async () => {
    await stubborn();
    await killedAfterAsking();
    expect((await interruptedAt('retire.intended', STOP)).code).toBe(130);
    expect(await letGo()).toMatchObject(BY_ITSELF);
  });

  it('has ended a run that obeyed before another came', async () => {
    // Its keeper does not come to write the outcome itself, so that the next one finds the exit, and the run alive.
    sandbox.env['REEVE_CHECKPOINT'] = `keeper.recorded=wait:${sandbox.path('never')}`;
    await launchIn(sandbox, 'a', 'sleep', '60');
    delete sandbox.env['REEVE_CHECKPOINT'];
    await sandbox.reeve(TAKE_OVER, { env: { REEVE_CHECKPOINT: 'retire.tree_gone=kill' } });
    await sandbox.json(['kill', 'a']);
    expect((await sandbox.show('a')).run).toMatchObject({ outcome: 'superseded', signal: 'SIGTERM' });
  });
});

it('a second Ctrl-C ends the command at once, and what it asked for stays asked', async () => {
  await stubborn();
  const go = sandbox.path('never');
  const { command, done } = begin(STOP, { REEVE_CHECKPOINT: `retire.intended=wait:${go}` });
  await eventually('it is held', () => existsSync(`${go}.reached`));
  command.kill('SIGINT');
  await heard(command);
  command.kill('SIGINT');
  expect(await done).toMatchObject({ code: null, signal: 'SIGINT' });
  expect(await letGo()).toMatchObject({ outcome: 'stopped', exitCode: 0 });
});

it('a stop from inside of the run that it ends is swept with it, and takes nothing back', async () => {
  const stop = `${process.execPath} ${CLI} stop --grace ${LONG} a & echo $! > stopper`;
  await launchIn(sandbox, 'a', 'sh', '-c', `trap "touch asked" TERM; ${stop}; ${UNTIL_LET_GO}`);
  const stopper = await sandbox.pidFrom('stopper');
  await there('asked');
  signalSeen(stopper, 'SIGTERM');
  await eventually('it is gone', () => !isAlive(stopper));
  expect(await letGo()).toMatchObject({ outcome: 'stopped', exitCode: 0 });
});
