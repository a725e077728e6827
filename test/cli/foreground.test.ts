/** A foreground run: the terminal passed through, signals forwarded, the command's own exit code. */
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SessionView } from '../../src/api/session-view.ts';
import { eventually, groupOf, isAlive, see, signalSeen } from '../support/processes.ts';
import { CLI, createSandbox, finished } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

let sandbox: Sandbox;
beforeEach(() => {
  sandbox = createSandbox();
});
afterEach(() => sandbox.cleanUp());

it.each([
  ['exit 0', 0],
  ['exit 42', 42],
  ['exit 137', 137],
  ['kill -KILL $$', 137],
  ['kill -TERM $$', 143],
])('a command that does `%s` makes reeve exit %i', async (script, code) => {
  expect((await sandbox.reeve(['run', '-s', 'a', '--', 'sh', '-c', script])).code).toBe(code);
});

/** While the command runs, its store is moved away, and something else is in its place. */
function losingStore(script: string): string {
  const [home, away] = ['"$REEVE_HOME"', sandbox.path('away')];
  return `mkdir ${away}; mv ${home}/reeve.db* ${away}; echo no database, and long enough to be looked at > ${home}/reeve.db; ${script}`;
}

function putBackStore(): void {
  for (const name of readdirSync(sandbox.path('away')))
    renameSync(join(sandbox.path('away'), name), join(sandbox.home, name));
}

it.each([
  ['exit 6', 6, 'exited with code 6', { exitCode: 6, signal: null }],
  ['exit 0', 0, 'exited with code 0', { exitCode: 0, signal: null }],
  ['kill -KILL $$', 137, 'SIGKILL', { exitCode: null, signal: 'SIGKILL' }],
])(
  'a command that does `%s` while its store is gone makes reeve exit %i, and say why that is not on record',
  async (script, code, how, recorded) => {
    const result = await sandbox.reeve(['run', '-s', 'a', '--', 'sh', '-c', losingStore(script)]);
    putBackStore();
    expect([result.code, result.stdout]).toEqual([code, '']);
    expect(result.stderr.trim().split('\n')).toEqual([expect.stringContaining(how)]);
    expect(result.stderr).toContain('reeve.db');
    expect((await sandbox.show('a')).run).toMatchObject({ state: 'ended', ...recorded });
  },
);

it('with --json, a command whose store is gone is told by the error, and reeve exits with its code', async () => {
  const result = await sandbox.reeve(['run', '--json', '-s', 'a', '--', 'sh', '-c', losingStore('exit 6')]);
  putBackStore();
  expect(result.code).toBe(6);
  expect(JSON.parse(result.stdout)).toMatchObject({ error: { code: 'store_unavailable' } });
  expect(result.stderr).toContain('exited with code 6');
});

it('an exit code and a signal that shells cannot tell apart are told apart on record', async () => {
  await sandbox.reeve(['run', '-s', 'code', '--', 'sh', '-c', 'exit 137']);
  await sandbox.reeve(['run', '-s', 'signal', '--', 'sh', '-c', 'kill -KILL $$']);
  expect((await sandbox.show('code')).run).toMatchObject({ exitCode: 137, signal: null });
  expect((await sandbox.show('signal')).run).toMatchObject({ exitCode: null, signal: 'SIGKILL' });
});

it('standard input, output and error are the caller’s own', async () => {
  const child = sandbox.start(['run', '-s', 'a', '--', 'sh', '-c', 'cat; echo problem >&2'], {
    stdio: 'pipe',
  });
  child.stdin?.end('some text');
  expect(await finished(child)).toMatchObject({ code: 0, stdout: 'some text', stderr: 'problem\n' });
});

it('with --json its output goes to stderr, and stdout has one JSON value', async () => {
  const result = await sandbox.reeve(['run', '--json', '-s', 'a', '--', 'sh', '-c', 'echo noise; exit 3']);
  expect(result).toMatchObject({ code: 3, stderr: 'noise\n' });
  expect(JSON.parse(result.stdout)).toMatchObject({
    name: 'a',
    status: 'failed',
    run: { exitCode: 3, mode: 'foreground' },
  });
});

it.each(['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGUSR1'] as const)(
  '%s to reeve reaches the command',
  async (signal) => {
    const script = `trap 'echo got; exit 11' ${signal.slice(3)}; echo $$ > ready; while :; do sleep 0.02; done`;
    const child = sandbox.start(['run', '-s', 'a', '--', 'sh', '-c', script]);
    const done = finished(child);
    await sandbox.pidFrom('ready');
    child.kill(signal);
    expect(await done).toMatchObject({ code: 11, stdout: 'got\n' });
    expect((await sandbox.show('a')).run).toMatchObject({ outcome: 'failed', exitCode: 11 });
  },
);

it('a signal to the whole group of reeve reaches the command once', async () => {
  const script = 'trap "echo term >> terms" TERM; echo $$ > ready; while [ ! -e stop ]; do sleep 0.02; done';
  const child = sandbox.start(['run', '-s', 'a', '--', 'sh', '-c', script], { detached: true });
  const done = finished(child);
  const worker = await sandbox.pidFrom('ready');
  // Two of the same signal at once count as one: that it is not in the group is the surer sign.
  expect(groupOf(worker.pid)).toBe(worker.pid);
  // Its group is this child's own, made by `detached`.
  process.kill(-(child.pid ?? 0), 'SIGTERM');
  await eventually('the signal', () => existsSync(sandbox.path('terms')));
  writeFileSync(sandbox.path('stop'), '');
  expect((await done).code).toBe(0);
  expect(readFileSync(sandbox.path('terms'), 'utf8')).toBe('term\n');
});

