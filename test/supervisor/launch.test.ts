/** The launch protocol, with the launcher killed behind every durable step, and many starting at once. */
import { spawn } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmdirSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SessionView } from '../../src/api/session-view.ts';
import { intentOnRecord } from '../support/on-record.ts';
import { eventually, isAlive, isExecuting, see, signalSeen, startedWith } from '../support/processes.ts';
import { CLI, createSandbox, finished } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

let sandbox: Sandbox;
beforeEach(() => {
  sandbox = createSandbox();
});
afterEach(() => sandbox.cleanUp());

/** Writes its pid, so that a test sees whether it ever executed. */
const WORKER = ['sh', '-c', 'echo $$ > worker; exec sleep 60'];
const hasWorked = () => existsSync(sandbox.path('worker'));

describe('a launcher killed', () => {
  it.each(['launch.claimed', 'launch.keeper_spawned', 'launch.started'])(
    'at %s leaves no harness, and the session is free again',
    async (point) => {
      const killed = await sandbox.reeve(['run', '--detach', '-s', 'a', '--', ...WORKER], {
        env: { REEVE_CHECKPOINT: `${point}=kill` },
      });
      expect(killed.signal).toBe('SIGKILL');
      const { run } = await eventually('the claim is given up', async () => {
        const session = await sandbox.show('a');
        return session.run.state === 'ended' && session;
      });
      expect({ outcome: run.outcome, pid: run.pid, exitCode: run.exitCode }).toEqual({
        outcome: 'never_started',
        pid: null,
        exitCode: null,
      });
      expect(hasWorked()).toBe(false);
      const next = await sandbox.json<SessionView>(['run', '--detach', '-s', 'a', '--', 'sleep', '60']);
      expect({ epoch: next.epoch, status: next.status }).toEqual({ epoch: 2, status: 'working' });
    },
  );

  it.each(['launch.released', 'launch.executing'])(
    'at %s leaves a run that goes on, is kept, and is found by any reader',
    async (point) => {
      const killed = await sandbox.reeve(['run', '--detach', '-s', 'a', '--', ...WORKER], {
        env: { REEVE_CHECKPOINT: `${point}=kill` },
      });
      expect(killed.signal).toBe('SIGKILL');
      const worker = await sandbox.pidFrom('worker');
      const { status, run } = await sandbox.show('a');
      expect({ status, pid: run.pid, liveness: run.liveness }).toEqual({
        status: 'working',
        pid: worker.pid,
        liveness: 'alive',
      });
      const refused = await sandbox.reeve(['run', '-s', 'a', '--', 'true']);
      expect(refused.code).toBe(4);
      await sandbox.json(['stop', 'a']);
      expect(isAlive(worker)).toBe(false);
    },
  );
});

it('a keeper killed between fork and exec leaves a process that does not become the harness', async () => {
  const go = sandbox.path('go');
  const launcher = sandbox.start(['run', '--detach', '-s', 'a', '--', ...WORKER], {
    env: { ...sandbox.env, REEVE_CHECKPOINT: `harness.forked=wait:${go}` },
  });
  const done = finished(launcher);
  await eventually('the child is held', () => existsSync(`${go}.reached`));
  const { run } = await sandbox.show('a');
  const keeper = see(run.keeperPid ?? 0);
  signalSeen(keeper, 'SIGKILL');
  await eventually('the keeper is dead', () => !isAlive(keeper));
  writeFileSync(go, '');
  expect((await done).code).toBe(1);
  expect(hasWorked()).toBe(false);
});

it('a harness that ends before its launch is recorded stays ended', async () => {
  const go = sandbox.path('go');
  const launcher = sandbox.start(['run', '--detach', '--json', '-s', 'a', '--', 'sh', '-c', 'exit 7'], {
    env: { ...sandbox.env, REEVE_CHECKPOINT: `launch.executing=wait:${go}` },
  });
  const done = finished(launcher);
  await eventually('the launcher is held', () => existsSync(`${go}.reached`));
  // Looked at in the store itself: every command of Reeve would record the harness on the way.
  await eventually('the run has ended', () => column('state') === 'ended');
  const before = column('ending');
  writeFileSync(go, '');
  expect((await done).code).toBe(0);
  expect({ state: column('state'), ending: column('ending'), harness: column('harness') }).toEqual({
    state: 'ended',
    ending: before,
    harness: null,
  });
  expect((await sandbox.show('a')).run).toMatchObject({ outcome: 'failed', exitCode: 7 });
});

function column(name: 'state' | 'ending' | 'harness'): unknown {
  const database = new DatabaseSync(join(sandbox.home, 'reeve.db'), { readOnly: true });
  try {
    return database.prepare(`select ${name} as value from runs`).get()?.['value'];
  } finally {
    database.close();
  }
}

