/** The keeper program by itself: what it does with the orders it gets, or does not get. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findPerl } from '../../src/process/keeper.ts';
import { readExit } from '../../src/process/run-directory.ts';
import { eventually } from '../support/processes.ts';

const KEEPER = fileURLToPath(new URL('../../src/process/keeper.pl', import.meta.url));

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'reeve-keeper-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

/** Gives it this order, and waits until it has become its finaliser and ended. */
async function keep(
  order: string,
  env: Record<string, string> = {},
): Promise<{ report: string; finalised: boolean }> {
  const finaliser = ['sh', '-c', `exec touch ${directory}/finalised`];
  const keeper = spawn(
    'perl',
    [KEEPER, directory, 'r-1', 'title', 'own', 'none', '', '0', '0', '0', '0', '0', '', ...finaliser],
    {
      stdio: ['ignore', 'ignore', 'inherit', 'pipe', 'pipe'],
      env: { PATH: process.env['PATH'], ...env },
    },
  );
  // Made by the two 'pipe' entries, which Node gives as duplex streams.
  const [orders, reports] = [keeper.stdio[3], keeper.stdio[4]] as [Duplex, Duplex];
  let report = '';
  reports.on('data', (chunk) => (report += String(chunk)));
  orders.end(order);
  await new Promise((resolve) => keeper.once('close', resolve));
  return { report, finalised: existsSync(join(directory, 'finalised')) };
}

const order = (...command: string[]) =>
  ['0', directory, '0', '', '1', 'GREETING=hello', command.length, ...command, 'go'].join('\0');

