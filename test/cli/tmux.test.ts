/** A plain command in a pane of Reeve's own tmux server. */
import { createHash } from 'node:crypto';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SessionView } from '../../src/api/session-view.ts';
import { openPanes } from '../fixtures/stand-in-tui.ts';
import type { Panes } from '../fixtures/stand-in-tui.ts';
import { endOnRecord } from '../support/on-record.ts';
import { eventually, isAlive, see } from '../support/processes.ts';
import { CLI, createSandbox, finished } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

let sandbox: Sandbox;
let panes: Panes;
beforeEach(() => {
  sandbox = createSandbox();
  panes = openPanes(sandbox);
});
afterEach(() => panes.cleanUp());

interface Failure {
  readonly error: { readonly code: string; readonly message: string; readonly hint?: string };
}

const inTmux = (name: string, ...command: readonly string[]) => [
  'run',
  '--tmux',
  '--detach',
  '-s',
  name,
  '--',
  ...command,
];
const contentOf = (file: string) =>
  eventually(`${file} is written`, () => existsSync(sandbox.path(file))).then(() =>
    readFileSync(sandbox.path(file), 'utf8'),
  );

describe('a command in tmux', () => {
  it('is listed, shown, logged, and stopped with all that it started', async () => {
    const script =
      'printf "one\\ntwo"; (setsid sh -c "echo \\$\\$ > child; exec sleep 60" &); echo $$ > worker; exec sleep 60';
    const started = await sandbox.json<SessionView>(inTmux('a', 'sh', '-c', script));
    const [worker, child] = [await sandbox.pidFrom('worker'), await sandbox.pidFrom('child')];
    const [listed] = await sandbox.list();
    expect(listed).toMatchObject({
      name: 'a',
      harness: 'command',
      status: 'working',
      run: {
        id: started.run.id,
        state: 'running',
        mode: 'tmux',
        pid: worker.pid,
        liveness: 'alive',
        logPath: join(sandbox.home, 'runs', started.run.id, 'output.log'),
      },
    });
    const { screen } = await sandbox.json<{ screen: string }>(['logs', '--screen', 'a']);
    expect(screen.trimEnd()).toBe('one\ntwo');
    expect((await sandbox.reeve(['logs', '--screen', 'a'])).stdout).toBe('one\ntwo\n');
    // As the terminal got it.
    expect((await sandbox.reeve(['logs', 'a'])).stdout).toBe('one\r\ntwo');
    expect(panes.names()).toEqual([started.run.id]);

    const server = panes.server();
    await sandbox.json(['stop', 'a']);
    expect([worker, child].filter(isAlive)).toEqual([]);
    expect((await sandbox.show('a')).run).toMatchObject({ outcome: 'stopped', signal: 'SIGTERM' });
    await eventually('the server has ended with its last pane', () => !isAlive(server));
    expect((await sandbox.reeve(['logs', 'a'])).stdout).toBe('one\r\ntwo');
  });

  it('has a TERM, nothing of any tmux in its environment, its own marks, and only its terminal open', async () => {
    const script = 'env > env.new; ls -l /proc/self/fd > fds; tty > tty; mv env.new env; exec sleep 60';
    sandbox.env['TMUX'] = '/nowhere/socket,1,0';
    sandbox.env['TMUX_PANE'] = '%9';
    sandbox.env['SECRET'] = 'of the caller';
    const { run } = await sandbox.json<SessionView>(inTmux('a', 'sh', '-c', script));
    const lines = (await contentOf('env')).split('\n');
    expect(lines.filter((line) => line.startsWith('TMUX'))).toEqual([]);
    expect(lines.filter((line) => line.startsWith('TERM='))).toEqual([
      expect.stringMatching(/^TERM=(tmux|screen)-256color$/),
    ]);
    expect(lines).toEqual(
      expect.arrayContaining([
        `REEVE_RUN=${run.id}`,
        'REEVE_SESSION=a',
        `REEVE_HOME=${sandbox.home}`,
        `PATH=${sandbox.env['PATH']}`,
        'SECRET=of the caller',
      ]),
    );
    const terminal = (await contentOf('tty')).trim();
    const open = [...(await contentOf('fds')).matchAll(/ (\d+) -> (.*)/g)].map(([, number, file]) => [
      number,
      file,
    ]);
    // `ls` itself writes to a file, and has the directory open that it lists.
    expect(open.filter(([, file]) => file !== sandbox.path('fds') && file?.endsWith('/fd') !== true)).toEqual(
      [
        ['0', terminal],
        ['2', terminal],
      ],
    );
    // The server outlives the caller, and is everybody's: it has neither their secrets nor their marks.
    const environment = readFileSync(`/proc/${panes.server().pid}/environ`, 'utf8');
    expect(environment).not.toMatch(/of the caller|REEVE_/);
  });

  it('gets the Ctrl-C that is typed in its pane, and its keeper does not mind', async () => {
    const script = 'trap "echo > caught; exit 5" INT; echo $$ > worker; while :; do sleep 0.02; done';
    const { run } = await sandbox.json<SessionView>(inTmux('a', 'sh', '-c', script));
    await sandbox.pidFrom('worker');
    panes.tmux('send-keys', '-t', `=${run.id}:0.0`, 'C-c');
    const ended = await eventually('its end', async () => {
      const session = await sandbox.show('a');
      return session.run.state === 'ended' && session.run;
    });
    expect(ended).toMatchObject({ outcome: 'failed', exitCode: 5, signal: null });
    expect(existsSync(sandbox.path('caught'))).toBe(true);
  });

  it('gets arguments of a megabyte whole', async () => {
    const words = Array.from({ length: 10 }, (_, index) => `${index}é\n"$x"' -`.repeat(10_000));
    const program =
      'use Digest::SHA; open my $f, ">", "digest.new"; print $f Digest::SHA::sha256_hex(join "\\0", @ARGV); close $f; rename "digest.new", "digest"; sleep 60';
    expect(Buffer.byteLength(words.join(''))).toBeGreaterThan(1_000_000);
    await sandbox.json(inTmux('a', 'perl', '-e', program, ...words));
    expect(await contentOf('digest')).toBe(createHash('sha256').update(words.join('\0')).digest('hex'));
  });

  it('that does not exist is never_started, with exit code 1, and its pane is gone', async () => {
    const { error } = await sandbox.json<Failure>(inTmux('a', 'no-such-command-here'), 1);
    expect(error.code).toBe('never_started');
    expect(error.message).toContain('no-such-command-here');
    expect((await sandbox.show('a')).run).toMatchObject({ outcome: 'never_started', pid: null });
    await eventually('its pane is gone', () => panes.names().length === 0);
  });

  it('that ends by itself is over with its own exit code, and its pane is gone', async () => {
    await sandbox.json(inTmux('a', 'sh', '-c', 'echo bye; exit 3'));
    await endOnRecord(sandbox, 'a');
    expect((await sandbox.show('a')).run).toMatchObject({ outcome: 'failed', exitCode: 3 });
    await eventually('its pane is gone', () => panes.names().length === 0);
    expect((await sandbox.reeve(['logs', 'a'])).stdout).toBe('bye\r\n');
    expect((await sandbox.json<Failure>(['logs', '--screen', 'a'], 3)).error.code).toBe('not_found');
  });

  it('can be resumed outside of tmux, and then has no screen', async () => {
    await sandbox.json(inTmux('a', 'sleep', '60'));
    await sandbox.json(['stop', 'a']);
    expect((await sandbox.json<SessionView>(['resume', '--detach', 'a'])).run.mode).toBe('detached');
    expect((await sandbox.json<Failure>(['logs', '--screen', 'a'], 2)).error.code).toBe('usage');
  });
});