it('a reader that saw only the claim does not end the run that came of it', async () => {
  const [go, look] = [sandbox.path('go'), sandbox.path('look')];
  const launching = finished(
    sandbox.start(['run', '--detach', '-s', 'a', '--', ...WORKER], {
      env: { ...sandbox.env, REEVE_CHECKPOINT: `launch.claimed=wait:${go}` },
    }),
  );
  await eventually('the launcher is held', () => existsSync(`${go}.reached`));
  const reading = finished(
    sandbox.start(['show', 'a'], {
      env: { ...sandbox.env, REEVE_CHECKPOINT: `reconcile.begun=wait:${look}` },
    }),
  );
  await eventually('the reader has read the claim', () => existsSync(`${look}.reached`));
  writeFileSync(go, '');
  expect((await launching).code).toBe(0);
  const worker = await sandbox.pidFrom('worker');
  // Its launcher has done its work and is gone; the reader has yet to look for it.
  writeFileSync(look, '');
  expect((await reading).code).toBe(0);
  expect(isAlive(worker)).toBe(true);
  expect((await sandbox.show('a')).status).toBe('working');
});

it('a launcher whose store fails it between keeper and start gives up instead of waiting for ever', async () => {
  const go = sandbox.path('go');
  await sandbox.json(['ls']);
  const launching = finished(
    sandbox.start(['run', '--detach', '-s', 'a', '--', ...WORKER], {
      env: { ...sandbox.env, REEVE_CHECKPOINT: `launch.keeper_spawned=wait:${go}` },
    }),
  );
  await eventually('the launcher is held', () => existsSync(`${go}.reached`));
  const database = new DatabaseSync(join(sandbox.home, 'reeve.db'));
  database.exec(`create trigger refuse before update on runs begin select raise(abort, 'staged'); end`);
  writeFileSync(go, '');
  expect((await launching).code).toBe(1);
  database.exec('drop trigger refuse');
  database.close();
  expect(hasWorked()).toBe(false);
  expect((await sandbox.show('a')).run.outcome).toBe('never_started');
});

it('a keeper that does not answer does not keep its launcher waiting for ever', async () => {
  const go = sandbox.path('go');
  const held = await sandbox.reeve(['run', '--detach', '--json', '-s', 'a', '--', ...WORKER], {
    env: { REEVE_CHECKPOINT: `keeper.executing=wait:${go}` },
  });
  expect(held.code).toBe(7);
  expect(JSON.parse(held.stdout)).toMatchObject({ error: { code: 'unproven' } });
  const worker = await sandbox.pidFrom('worker');
  expect((await sandbox.show('a')).run).toMatchObject({
    pid: worker.pid,
    state: 'running',
    liveness: 'alive',
  });
  writeFileSync(go, '');
  await sandbox.json(['kill', 'a']);
  expect(isAlive(worker)).toBe(false);
});

it('a keeper that was told nothing, and does not end, does not keep its launcher waiting for ever', async () => {
  const go = sandbox.path('go');
  await sandbox.json(['ls']);
  const launcher = sandbox.start(['run', '--detach', '-s', 'a', '--', ...WORKER], {
    env: { ...sandbox.env, REEVE_CHECKPOINT: `launch.keeper_spawned=wait:${go}` },
  });
  const launching = finished(launcher);
  await eventually('the launcher is held', () => existsSync(`${go}.reached`));
  const { pid } = launcher;
  const [child] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').split(' ');
  const keeper = see(Number(child));
  signalSeen(keeper, 'SIGSTOP');
  const database = new DatabaseSync(join(sandbox.home, 'reeve.db'));
  database.exec(`create trigger refuse before update on runs begin select raise(abort, 'staged'); end`);
  writeFileSync(go, '');
  expect((await launching).code).toBe(1);
  database.exec('drop trigger refuse');
  database.close();
  signalSeen(keeper, 'SIGCONT');
  await eventually('it is gone', () => !isAlive(keeper));
  expect(hasWorked()).toBe(false);
  expect((await sandbox.show('a')).run.outcome).toBe('never_started');
});

it('a store that fails after the harness was let go neither hangs the launcher nor hides that it runs', async () => {
  const go = sandbox.path('go');
  const launching = finished(
    sandbox.start(['run', '--detach', '-s', 'a', '--', ...WORKER], {
      env: { ...sandbox.env, REEVE_CHECKPOINT: `launch.executing=wait:${go}` },
    }),
  );
  await eventually('the launcher is held', () => existsSync(`${go}.reached`));
  const database = new DatabaseSync(join(sandbox.home, 'reeve.db'));
  database.exec(`create trigger refuse before update on runs begin select raise(abort, 'staged'); end`);
  writeFileSync(go, '');
  expect((await launching).code).toBe(0);
  database.exec('drop trigger refuse');
  database.close();
  const worker = await sandbox.pidFrom('worker');
  expect((await sandbox.show('a')).run).toMatchObject({ pid: worker.pid, liveness: 'alive' });
});

