import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createLinuxProcessTable, parseStat } from '../../src/process/linux.ts';
import { probe } from '../../src/process/liveness.ts';
import { identify } from '../../src/process/process-table.ts';
import { eventually, parentOf } from '../support/processes.ts';
import { end, endStarted, remember, start } from './started.ts';

afterEach(endStarted);

/** A line of /proc/PID/stat, in which state, threads and start time can be set. */
function stat(name: string, { state = 'S', threads = '1', startTime = '247770' } = {}): string {
  return `4711 (${name}) ${state} 10 20 30 0 -1 4194560 585 0 2 0 0 0 0 0 20 0 ${threads} 0 ${startTime} 4096 1 18446744073709551615 0 0\n`;
}
const FACT = {
  pid: 4711,
  parentPid: 10,
  groupId: 20,
  sessionId: 30,
  startTime: '247770',
  isZombie: false,
  isStopped: false,
};

describe('a line of /proc/PID/stat', () => {
  it.each([
    'node',
    'tmux: server',
    'a) S 1 1 1 (b',
    ')',
    '(',
    '',
    'two\nlines',
    ') Z 1 1 1 0 0 0 0 0 0 0 0 0 0 0',
  ])('is understood with the program name %j', (name) => {
    expect(parseStat(stat(name))).toEqual({ ...FACT, name });
  });

  it.each([
    ['R', '1', false],
    ['S', '1', false],
    ['D', '1', false],
    ['T', '1', false],
    ['t', '1', false],
    ['Z', '1', true],
    ['Z', '0', true],
    ['X', '0', true],
    // Its main thread has exited, its others have not.
    ['Z', '2', false],
  ])('with the state %s and %s threads is a zombie: %s', (state, threads, isZombie) => {
    expect(parseStat(stat('node', { state, threads }))).toEqual({
      ...FACT,
      isZombie,
      isStopped: state === 'T' || state === 't',
      name: 'node',
    });
  });

  it.each([
    '',
    '\n',
    '4711',
    '4711 (node',
    '4711 node) S 1',
    '4711 (node) S 10 20 30',
    'hello (world) this is not a stat at all',
    stat('node', { startTime: 'soon' }),
    stat('node', { startTime: '' }),
    stat('node', { startTime: '-5' }),
    stat('node').replace('4711', 'pid'),
  ])('that makes no sense is not understood: %j', (text) => {
    expect(parseStat(text)).toBeNull();
  });
});

