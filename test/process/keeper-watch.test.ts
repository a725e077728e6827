/** The keeper's timer: a watcher now and then, one at a time, never in the way of the harness or its terminal. */
import { execFileSync, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import {
  closeSync,
  constants,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readExit } from '../../src/process/run-directory.ts';
import { eventually, isAlive, isExecuting, signalSeen } from '../support/processes.ts';
import type { Seen } from '../support/processes.ts';
import { endStarted, remember } from './started.ts';

const KEEPER = fileURLToPath(new URL('../../src/process/keeper.pl', import.meta.url));
const PRCTL = process.arch === 'arm64' ? '167' : '157';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'reeve-keeper-'));
});
afterEach(async () => {
  await endStarted();
  rmSync(directory, { recursive: true, force: true });
});

const path = (name: string) => join(directory, name);
const read = (name: string) => {
  try {
    return readFileSync(path(name), 'utf8');
  } catch {
    return '';
  }
};
const looks = () => read('looks').split('\n').filter(Boolean).map(Number);
const childrenOf = (pid: number) =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').split(' ').filter(Boolean).map(Number);

const words = (group: string, firstLook: number) => [
  KEEPER,
  directory,
  'r-1',
  'title',
  group,
  '',
  PRCTL,
  '0',
  '0',
  '0',
  String(firstLook),
  path('watcher'),
  'sh',
  '-c',
  `touch ${path('finalised')}`,
];
const orderOf = (...command: string[]) =>
  ['0', directory, '0', '', '0', command.length, ...command, 'go'].join('\0');

interface Kept {
  readonly keeper: Seen;
  readonly harness: Seen;
  readonly exited: Promise<void>;
}

/** `watcher` is what each one does; it says that it is there, and as whom, before. */
async function keep(watcher: string, firstLook: number, ...command: string[]): Promise<Kept> {
  writeFileSync(path('watcher'), `echo $$ >> ${path('looks')}\n${watcher}\n`);
  const child = spawn('perl', words('own', firstLook), {
    stdio: ['ignore', 'ignore', 'inherit', 'pipe', 'pipe'],
    env: { PATH: process.env['PATH'] },
  });
  const keeper = remember(child.pid ?? 0);
  const exited = new Promise<void>((resolve) => child.once('close', () => resolve()));
  // Made by the two 'pipe' entries, which Node gives as duplex streams.
  const [orders, reports] = [child.stdio[3], child.stdio[4]] as [Duplex, Duplex];
  let report = '';
  reports.on('data', (chunk) => (report += String(chunk)));
  orders.end(orderOf(...command));
  const pid = await eventually('it executes', () => /^executing (\d+)/.exec(report)?.[1]);
  return { keeper, harness: remember(Number(pid)), exited };
}

const leaving = (seconds: number) => `echo ${seconds} > ${path('watch')}`;