describe('one owner', () => {
  it('of two starts of one session in tmux at once one wins, and the other is told who owns it', async () => {
    const script = 'echo $$ >> workers; exec sleep 60';
    const results = await Promise.all([1, 2].map(() => sandbox.reeve(inTmux('a', 'sh', '-c', script))));
    expect(results.map(({ code }) => code).toSorted((a, b) => Number(a) - Number(b))).toEqual([0, 4]);
    const { run } = await sandbox.show('a');
    expect(results.find(({ code }) => code === 4)?.stderr).toContain(run.id);
    expect((await contentOf('workers')).trim().split('\n')).toEqual([String(run.pid)]);
    expect(panes.names()).toEqual([run.id]);
  });

  it('a takeover ends the pane of the old owner before there is a new one', async () => {
    const old = await sandbox.json<SessionView>(
      inTmux('a', 'sh', '-c', 'trap "echo > asked" TERM; echo $$ > old; while :; do sleep 0.02; done'),
    );
    const owner = await sandbox.pidFrom('old');
    expect((await sandbox.json<Failure>(inTmux('a', 'true'), 4)).error.code).toBe('live_owner');
    const taken = await sandbox.json<SessionView>([
      'run',
      '--tmux',
      '--detach',
      '--on-live',
      'retire',
      '--grace',
      '0.5',
      '-s',
      'a',
      '--',
      'sh',
      '-c',
      `kill -0 ${owner.pid} && echo > both; echo $$ > new; exec sleep 60`,
    ]);
    const successor = await sandbox.pidFrom('new');
    expect(isAlive(owner)).toBe(false);
    expect(existsSync(sandbox.path('asked'))).toBe(true);
    expect(existsSync(sandbox.path('both'))).toBe(false);
    expect({ epoch: taken.epoch, pid: taken.run.pid }).toEqual({ epoch: 2, pid: successor.pid });
    const detail = await sandbox.show('a');
    expect(detail.runs.map(({ id, outcome }) => ({ id, outcome }))).toEqual([
      { id: old.run.id, outcome: 'superseded' },
      { id: taken.run.id, outcome: null },
    ]);
    await eventually('only the new pane is there', () => panes.names().join() === taken.run.id);
  });
});