it('is claimed: while it runs, a second start is refused', async () => {
  const child = sandbox.start(['run', '-s', 'a', '--', 'sh', '-c', 'echo $$ > ready; exec sleep 60']);
  const done = finished(child);
  const worker = await sandbox.pidFrom('ready');
  expect((await sandbox.reeve(['run', '-s', 'a', '--', 'true'])).code).toBe(4);
  await sandbox.json(['stop', 'a']);
  expect(isAlive(worker)).toBe(false);
  expect((await done).code).toBe(143);
});

it('whose reeve is killed goes on, is kept, and is finalised', async () => {
  const child = sandbox.start(['run', '-s', 'a', '--', 'sh', '-c', 'echo $$ > ready; read line; exit 4'], {
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  const worker = await sandbox.pidFrom('ready');
  signalSeen(see(child.pid ?? 0), 'SIGKILL');
  await eventually('reeve is gone', () => child.signalCode);
  // Its own end of the pipe is this test's: closing it lets `read` fail, and the command exit.
  child.stdin?.end();
  await eventually('the command has ended', () => !isAlive(worker));
  const run = await eventually('the end is on record', async () => {
    const session = await sandbox.show('a');
    return session.run.state === 'ended' && session.run;
  });
  expect(run).toMatchObject({ outcome: 'failed', exitCode: 4 });
});

describe('on a terminal', () => {
  /** `script` gives a real terminal; what is typed goes to its standard input. */
  const onTerminal = (command: string) =>
    spawn('script', ['-qec', command, '/dev/null'], {
      cwd: sandbox.root,
      env: { ...sandbox.env, TERM: 'xterm' },
    });
  const reeve = `exec ${process.execPath} ${CLI}`;

  it('the command has the terminal', async () => {
    const terminal = onTerminal(
      `${reeve} run -s a -- sh -c 'tty > /dev/null && read line && echo "read $line"'`,
    );
    terminal.stdin.write('typed\n');
    const result = await finished(terminal);
    expect(result.stdout).toContain('read typed');
    expect((await sandbox.show('a')).run.outcome).toBe('completed');
  });

  it('Ctrl-C reaches the command once', async () => {
    const script = `trap "echo int >> ints" INT; echo $$ > ready; while [ ! -e stop ]; do sleep 0.02; done; exit 6`;
    const terminal = onTerminal(`${reeve} run -s a -- sh -c '${script}'; echo "code $?"`);
    const done = finished(terminal);
    await sandbox.pidFrom('ready');
    terminal.stdin.write('\u0003');
    await eventually('the interrupt', () => existsSync(sandbox.path('ints')));
    writeFileSync(sandbox.path('stop'), '');
    expect((await done).code).toBe(6);
    expect(readFileSync(sandbox.path('ints'), 'utf8')).toBe('int\n');
  });

  it('Ctrl-C before there is a command is not lost', async () => {
    const go = sandbox.path('go');
    sandbox.env['REEVE_CHECKPOINT'] = `launch.claimed=wait:${go}`;
    const terminal = onTerminal(`${reeve} run -s a -- sleep 60`);
    delete sandbox.env['REEVE_CHECKPOINT'];
    const done = finished(terminal);
    await eventually('it is held', () => existsSync(`${go}.reached`));
    terminal.stdin.write('\u0003');
    await eventually('the terminal echoes it', () => terminal.stdout.readableDidRead);
    writeFileSync(go, '');
    expect((await done).code).toBe(130);
    expect((await sandbox.show('a')).run).toMatchObject({ outcome: 'failed', signal: 'SIGINT' });
  });

  it('Ctrl-C after the command has begun, and before reeve knows of that, reaches the command once', async () => {
    const go = sandbox.path('go');
    sandbox.env['REEVE_CHECKPOINT'] = `launch.executing=wait:${go}`;
    const traps = 'trap "echo int >> signs" INT; trap "echo usr1 >> signs" USR1';
    const script = `${traps}; echo $$ > ready; while [ ! -e stop ]; do sleep 0.02; done`;
    const terminal = onTerminal(`echo $$ > launcher; ${reeve} run -s a -- sh -c '${script}'`);
    delete sandbox.env['REEVE_CHECKPOINT'];
    const done = finished(terminal);
    await sandbox.pidFrom('ready');
    await eventually('reeve is held', () => existsSync(`${go}.reached`));
    const signs = () =>
      existsSync(sandbox.path('signs')) ? readFileSync(sandbox.path('signs'), 'utf8') : '';
    terminal.stdin.write('\u0003');
    await eventually('the interrupt', () => signs() !== '');
    // Passed on in their order: once this one is there, so is whatever came before it.
    signalSeen(await sandbox.pidFrom('launcher'), 'SIGUSR1');
    writeFileSync(go, '');
    await eventually('the signal behind it', () => signs().includes('usr1'));
    writeFileSync(sandbox.path('stop'), '');
    expect((await done).code).toBe(0);
    expect(signs()).toBe('int\nusr1\n');
  });

  it('that hangs up, the command ends, and its end is on record with nothing left', async () => {
    const terminal = onTerminal(`${reeve} run -s a -- sh -c 'echo $$ > ready; exec sleep 60'`);
    const worker = await sandbox.pidFrom('ready');
    terminal.kill('SIGKILL');
    await eventually('the command is hung up', () => !isAlive(worker));
    const session = await eventually('the end is on record', async () => {
      const [first] = await sandbox.json<SessionView[]>(['ls']);
      return first?.run.state === 'ended' && first;
    });
    expect(session.run).toMatchObject({ outcome: 'stopped', signal: 'SIGHUP' });
  });
});