describe('a keeper', () => {
  it('has its run looked at when it was told to, again when the last one said, and leaves no zombie', async () => {
    const { keeper, harness } = await keep(leaving(1), 1, 'sleep', '60');
    await eventually('three looks', () => looks().length >= 3);
    writeFileSync(path('watcher'), `echo $$ >> ${path('looks')}; ${leaving(0)}\n`);
    const count = await eventually('the last one', () => {
      const isLast = read('watch').trim() === '0' && childrenOf(keeper.pid).length === 1;
      return isLast && looks().length;
    });
    expect(childrenOf(keeper.pid)).toEqual([harness.pid]);
    // Told that somebody changed a budget, it looks once more, although nothing was due.
    signalSeen(keeper, 'SIGUSR1');
    await eventually('one more', () => looks().length === count + 1);
    signalSeen(harness, 'SIGKILL');
  });

  it('without a budget has no timer, until it is told to look', async () => {
    const { keeper, harness } = await keep(leaving(0), 0, 'sleep', '60');
    expect(looks()).toEqual([]);
    signalSeen(keeper, 'SIGUSR1');
    await eventually('a look', () => looks().length === 1);
    signalSeen(harness, 'SIGKILL');
  });

  it('has one watcher at a time, and one more after it when it was told meanwhile', async () => {
    const said = (word: string) => `echo ${word} >> ${path('order')}`;
    const wait = `${said('in')}; while [ -e ${path('hold')} ]; do sleep 0.02; done; ${said('out')}; ${leaving(0)}`;
    writeFileSync(path('hold'), '');
    const { keeper, harness } = await keep(wait, 1, 'sleep', '60');
    await eventually('a look', () => looks().length === 1);
    for (let poke = 0; poke < 5; poke += 1) signalSeen(keeper, 'SIGUSR1');
    await eventually('both are there', () => childrenOf(keeper.pid).length === 2);
    expect(looks()).toHaveLength(1);
    rmSync(path('hold'));
    await eventually('one more look', () => looks().length === 2);
    await eventually('and it is over', () => childrenOf(keeper.pid).length === 1);
    expect(read('order')).toBe('in\nout\nin\nout\n');
    signalSeen(harness, 'SIGKILL');
  });

  it('kills one that hangs when its time is up, and has another look later', async () => {
    const { keeper, harness } = await keep('exec sleep 60', 1, 'sleep', '60');
    await eventually('a look', () => looks().length === 1);
    const hanging = remember(looks()[0] ?? 0);
    // Its timer rings: the limit of a look, put forward.
    signalSeen(keeper, 'SIGALRM');
    await eventually('it is gone', () => !isAlive(hanging) && childrenOf(keeper.pid).length === 1);
    signalSeen(keeper, 'SIGALRM');
    await eventually('another', () => looks().length === 2);
    signalSeen(harness, 'SIGKILL');
  });

  it('does not let a watcher outlive the harness, nor take it for a leftover', async () => {
    const { keeper, harness, exited } = await keep('trap "" TERM; exec sleep 60', 1, 'sleep', '60');
    await eventually('a look', () => looks().length === 1);
    const watcher = remember(looks()[0] ?? 0);
    signalSeen(harness, 'SIGTERM');
    await exited;
    expect([keeper, watcher].map(isAlive)).toEqual([false, false]);
    const exit = readExit(directory, 'r-1');
    expect(exit).toMatchObject({ kind: 'exited', signal: 'SIGTERM' });
    expect('leftBehind' in exit).toBe(false);
  });

  it('is not confused by a watcher that exits with what the harness might, or cannot be executed', async () => {
    const { harness, exited } = await keep('exit 7', 1, 'sleep', '60');
    await eventually('a look', () => looks().length === 1);
    signalSeen(harness, 'SIGKILL');
    await exited;
    expect(readExit(directory, 'r-1')).toMatchObject({ kind: 'exited', code: null, signal: 'SIGKILL' });
  });
});

describe('a keeper in a pane', () => {
  let terminal: ChildProcess;

  async function keepInPane(watcher: string, ...command: string[]): Promise<Kept> {
    writeFileSync(path('watcher'), `echo $$ >> ${path('looks')}\n${watcher}\n`);
    execFileSync('mkfifo', [path('order')]);
    const orders = openSync(path('order'), constants.O_RDWR | constants.O_NONBLOCK);
    const line = ['perl', ...words('pane', 1)].map((word) => `'${word}'`).join(' ');
    terminal = spawn('script', ['-qec', `exec ${line}`, '/dev/null'], {
      stdio: ['pipe', 'ignore', 'inherit'],
      env: { PATH: process.env['PATH'] },
    });
    const exited = new Promise<void>((resolve) => terminal.once('close', () => resolve()));
    remember(terminal.pid ?? 0);
    const keeper = await eventually('the keeper', () => childrenOf(terminal.pid ?? 0)[0]);
    const order = orderOf(...command);
    writeSync(orders, `${Buffer.byteLength(order)}\n${order}`);
    const pid = await eventually('it executes', () => /^executing (\d+)/.exec(read('report'))?.[1]);
    closeSync(orders);
    return { keeper: remember(keeper), harness: remember(Number(pid)), exited };
  }

  it.each([
    ['hangs', 'exec sleep 60'],
    ['comes again and again', 'echo 1 > "$(dirname "$0")/watch"'],
  ])('whose terminal is closed ends a harness that does not care, while a watcher %s', async (_, watcher) => {
    const { keeper, harness } = await keepInPane(
      watcher,
      'sh',
      '-c',
      'trap "" HUP; while :; do sleep 0.1; done',
    );
    await eventually('a look', () => looks().length >= 1);
    const seen = remember(terminal.pid ?? 0);
    signalSeen(seen, 'SIGKILL');
    await eventually('the harness is ended', () => !isAlive(harness));
    await eventually('the keeper is done', () => !isAlive(keeper));
    expect(readExit(directory, 'r-1')).toMatchObject({ kind: 'exited', signal: 'SIGTERM', hungUp: true });
    expect(looks().filter(isExecuting)).toEqual([]);
  });
});