describe('where it cannot be', () => {
  it('without tmux on PATH one sentence says so, and nothing is left claimed', async () => {
    mkdirSync(sandbox.path('bin'));
    for (const name of ['perl', 'sh', 'sleep', 'mkfifo'])
      symlinkSync(`/usr/bin/${name}`, sandbox.path(`bin/${name}`));
    sandbox.env['PATH'] = sandbox.path('bin');
    const result = await sandbox.reeve(inTmux('a', 'sleep', '60'));
    expect(result).toMatchObject({ code: 1, stdout: '' });
    expect(result.stderr).toMatch(/^reeve: [^\n]*tmux was not found[^\n]*\.\n[^\n]*tmux[^\n]*\n$/);
    expect(await sandbox.json(['ls', '--live'])).toEqual([]);
    expect(await sandbox.json(['run', '--detach', '-s', 'a', '--', 'sleep', '60'])).toMatchObject({
      status: 'working',
    });
  });

  it('a takeover that would need a tmux that is not there leaves the old owner alone', async () => {
    const { run } = await sandbox.json<SessionView>(['run', '--detach', '-s', 'a', '--', 'sleep', '60']);
    const owner = see(run.pid ?? 0);
    mkdirSync(sandbox.path('bin'));
    for (const name of ['perl', 'sh', 'sleep', 'mkfifo'])
      symlinkSync(`/usr/bin/${name}`, sandbox.path(`bin/${name}`));
    const forced = ['run', '--tmux', '--detach', '--force', '-s', 'a', '--', 'sleep', '60'];
    const result = await sandbox.reeve(forced, { env: { PATH: sandbox.path('bin') } });
    expect(result.code).toBe(1);
    expect(isAlive(owner)).toBe(true);
  });

  it('a state directory too long for a socket is told in one sentence, with what to do', async () => {
    const home = join(sandbox.root, 'x'.repeat(120));
    const result = await sandbox.reeve(inTmux('a', 'sleep', '60'), { env: { REEVE_HOME: home } });
    expect(result).toMatchObject({ code: 1, stdout: '' });
    expect(result.stderr).toMatch(/^reeve: [^\n]*socket[^\n]*\.\n[^\n]*REEVE_HOME[^\n]*\n$/);
    const left = await sandbox.reeve(['ls', '--live', '--json'], { env: { REEVE_HOME: home } });
    expect(JSON.parse(left.stdout)).toEqual([]);
  });

  it('inside a run the server is not started, for it would end with that run: exit 2', async () => {
    const script = `${process.execPath} ${CLI} run --json --tmux --detach -s inner -- sleep 60 > said; echo $? > code.new; mv code.new code; exec sleep 60`;
    await sandbox.json(['run', '--detach', '-s', 'outer', '--', 'sh', '-c', script]);
    expect((await contentOf('code')).trim()).toBe('2');
    expect(JSON.parse(await contentOf('said'))).toMatchObject({ error: { code: 'inside_own_run' } });
    expect(panes.names()).toEqual([]);
  });

  it('inside a run, with the server up, it is started', async () => {
    await sandbox.json(inTmux('first', 'sleep', '60'));
    const script = `${process.execPath} ${CLI} run --tmux --detach -s inner -- sleep 60; echo $? > code.new; mv code.new code; exec sleep 60`;
    await sandbox.json(['run', '--detach', '-s', 'outer', '--', 'sh', '-c', script]);
    expect((await contentOf('code')).trim()).toBe('0');
    expect((await sandbox.show('inner')).status).toBe('working');
  });
});

