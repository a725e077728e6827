/** The keeper's timer: a watcher now and then, one at a time, never in the way of the harness or its terminal. */
import { execFileSync, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import {
  closeSync,
  constants,
  existsSync,
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
import { endStarted, remember, start } from './started.ts';

const KEEPER = fileURLToPath(new URL('../../src/process/keeper.pl', import.meta.url));
const PRCTL = process.arch === 'arm64' ? '167' : '157';

let directory: string;
let kept: Kept[] = [];
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'reeve-keeper-'));
});
afterEach(async () => {
  // In good order: a keeper that is killed leaves a watcher behind, which goes on writing here.
  for (const { harness, exited } of kept.splice(0)) {
    signalSeen(harness, 'SIGKILL');
    await exited;
  }
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
  'none',
  '',
  PRCTL,
  '0',
  '0',
  '0',
  String(firstLook),
  path('watcher'),
  'sh',
  '-c',
  `exec touch ${path('finalised')}`,
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
  const running = { keeper, harness: remember(Number(pid)), exited };
  kept.push(running);
  return running;
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
  });

  it('without a budget has no timer, until it is told to look', async () => {
    const { keeper } = await keep(leaving(0), 0, 'sleep', '60');
    expect(looks()).toEqual([]);
    signalSeen(keeper, 'SIGUSR1');
    await eventually('a look', () => looks().length === 1);
  });

  it('has one watcher at a time, and one more after it when it was told meanwhile', async () => {
    const said = (word: string) => `echo ${word} >> ${path('order')}`;
    const wait = `${said('in')}; while [ -e ${path('hold')} ]; do sleep 0.02; done; ${said('out')}; ${leaving(0)}`;
    writeFileSync(path('hold'), '');
    const { keeper } = await keep(wait, 1, 'sleep', '60');
    await eventually('a look', () => looks().length === 1);
    for (let poke = 0; poke < 5; poke += 1) signalSeen(keeper, 'SIGUSR1');
    await eventually('both are there', () => childrenOf(keeper.pid).length === 2);
    expect(looks()).toHaveLength(1);
    rmSync(path('hold'));
    await eventually('one more look', () => looks().length === 2);
    await eventually('and it is over', () => childrenOf(keeper.pid).length === 1);
    expect(read('order')).toBe('in\nout\nin\nout\n');
  });

  it('kills one that hangs when its time is up, and has another look later', async () => {
    const { keeper } = await keep('exec sleep 60', 1, 'sleep', '60');
    await eventually('a look', () => looks().length === 1);
    const hanging = remember(looks()[0] ?? 0);
    // Its timer rings: the limit of a look, put forward.
    signalSeen(keeper, 'SIGALRM');
    await eventually('it is gone', () => !isAlive(hanging) && childrenOf(keeper.pid).length === 1);
    signalSeen(keeper, 'SIGALRM');
    await eventually('another', () => looks().length === 2);
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
  /** The keeper of the run that this one is inside of, or what stands for it. */
  let above: Seen;

  /** It has its order, and nothing may have been done about that yet. */
  async function orderInPane(
    { watcher = '', firstLook = 1, checkpoint = '' },
    ...command: string[]
  ): Promise<{ keeper: Seen; orders: number }> {
    writeFileSync(path('watcher'), `echo $$ >> ${path('looks')}\n${watcher}\n`);
    execFileSync('mkfifo', [path('order')]);
    const orders = openSync(path('order'), constants.O_RDWR | constants.O_NONBLOCK);
    const line = ['perl', ...words('pane', firstLook)].map((word) => `'${word}'`).join(' ');
    terminal = spawn('script', ['-qec', `exec ${line}`, '/dev/null'], {
      stdio: ['pipe', 'ignore', 'inherit'],
      env: { PATH: process.env['PATH'], REEVE_CHECKPOINT: checkpoint },
    });
    remember(terminal.pid ?? 0);
    const keeper = await eventually('the keeper', () => childrenOf(terminal.pid ?? 0)[0]);
    const order = orderOf(...command);
    writeSync(orders, `${Buffer.byteLength(order)}\n${order}`);
    return { keeper: remember(keeper), orders };
  }

  async function keepInPane(
    options: Parameters<typeof orderInPane>[0],
    ...command: string[]
  ): Promise<Omit<Kept, 'exited'>> {
    const { keeper, orders } = await orderInPane(options, ...command);
    const pid = await eventually('it executes', () => /^executing (\d+)/.exec(read('report'))?.[1]);
    closeSync(orders);
    return { keeper, harness: remember(Number(pid)) };
  }

  /** What holds the other end of the terminal is killed with it. */
  const closeTerminal = () => signalSeen(remember(terminal.pid ?? 0), 'SIGKILL');
  const isOver = (keeper: Seen) => eventually('the keeper is done', () => !isAlive(keeper));
  const UNMOVED = 'trap "" HUP; while :; do sleep 0.1; done';

  it.each([
    ['hangs', 'exec sleep 60'],
    ['comes again and again', 'echo 1 > "$(dirname "$0")/watch"'],
  ])('whose terminal is closed ends a harness that does not care, while a watcher %s', async (_, watcher) => {
    const { keeper, harness } = await keepInPane({ watcher }, 'sh', '-c', UNMOVED);
    await eventually('a look', () => looks().length >= 1);
    closeTerminal();
    await eventually('the harness is ended', () => !isAlive(harness));
    await isOver(keeper);
    expect(readExit(directory, 'r-1')).toMatchObject({ kind: 'exited', signal: 'SIGTERM', hungUp: true });
    expect(looks().filter(isExecuting)).toEqual([]);
  });

  it.each([
    ['it is hung up once more', '', (keeper: Seen) => signalSeen(keeper, 'SIGHUP'), 0],
    ['somebody changes a budget', '', (keeper: Seen) => signalSeen(keeper, 'SIGUSR1'), 0],
    ['the keeper above it is gone', '', () => signalSeen(above, 'SIGKILL'), 0],
    [
      'a watcher leaves when the next is due',
      `while [ -e "$(dirname "$0")/held" ]; do sleep 0.02; done; echo 600 > "$(dirname "$0")/watch"`,
      () => rmSync(path('held')),
      1,
    ],
  ])(
    'whose terminal is closed ends the harness in time, and tells it once, also when %s',
    async (_, watcher, happens, seen) => {
      above = start('sleep', ['60']).seen;
      writeFileSync(path('owner'), `${above.pid} ${above.startTime}\n`);
      writeFileSync(path('held'), '');
      const telling = `trap "echo hup >> ${path('told')}" HUP; echo > ${path('ready')}; while :; do sleep 0.1; done`;
      const { keeper, harness } = await keepInPane({ watcher, firstLook: seen }, 'sh', '-c', telling);
      await eventually('it listens', () => existsSync(path('ready')) && looks().length === seen);
      closeTerminal();
      await eventually('it is told', () => read('told') !== '');
      happens(keeper);
      await eventually('the harness is ended', () => !isAlive(harness));
      await isOver(keeper);
      expect(readExit(directory, 'r-1')).toMatchObject({ kind: 'exited', signal: 'SIGTERM', hungUp: true });
      expect(read('told')).toBe('hup\n');
      expect(looks()).toHaveLength(seen);
    },
  );

  it('whose terminal is closed wakes a harness that was stopped, so that it hears of it', async () => {
    const { keeper, harness } = await keepInPane({}, 'sleep', '60');
    signalSeen(harness, 'SIGSTOP');
    closeTerminal();
    await isOver(keeper);
    expect(readExit(directory, 'r-1')).toMatchObject({ kind: 'exited', signal: 'SIGHUP', hungUp: true });
  });

  it('whose terminal is closed before it has started anything starts nothing, and says why', async () => {
    const go = path('go-on');
    const { keeper, orders } = await orderInPane(
      { checkpoint: `keeper.holding=wait:${go}` },
      'touch',
      path('started'),
    );
    await eventually('it is about to', () => existsSync(`${go}.reached`));
    closeTerminal();
    await eventually('the terminal is gone', () => terminal.signalCode !== null);
    writeFileSync(go, '');
    await isOver(keeper);
    closeSync(orders);
    expect(readExit(directory, 'r-1')).toMatchObject({
      kind: 'not_started',
      reason: expect.stringContaining('terminal was closed'),
    });
    expect(existsSync(path('started'))).toBe(false);
  });

  it('whose terminal is closed while the harness starts ends it, although it could not hear of it then', async () => {
    const go = path('go-on');
    const { keeper, orders } = await orderInPane(
      { firstLook: 600, checkpoint: `harness.forked=wait:${go}` },
      'sh',
      '-c',
      UNMOVED,
    );
    await eventually('it starts', () => existsSync(`${go}.reached`));
    closeTerminal();
    await eventually('the terminal is gone', () => terminal.signalCode !== null);
    writeFileSync(go, '');
    await isOver(keeper);
    closeSync(orders);
    // The signal may come before the harness has said that it does not care.
    expect(readExit(directory, 'r-1')).toMatchObject({
      kind: 'exited',
      signal: expect.stringMatching(/^SIG(HUP|TERM)$/),
      hungUp: true,
    });
  });

  it('whose terminal is closed after the harness has ended says how that ended, and nothing of the terminal', async () => {
    const go = path('go-on');
    const { keeper, orders } = await orderInPane(
      { firstLook: 0, checkpoint: `keeper.exited=wait:${go}` },
      'sh',
      '-c',
      'exit 3',
    );
    await eventually('the harness has ended', () => existsSync(`${go}.reached`));
    closeTerminal();
    await eventually('the terminal is gone', () => terminal.signalCode !== null);
    writeFileSync(go, '');
    await isOver(keeper);
    closeSync(orders);
    expect(readExit(directory, 'r-1')).toMatchObject({ kind: 'exited', code: 3, signal: null });
    expect(readExit(directory, 'r-1')).not.toHaveProperty('hungUp');
    expect(existsSync(path('finalised'))).toBe(true);
  });
});