it('of fifty starts at once one wins, and each other is told who owns the session', async () => {
  const starts = Array.from({ length: 50 }, () =>
    sandbox.reeve(['run', '--detach', '-s', 'same', '--', 'sh', '-c', 'echo $$ >> workers; exec sleep 60']),
  );
  const results = await Promise.all(starts);
  const codes = results.map(({ code }) => code).toSorted((a, b) => Number(a) - Number(b));
  expect(codes).toEqual([0, ...Array.from({ length: 49 }, () => 4)]);
  const { run } = await sandbox.show('same');
  for (const { code, stderr } of results) if (code === 4) expect(stderr).toContain(run.id);
  expect(results.map(({ stderr }) => stderr).join('')).not.toMatch(/busy|locked/i);
  const workers = await eventually('the winner writes', () => existsSync(sandbox.path('workers')));
  expect(workers).toBe(true);
  expect(readFileSync(sandbox.path('workers'), 'utf8').trim().split('\n')).toHaveLength(1);
});

it('twenty-eight cold starts of a fresh state directory all succeed', async () => {
  const starts = Array.from({ length: 28 }, (_, index) =>
    sandbox.reeve(['run', '--detach', '-s', `s${index}`, '--', 'true']),
  );
  const results = await Promise.all(starts);
  expect(results.filter(({ code }) => code !== 0)).toEqual([]);
  expect(await sandbox.list()).toHaveLength(28);
});

describe('a command that cannot be executed', () => {
  it.each([
    ['does not exist', ['no-such-command-here'], {}],
    ['is not executable', ['./plain'], {}],
    ['has an interpreter that does not exist', ['./orphan'], {}],
    ['is a directory', ['/tmp'], {}],
  ])('because it %s is never_started, with exit code 1 and the reason', async (_why, command) => {
    writeFileSync(sandbox.path('plain'), 'echo no\n');
    writeFileSync(sandbox.path('orphan'), '#!/no/such/interpreter\n');
    chmodSync(sandbox.path('orphan'), 0o755);
    const { error } = await sandbox.json<{ error: { code: string; message: string } }>(
      ['run', '--detach', '-s', 'a', '--', ...command],
      1,
    );
    expect(error.code).toBe('never_started');
    expect(error.message).toContain(command[0]);
    const { status, run } = await sandbox.show('a');
    expect({ status, outcome: run.outcome, exitCode: run.exitCode, signal: run.signal }).toEqual({
      status: 'failed',
      outcome: 'never_started',
      exitCode: null,
      signal: null,
    });
  });

  it('in the foreground gives the same answer', async () => {
    const result = await sandbox.reeve(['run', '-s', 'a', '--', 'no-such-command-here']);
    expect(result.code).toBe(1);
    expect((await sandbox.show('a')).run.outcome).toBe('never_started');
  });

  it('for want of its directory, gone between the claim and the start, is never_started', async () => {
    const go = sandbox.path('go');
    mkdirSync(sandbox.path('place'));
    const launcher = sandbox.start(['run', '--detach', '-s', 'a', '--cwd', 'place', '--', 'true'], {
      env: { ...sandbox.env, REEVE_CHECKPOINT: `launch.started=wait:${go}` },
    });
    const done = finished(launcher);
    await eventually('the launcher is held', () => existsSync(`${go}.reached`));
    rmdirSync(sandbox.path('place'));
    writeFileSync(go, '');
    expect((await done).code).toBe(1);
    expect((await sandbox.show('a')).run.outcome).toBe('never_started');
  });
});

it('a stop between claim and start wins: the command never executes', async () => {
  const go = sandbox.path('go');
  const launcher = sandbox.start(['run', '--detach', '-s', 'a', '--', ...WORKER], {
    env: { ...sandbox.env, REEVE_CHECKPOINT: `launch.keeper_spawned=wait:${go}` },
  });
  const done = finished(launcher);
  await eventually('the launcher is held', () => existsSync(`${go}.reached`));
  const stopping = sandbox.json(['stop', 'a']);
  await intentOnRecord(sandbox, 'a');
  writeFileSync(go, '');
  await stopping;
  expect((await done).code).toBe(1);
  expect((await sandbox.show('a')).run.outcome).toBe('never_started');
  expect(hasWorked()).toBe(false);
});

