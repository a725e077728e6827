/** The keeper program by itself, in a pane, where its order comes through a pipe; and over what was running already. */
import { execFileSync, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import {
  closeSync,
  constants,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readExit } from '../../src/process/run-directory.ts';
import { eventually, isAlive, signalSeen } from '../support/processes.ts';
import { endStarted, remember, start } from './started.ts';

const KEEPER = fileURLToPath(new URL('../../src/process/keeper.pl', import.meta.url));

let directory: string;
const terminals = new Set<ChildProcess>();
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'reeve-keeper-'));
});
afterEach(async () => {
  // Only a test that failed leaves one: the keeper in it weathers whatever becomes of its terminal.
  for (const { pid } of terminals)
    for (const keeper of readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1')
      .split(' ')
      .filter(Boolean))
      remember(Number(keeper));
  await endStarted();
  rmSync(directory, { recursive: true, force: true });
});

const path = (name: string) => join(directory, name);
const command = (group: string) => [
  ...`${KEEPER} ${directory} r-1 title ${group} none`.split(' '),
  '',
  ...'0 0 0 0 0 nothing sh -c'.split(' '),
  `exec touch ${path('finalised')}`,
];
const order = (...words: string[]) =>
  ['0', directory, '0', '', '1', 'GREETING=hello', words.length, ...words, 'go'].join('\0');
const withLength = (text: string) => `${Buffer.byteLength(text)}\n${text}`;

describe('a keeper in a pane', () => {
  /** In a terminal of its own; settles when it has become its finaliser and ended. */
  function inPane(): Promise<void> {
    const line = ['perl', ...command('pane')].map((word) => `'${word}'`).join(' ');
    const terminal = spawn('script', ['-qec', `exec ${line}`, '/dev/null'], {
      stdio: ['pipe', 'ignore', 'inherit'],
      env: { PATH: process.env['PATH'] },
    });
    terminals.add(terminal);
    return new Promise((resolve) => {
      terminal.once('close', () => {
        terminals.delete(terminal);
        resolve();
      });
    });
  }

  /** Both ends, as the launcher has it. */
  function openOrders(): number {
    rmSync(path('order'), { force: true });
    execFileSync('mkfifo', [path('order')]);
    return openSync(path('order'), constants.O_RDWR | constants.O_NONBLOCK);
  }

  it('obeys an order that comes in pieces, leaves its report, and records the exit', async () => {
    const orders = openOrders();
    const done = inPane();
    for (const piece of withLength(order('sh', '-c', 'printf "$GREETING" > said; exit 3')).match(
      /.{1,7}/gs,
    ) ?? [])
      writeSync(orders, piece);
    await eventually('it has spoken', () => existsSync(path('report')));
    await done;
    closeSync(orders);
    expect(readFileSync(path('report'), 'utf8')).toMatch(/^executing \d+\n$/);
    expect(readFileSync(path('said'), 'utf8')).toBe('hello');
    expect(readExit(directory, 'r-1')).toMatchObject({ kind: 'exited', code: 3, signal: null });
    expect([existsSync(path('finalised')), existsSync(path('order'))]).toEqual([true, false]);
  });

  it('starts nothing when its launcher was gone before it could look, and says so on record', async () => {
    const orders = openOrders();
    writeSync(orders, withLength(order('touch', path('started'))));
    // What is in a pipe that nobody has open is lost.
    closeSync(orders);
    await inPane();
    expect(existsSync(path('started'))).toBe(false);
    expect(readExit(directory, 'r-1')).toMatchObject({ kind: 'not_started' });
    expect(existsSync(path('finalised'))).toBe(true);
  });

  it('starts nothing without a pipe', async () => {
    await inPane();
    expect(readExit(directory, 'r-1')).toMatchObject({ kind: 'not_started' });
  });

  it('starts nothing of an order that was cut off with its launcher, wherever it was cut', async () => {
    const whole = withLength(order('touch', path('started')));
    for (let length = 0; length < whole.length; length += 9) {
      const orders = openOrders();
      const done = inPane();
      writeSync(orders, whole.slice(0, length));
      // It reads by now, and waits for the rest.
      await eventually('it has the pipe open', () => isRead(path('order')));
      closeSync(orders);
      await done;
      expect({ length, started: existsSync(path('started')) }).toEqual({ length, started: false });
      expect(readExit(directory, 'r-1')).toMatchObject({ kind: 'not_started' });
    }
  });

  it('reports what cannot be executed', async () => {
    const orders = openOrders();
    const done = inPane();
    writeSync(orders, withLength(order('no-such-command-here')));
    await done;
    closeSync(orders);
    expect(readFileSync(path('report'), 'utf8')).toMatch(/^failed cannot execute no-such-command-here: /);
  });
});