describe('a process of this machine', () => {
  const table = createLinuxProcessTable();

  it('is identified by host, boot, pid namespace, pid and start time', () => {
    const { pid, seen } = start('cat', []);
    expect(identify(table, pid)).toEqual({
      host: expect.stringMatching(/./),
      boot: readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim(),
      pidNamespace: expect.stringMatching(/^pid:\[\d+\]( time:\[\d+\])?$/),
      pid,
      startTime: seen.startTime,
    });
  });

  it('is alive while it lives, and gone after it was collected', async () => {
    const started = start('cat', []);
    const identity = identify(table, started.pid);
    expect(probe(table, identity)).toEqual({ is: 'alive' });
    await end(started);
    expect(probe(table, identity)).toMatchObject({ is: 'dead', proof: 'gone' });
  });

  it('is alive while it is stopped', async () => {
    const { pid, seen } = start('cat', []);
    process.kill(seen.pid, 'SIGSTOP');
    await eventually('it is stopped', () => /^State:\tT/m.test(readFileSync(`/proc/${pid}/status`, 'utf8')));
    expect(probe(table, identify(table, pid))).toEqual({ is: 'alive', isStopped: true });
  });

  it('is dead as a zombie, although its parent does not collect it', async () => {
    const program = '$| = 1; my $child = fork; if (!$child) { <STDIN>; exit } print "$child\\n"; sleep 600';
    const parent = start('perl', ['-e', program]);
    const child = Number(await parent.line());
    const identity = identify(table, child);
    expect(probe(table, identity)).toEqual({ is: 'alive' });
    parent.child.stdin.end();
    const liveness = await eventually('the child has exited', () => {
      const now = probe(table, identity);
      return now.is === 'alive' ? null : now;
    });
    expect(liveness).toMatchObject({ is: 'dead', proof: 'zombie' });
    expect(parentOf(child)).toBe(parent.pid);
  });

  it('is alive when only its main thread has exited', async () => {
    // The system call that ends one thread; perl has no other name for it.
    const exitThread = { x64: 60, arm64: 93, riscv64: 93 }[process.arch as 'x64']; // Other processors give undefined.
    expect(exitThread, `the number of the exit system call on ${process.arch}`).toBeTypeOf('number');
    const program = `use threads; threads->create(sub { $| = 1; print while <STDIN> }); syscall(${exitThread}, 0)`;
    const started = start('perl', ['-e', program], { env: { HALF: 'gone' } });
    const identity = identify(table, started.pid);
    await eventually('the main thread is gone', () =>
      /^State:\tZ/m.test(readFileSync(`/proc/${started.pid}/status`, 'utf8')),
    );
    started.child.stdin.write('still here\n');
    expect(await started.line()).toBe('still here');
    expect(probe(table, identity)).toEqual({ is: 'alive' });
    expect(table.startedWith('HALF=gone', [started.pid])).toMatchObject([{ pid: started.pid }]);
    expect(table.details(started.pid)?.argv[0]).toBe('perl');
    expect(table.details(started.pid)?.environment()['HALF']).toBe('gone');
    // A thread that reads cannot be waited for as a child's exit; the signal ends all of them.
    process.kill(started.pid, 'SIGKILL');
    await started.exited;
    expect(probe(table, identity)).toMatchObject({ is: 'dead', proof: 'gone' });
  });

  it.each([
    ['another boot', { boot: '00000000-0000-0000-0000-000000000000' }, { is: 'dead', proof: 'rebooted' }],
    ['another host', { host: 'elsewhere', boot: 'another boot' }, { is: 'unknown' }],
    ['no start time', { startTime: null }, { is: 'unknown' }],
    ['another start time', { startTime: '1' }, { is: 'dead', proof: 'reused' }],
  ])('on record with %s is not taken for the one that has its pid', (_, other, expected) => {
    const { pid } = start('cat', []);
    expect(probe(table, { ...identify(table, pid), ...other })).toMatchObject(expected);
  });

  it('on record with another pid namespace is not taken for the one that has its pid', () => {
    const { pid } = start('cat', []);
    // Who may see the namespaces of all knows that nobody has this one; for others it is unknown.
    const { is } = probe(table, { ...identify(table, pid), pidNamespace: 'pid:[1]' });
    expect(['dead', 'unknown']).toContain(is);
  });

  it('is listed with its parent, group, session and program name', async () => {
    const leader = start('sh', ['-c', 'sleep 600 & echo $!; exec cat'], { detached: true });
    const child = remember(Number(await leader.line()));
    await eventually('both execute', () => {
      const names = [leader.pid, child.pid].map((pid) => readFileSync(`/proc/${pid}/comm`, 'utf8').trim());
      return names.join() === 'cat,sleep';
    });
    const own = { groupId: leader.pid, sessionId: leader.pid, isZombie: false, isStopped: false };
    expect(table.all().filter(({ pid }) => pid === leader.pid || pid === child.pid)).toEqual(
      [
        { ...own, ...leader.seen, parentPid: process.pid, name: 'cat' },
        { ...own, ...child, parentPid: leader.pid, name: 'sleep' },
      ].toSorted((a, b) => a.pid - b.pid),
    );
  });

  it('is found by the exact assignment it was started with, and by nothing like it', async () => {
    const mark = `REEVE_RUN=test-${process.pid}`;
    const value = mark.slice(mark.indexOf('=') + 1);
    const marked = start('cat', [], { env: { REEVE_RUN: value } });
    start('cat', [], { env: { REEVE_RUN: `${value}0` } });
    start('cat', [], { env: { OUTER_REEVE_RUN: value } });
    start('cat', [], { env: { OTHER: `1 ${mark}` } });
    start('sh', ['-c', 'echo; exec cat', mark]);
    expect(table.startedWith(mark)).toMatchObject([{ pid: marked.pid }]);
  });

  it('is found at every look, also when it forks and exits all the time', async () => {
    const place = mkdtempSync(join(tmpdir(), 'reeve-hops-'));
    const file = join(place, 'hops-while-this-is-here');
    writeFileSync(file, '');
    // For half a minute at the most, whatever becomes of the test.
    const hops = 'for (1 .. 10_000) { select undef, undef, undef, 0.003; exit if fork || !-e $ARGV[0] }';
    const value = `hops-${process.pid}`;
    try {
      const first = start('perl', ['-e', hops, file], { env: { REEVE_RUN: value } });
      await first.exited;
      const looks = Array.from({ length: 30 }, () => table.startedWith(`REEVE_RUN=${value}`));
      expect(looks.filter((found) => found.every(({ isZombie }) => isZombie))).toEqual([]);
    } finally {
      rmSync(place, { recursive: true });
      await eventually('nobody hops any more', () => table.startedWith(`REEVE_RUN=${value}`).length === 0);
    }
  });
});