it('what the harness inherits has the run’s own marks, and no marks of any other session', async () => {
  const outer = {
    CLAUDECODE: '1',
    CLAUDE_CODE_SESSION_ID: 'outer',
    CODEX_THREAD_ID: 'outer',
    GEMINI_SESSION_ID: 'outer',
    OPENCODE_PID: '1',
    CODE_SESSION_ID: 'outer',
    REEVE_RUN: 'r-outer',
    REEVE_TOKEN: 'outer',
    REEVE_SESSION: 'outer',
    ANTHROPIC_API_KEY: 'sk-test',
  };
  await sandbox.reeve(['run', '-s', 'a', '--', 'sh', '-c', 'env > environment'], { env: outer });
  const lines = readFileSync(sandbox.path('environment'), 'utf8').split('\n');
  expect(lines.filter((line) => line.endsWith('=outer'))).toEqual([]);
  expect(lines.filter((line) => /^(CLAUDECODE|OPENCODE_PID)=/.test(line))).toEqual([]);
  const { run } = await sandbox.show('a');
  expect(lines).toEqual(
    expect.arrayContaining([
      `REEVE_RUN=${run.id}`,
      'REEVE_SESSION=a',
      `REEVE_HOME=${sandbox.home}`,
      'ANTHROPIC_API_KEY=sk-test',
    ]),
  );
});

describe('a detached run', () => {
  it('has its own session, no descriptor beyond 0 to 2, and nothing of the launcher’s', async () => {
    const script = 'ls -l /proc/self/fd > fds; cat /proc/self/stat > stat; echo $$ > worker; exec sleep 60';
    const leaked = openSync(sandbox.path('leaked'), 'w');
    // One descriptor among those that Node itself closes on exec, and one behind a gap, which it does not reach.
    const gap = Array.from({ length: 36 }, () => 'ignore' as const);
    const stdio = ['ignore', 'ignore', 'ignore', leaked, ...gap, leaked] as const;
    const launcher = sandbox.start(['run', '--detach', '-s', 'a', '--', 'sh', '-c', script], {
      stdio: [...stdio],
    });
    closeSync(leaked);
    expect((await finished(launcher)).code).toBe(0);
    const worker = await sandbox.pidFrom('worker');
    const open = readFileSync(sandbox.path('fds'), 'utf8').match(/ (\d+) -> (.*)/g) ?? [];
    // `ls` itself has the directory open that it lists.
    expect(open.filter((line) => !/ [012] -> |\/fd$/.test(line))).toEqual([]);
    const stat = readFileSync(sandbox.path('stat'), 'utf8');
    const [, , group, session, terminal] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const { run } = await sandbox.show('a');
    expect({ group, session, terminal }).toEqual({
      group: String(worker.pid),
      session: String(run.keeperPid),
      terminal: '0',
    });
  });

  it('survives the SIGKILL of its launcher and the hang-up of its terminal', async () => {
    // `script` gives the launcher a terminal of its own, which hangs up when it is killed.
    const command = `${process.execPath} ${JSON.stringify(CLI)} run --detach -s a -- sh -c 'echo $$ > worker; exec sleep 60'; echo $$ > shell; sleep 60`;
    const terminal = spawn('script', ['-qec', command, '/dev/null'], {
      cwd: sandbox.root,
      env: sandbox.env,
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    const shell = await sandbox.pidFrom('shell');
    const worker = await sandbox.pidFrom('worker');
    terminal.kill('SIGKILL');
    await eventually('the terminal’s shell is hung up', () => !isAlive(shell));
    expect(isAlive(worker)).toBe(true);
    expect((await sandbox.show('a')).status).toBe('working');
  });

  it('does not hang a caller who waits for its output to close', async () => {
    const result = await sandbox.reeve([
      'run',
      '--detach',
      '-s',
      'a',
      '--',
      'sh',
      '-c',
      'sleep 60 & sleep 60',
    ]);
    expect(result.code).toBe(0);
  });
});

it('a foreground run whose grandchild keeps its output open still returns, with the grandchild gone', async () => {
  const result = await sandbox.reeve([
    'run',
    '-s',
    'a',
    '--',
    'sh',
    '-c',
    'sleep 60 & echo $! > left; exit 5',
  ]);
  expect(result.code).toBe(5);
  const left = Number(readFileSync(sandbox.path('left'), 'utf8'));
  expect(isExecuting(left)).toBe(false);
  expect(startedWith(`REEVE_HOME=${sandbox.home}`)).toEqual([]);
  expect((await sandbox.show('a')).run).toMatchObject({ outcome: 'failed', exitCode: 5 });
});