describe('a keeper over what was running already', () => {
  let watcher: ChildProcess | null = null;
  /** It sleeps after each look. */
  const looksOf = (pid: number) =>
    Number(
      /^voluntary_ctxt_switches:\s*(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1] ?? 0,
    );

  async function watch(pid: number, startTime: string): Promise<string> {
    const keeper = spawn('perl', command('adopted'), {
      stdio: ['ignore', 'ignore', 'inherit', 'pipe', 'pipe'],
      env: { PATH: process.env['PATH'] },
    });
    watcher = keeper;
    // Made by the two 'pipe' entries, which Node gives as duplex streams.
    const [orders, reports] = [keeper.stdio[3], keeper.stdio[4]] as [Duplex, Duplex];
    let report = '';
    reports.on('data', (chunk) => (report += String(chunk)));
    orders.end(order(String(pid), startTime));
    await new Promise((resolve) => keeper.once('close', resolve));
    return report;
  }

  it('watches nothing when the pid is another process by now, and leaves that alone', async () => {
    const { seen, child } = start('sleep', ['60']);
    const report = await watch(seen.pid, String(Number(seen.startTime) - 1));
    expect(report).toMatch(/^failed it had ended/);
    expect(readExit(directory, 'r-1')).toMatchObject({ kind: 'not_started' });
    expect(child.exitCode ?? child.signalCode).toBe(null);
  });

  it(
    'leaves a stranger alone that has the pid of what it once saw below the harness',
    { tags: ['root'] },
    () => {
      const inside = ['perl', '-e', REUSE, directory, ...command('adopted')];
      const words = ['--pid', '--fork', '--kill-child', '--mount-proc', ...inside];
      const said = execFileSync('unshare', words, {
        encoding: 'utf8',
        timeout: 40_000,
        killSignal: 'SIGKILL',
      });
      expect(said).toBe('reused, left alone');
    },
  );

  it('goes on watching a program whose main thread has ended, and ends what its other threads started', async () => {
    // The system call that ends one thread; perl has no other name for it.
    const exitThread = process.arch === 'x64' ? 60 : 93;
    const work =
      '$| = 1; while (<STDIN>) { my $c = fork // die; exec "sleep", 600 unless $c; print "$c\\n" }';
    const program = `use threads; threads->create(sub { ${work} }); syscall(${exitThread}, 0)`;
    const harness = start('perl', ['-e', program]);
    const isHalfGone = () =>
      /^State:\tZ/m.test(readFileSync(`/proc/${harness.pid}/status`, 'utf8')) &&
      readdirSync(`/proc/${harness.pid}/task`).length === 2;
    await eventually('its main thread is gone', isHalfGone);
    const watching = watch(harness.pid, harness.seen.startTime);
    await eventually('it is on record', () => existsSync(path('started.json')));
    harness.child.stdin.write('go\n');
    const below = remember(Number(await harness.line()));
    await eventually('it is asked whether it still works', async () => {
      harness.child.stdin.write('go\n');
      remember(Number(await harness.line()));
      return looksOf(watcher?.pid ?? 0) > 3;
    });
    expect([existsSync(path('exit.json')), isAlive(harness.seen)]).toEqual([false, true]);
    signalSeen(harness.seen, 'SIGKILL');
    expect(await watching).toBe(`executing ${harness.pid}\n`);
    expect(isAlive(below)).toBe(false);
    await harness.exited;
  });

  it('sees the end of what it watches, and says that it cannot know how', async () => {
    const { seen, child } = start('sleep', ['60']);
    const watching = watch(seen.pid, seen.startTime);
    await eventually('it is on record', () => existsSync(path('started.json')));
    child.kill('SIGTERM');
    expect(await watching).toBe(`executing ${seen.pid}\n`);
    expect(readExit(directory, 'r-1')).toMatchObject({ kind: 'unseen' });
    expect(existsSync(path('finalised'))).toBe(true);
  });
});

/**
 * As the first process of a pid namespace: a harness with a child, a keeper that has seen both, and then a stranger that
 * gets the child's pid. The kernel gives the next process the number after the one in ns_last_pid.
 */
const REUSE = String.raw`
  use strict; use POSIX ();
  my ($dir, @keeper) = @ARGV;
  sub slurp { open my $file, '<', $_[0] or return ''; local $/; return scalar <$file>; }
  sub looks { return slurp("/proc/$_[0]/status") =~ /^voluntary_ctxt_switches:\s*(\d+)/m ? $1 : 0; }
  pipe my $in, my $out;
  my $harness = fork // die;
  if (!$harness) {
      my $child = fork // die;
      exec 'sleep', '60' unless $child;
      $SIG{USR1} = sub { kill 'KILL', $child; waitpid $child, 0; syswrite $out, "over\n"; };
      syswrite $out, "$child\n";
      sleep 1 while 1;
  }
  chomp(my $child = <$in>);
  my $start = (split ' ', slurp("/proc/$harness/stat") =~ s/.*\) //sr)[19];
  open my $order, '>', "$dir/order.txt"; print $order join "\0", 0, $dir, 0, '', 0, 2, $harness, $start, 'go'; close $order;
  my $keeper = fork // die;
  exec 'sh', '-c', 'exec perl "$@" 3<"$0/order.txt" 4>"$0/report"', $dir, @keeper unless $keeper;
  select undef, undef, undef, 0.01 until slurp("$dir/report") =~ /^executing/;
  my $before = looks($keeper);
  select undef, undef, undef, 0.01 until looks($keeper) >= $before + 2;
  kill 'USR1', $harness;
  <$in>;
  my $stranger = 0;
  for (1 .. 50) {
      open my $last, '>', '/proc/sys/kernel/ns_last_pid' or die $!; print $last $child - 1; close $last;
      $stranger = fork // die;
      exec 'sleep', '60' unless $stranger;
      last if $stranger == $child;
      kill 'KILL', $stranger; waitpid $stranger, 0;
  }
  kill 'KILL', $harness;
  waitpid $_, 0 for $harness, $keeper;
  print $stranger == $child ? 'reused, ' : 'not reused, ', waitpid($stranger, POSIX::WNOHANG()) ? 'hit' : 'left alone';
`;

/** Whether the keeper of this test has come to read this file. */
function isRead(file: string): boolean {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.some((pid) => {
    try {
      if (!readFileSync(`/proc/${pid}/cmdline`, 'latin1').startsWith('reeve-keeper')) return false;
      return readdirSync(`/proc/${pid}/fd`).some((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`) === file);
    } catch {
      // Gone meanwhile.
      return false;
    }
  });
}