describe('a keeper', () => {
  it('starts what it is told to, in the environment it is given, and records its exit', async () => {
    const { report, finalised } = await keep(order('sh', '-c', 'echo "$GREETING$PATH" > said; exit 3'));
    expect(report).toMatch(/^executing \d+\n$/);
    expect(readFileSync(join(directory, 'said'), 'utf8')).toContain('hello');
    expect(readExit(directory, 'r-1')).toMatchObject({ kind: 'exited', code: 3, signal: null });
    expect(finalised).toBe(true);
  });

  it.each([
    ['says who', 'somebody\\n', 'somebody'],
    ['says nothing of a name that is cut off', 'someb', 'another process'],
  ])('starts nothing while another holds what it is to hold, and %s', async (_says, written, who) => {
    const owned = join(directory, 'owned');
    const holding = (...command: string[]) =>
      ['0', directory, '1', owned, 'run r-1 of web\n{}', '0', command.length, ...command, 'go'].join('\0');
    const holder = spawn(
      'perl',
      [
        '-e',
        `open F, "+>>", $ARGV[0]; flock F, 2; syswrite F, "${written}"; print "held\\n"; close STDOUT; sleep 60`,
        owned,
      ],
      { stdio: ['ignore', 'pipe', 'ignore'] },
    );
    await once(holder.stdout, 'data');
    const { report } = await keep(holding('touch', join(directory, 'started')));
    holder.kill('SIGKILL');
    await once(holder, 'exit');
    expect(report).toBe(`failed it is held by ${who}\n`);
    expect(existsSync(join(directory, 'started'))).toBe(false);
    expect((await keep(holding('touch', join(directory, 'started')))).report).toMatch(/^executing \d+\n$/);
    expect(readFileSync(owned, 'utf8')).toBe('run r-1 of web\n{}');
  });

  it.runIf(process.platform === 'linux')(
    'starts nothing while a process of the same user has a name that it is to hold, and the command gets none of it',
    async () => {
      const name = `@reeve-test-${process.pid}`;
      const fds = join(directory, 'fds');
      const holding = (...command: string[]) =>
        ['0', directory, '1', name, 'run r-1 of web\n{}', '0', command.length, ...command, 'go'].join('\0');
      const bind =
        'socket my $s, 1, 1, 0; bind $s, pack "Sa*", 1, "\\0$ARGV[0]"; listen $s, 9; $0 = "its title"';
      const holder = spawn('perl', ['-e', `${bind}; print "held\n"; close STDOUT; sleep 60`, name.slice(1)], {
        stdio: ['ignore', 'pipe', 'ignore'],
      });
      await once(holder.stdout, 'data');
      const { report } = await keep(holding('touch', fds));
      holder.kill('SIGKILL');
      await once(holder, 'exit');
      expect(report).toBe(`failed it is held by its title (pid ${holder.pid})\n`);
      expect(existsSync(fds)).toBe(false);
      const list = ['sh', '-c', 'ls /proc/self/fd > "$0"', fds];
      await keep(order(...list));
      const usual = readFileSync(fds, 'utf8');
      expect((await keep(holding(...list))).report).toMatch(/^executing \d+\n$/);
      expect(readFileSync(fds, 'utf8')).toBe(usual);
    },
  );

  it('is kept from nothing by a name that another user has', { tags: ['root'] }, async () => {
    const name = `@reeve-test-other-${process.pid}`;
    const bind = 'socket my $s, 1, 1, 0; bind $s, pack "Sa*", 1, "\\0$ARGV[0]"; listen $s, 9';
    const holder = spawn('perl', ['-e', `${bind}; print "held\n"; close STDOUT; sleep 60`, name.slice(1)], {
      stdio: ['ignore', 'pipe', 'ignore'],
      cwd: '/',
      uid: 54_321,
      gid: 54_321,
    });
    await once(holder.stdout, 'data');
    const holding = ['0', directory, '1', name, 'run r-1 of web\n{}', '0', 1, 'true', 'go'].join('\0');
    const { report } = await keep(holding);
    holder.kill('SIGKILL');
    await once(holder, 'exit');
    expect(report).toMatch(/^executing \d+\n$/);
  });

  it('holds the file that has the name, also when another one had it a moment before', async () => {
    const [owned, go] = [join(directory, 'owned'), join(directory, 'go-on')];
    const kept = keep(['0', directory, '1', owned, 'run r-1 of web\n{}', '0', 1, 'true', 'go'].join('\0'), {
      REEVE_CHECKPOINT: `keeper.opened=wait:${go}`,
    });
    await eventually('it has opened the file, and not locked it', () => existsSync(`${go}.reached`));
    // As its holder does it: removed, and let go of.
    rmSync(owned);
    writeFileSync(go, '');
    expect((await kept).report).toMatch(/^executing \d+\n$/);
    expect(readFileSync(owned, 'utf8')).toBe('run r-1 of web\n{}');
  });

  it('starts nothing without an order, says so on record, and finalises', async () => {
    expect(await keep('')).toEqual({ report: '', finalised: true });
    expect(readExit(directory, 'r-1')).toMatchObject({ kind: 'not_started' });
  });

  it('starts nothing of an order that was cut off, wherever it was cut', async () => {
    const whole = order('touch', join(directory, 'started'));
    for (let length = 0; length < whole.length; length += 7) {
      await keep(whole.slice(0, length));
      expect(existsSync(join(directory, 'started'))).toBe(false);
    }
    await keep(whole);
    expect(existsSync(join(directory, 'started'))).toBe(true);
  });

  it('is not misled by an argument that begins with the last word of an order', async () => {
    const whole = order('touch', join(directory, 'started'), 'google');
    await keep(whole.slice(0, whole.indexOf('google') + 2));
    expect(existsSync(join(directory, 'started'))).toBe(false);
  });

  it('reports a command that cannot be executed, and its record says the same', async () => {
    const { report } = await keep(order('no-such-command-here'));
    expect(report).toMatch(/^failed .*no-such-command-here/);
    expect(readExit(directory, 'r-1')).toMatchObject({
      kind: 'not_started',
      reason: expect.stringContaining('no-such-command-here'),
    });
  });

  it('passes on arguments with newlines, quotes, unicode and a great deal of text unchanged', async () => {
    const words = ['a\nb', `it's "quoted" \\ $HOME`, 'grüße 🎈', 'x'.repeat(120_000), ''];
    await keep(order('perl', '-e', 'open F, ">", "words"; print F join "\\x01", @ARGV', ...words));
    expect(readFileSync(join(directory, 'words'), 'utf8').split('\u0001')).toEqual(words);
  });
});

it('where there is no Perl, says what to install', () => {
  expect(() => findPerl('/nowhere', '/nowhere')).toThrow(/Perl/);
});