it('the user’s own tmux is neither used nor touched', async () => {
  const socket = sandbox.path('own');
  const own = (...args: readonly string[]) =>
    spawnSync('tmux', ['-S', socket, '-f', '/dev/null', ...args], {
      encoding: 'utf8',
      env: { PATH: process.env['PATH'] ?? '', HOME: sandbox.root },
      cwd: '/',
    }).stdout;
  own('new-session', '-d', '-s', 'mine', 'sleep', '60');
  const theirs = see(Number(own('display-message', '-p', '#{pid}')));
  const everything = () =>
    own('list-panes', '-a', '-F', '#{session_name} #{pane_id} #{pane_pid} #{session_attached}') +
    own('show-options', '-g') +
    own('list-buffers');
  const before = everything();
  try {
    sandbox.env['TMUX'] = `${socket},${theirs.pid},0`;
    sandbox.env['TMUX_PANE'] = '%0';
    sandbox.env['TMUX_TMPDIR'] = sandbox.root;
    await sandbox.json(inTmux('a', 'sleep', '60'));
    expect(panes.names()).toHaveLength(1);
    await sandbox.json(['logs', '--screen', 'a']);
    await sandbox.json(['stop', 'a']);
    expect(everything()).toBe(before);
    expect(isAlive(theirs)).toBe(true);
  } finally {
    own('kill-server');
    await eventually('the user’s server is gone', () => !isAlive(theirs));
  }
});

it('twelve panes started and stopped at once leave no pane, no server and no process', async () => {
  const names = Array.from({ length: 12 }, (_, index) => `s${index}`);
  const started = await Promise.all(names.map((name) => sandbox.reeve(inTmux(name, 'sleep', '60'))));
  expect(started.filter(({ code }) => code !== 0)).toEqual([]);
  const server = panes.server();
  expect(panes.names()).toHaveLength(12);
  const stopped = await Promise.all(
    names.map((name) => finished(sandbox.start(['kill', name, '--json'])).then(({ code }) => code)),
  );
  expect(stopped.filter((code) => code !== 0)).toEqual([]);
  await eventually('the server has ended', () => !isAlive(server));
});