describe('a /proc that is not as it should be', () => {
  /** No kernel hands out a pid as high. */
  const NO_PID = 2 ** 22 + 1;
  let root: string;

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'reeve-proc-'));
    mkdirSync(join(root, 'sys/kernel/random'), { recursive: true });
    writeFileSync(join(root, 'sys/kernel/random/boot_id'), 'boot-1\n');
    mkdirSync(join(root, 'self/ns'), { recursive: true });
    symlinkSync('pid:[1]', join(root, 'self/ns/pid'));
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  function put(pid: number, content: string | null): void {
    mkdirSync(join(root, String(pid)));
    // A directory in its place stands for whatever makes the file unreadable, since root may read all files.
    if (content === null) mkdirSync(join(root, String(pid), 'stat'));
    else writeFileSync(join(root, String(pid), 'stat'), content);
  }

  it.each([
    ['cannot be read', null],
    ['is empty', ''],
    ['is nonsense', 'ten green bottles (on the wall) and more'],
    ['has nonsense for a start time', stat('node', { startTime: 'soon' })],
  ])('makes a process unknown when its stat %s', (_, content) => {
    put(4711, content);
    const table = createLinuxProcessTable(root);
    const identity = { ...table.host, pid: 4711, startTime: '247770' };
    expect(table.read(4711)).toMatchObject({ is: 'unreadable' });
    expect(probe(table, identity)).toMatchObject({ is: 'unknown' });
  });

  it('leaves out of the list only what is gone, hidden or makes no sense', () => {
    put(4711, stat('node'));
    mkdirSync(join(root, '4712'));
    put(4713, 'nonsense');
    writeFileSync(join(root, 'uptime'), '1 1');
    expect(createLinuxProcessTable(root).all()).toEqual([{ ...FACT, name: 'node' }]);
  });

  it('makes a living process that it hides unknown, and one that is not there gone', () => {
    const table = createLinuxProcessTable(root);
    expect(table.read(start('cat', []).pid)).toMatchObject({ is: 'unreadable' });
    expect(table.read(NO_PID)).toEqual({ is: 'gone' });
  });

  it('finds a mark where there is an environment', () => {
    put(4711, stat('node'));
    put(4712, stat('node').replace('4711', '4712'));
    writeFileSync(join(root, '4712/environ'), 'A=1\0REEVE_RUN=r\0B=2\0');
    expect(createLinuxProcessTable(root).startedWith('REEVE_RUN=r')).toMatchObject([{ pid: 4712 }]);
  });

  it('throws when one read fails, rather than being without whoever was to be read', () => {
    put(4711, stat('node'));
    const table = createLinuxProcessTable(root);
    for (const [name, look] of [
      ['environ', () => table.startedWith('REEVE_RUN=r')],
      ['limits', () => table.bearing('1')],
    ] as const) {
      mkdirSync(join(root, '4711', name));
      expect(look).toThrow('EISDIR');
    }
    put(4712, null);
    expect(() => table.all()).toThrow('EISDIR');
  });

  it('does not tell the children of a process when those of one thread cannot be read', () => {
    put(4711, stat('node'));
    for (const thread of ['4711', '4720']) {
      mkdirSync(join(root, '4711/task', thread), { recursive: true });
      writeFileSync(join(root, '4711/task', thread, 'children'), '');
    }
    const table = createLinuxProcessTable(root);
    expect(table.childrenOf(4711)).toEqual([]);
    rmSync(join(root, '4711/task/4720/children'));
    mkdirSync(join(root, '4711/task/4720/children'));
    expect(table.childrenOf(4711)).toBeNull();
  });

  it('throws when it cannot be listed at all, rather than being empty', () => {
    const table = createLinuxProcessTable(root);
    rmSync(root, { recursive: true });
    expect(() => table.all()).toThrow('ENOENT');
    expect(() => table.startedWith('REEVE_RUN=r')).toThrow('ENOENT');
  });

  it('is no table of processes when it does not tell the boot or the pid namespace', () => {
    rmSync(join(root, 'sys/kernel/random/boot_id'));
    expect(() => createLinuxProcessTable(root)).toThrow('ENOENT');
    writeFileSync(join(root, 'sys/kernel/random/boot_id'), 'boot-1\n');
    rmSync(join(root, 'self/ns/pid'));
    expect(() => createLinuxProcessTable(root)).toThrow('ENOENT');
  });
});
