/** A keeper in a pane of tmux. Its launcher is not its parent, so everything between them goes through the run's directory. */
import { execFileSync } from 'node:child_process';
import { closeSync, constants, mkdirSync, openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ReeveError } from '../api/errors.ts';
import { encodeOrder, keeperCommand, parseReport } from '../process/keeper.ts';
import type { HarnessOrder, Keeper, KeeperOrder, KeeperReport } from '../process/keeper.ts';
import { identify } from '../process/process-table.ts';
import { probe } from '../process/liveness.ts';
import { RUN_MARK } from '../process/tree.ts';
import { openTmux } from '../runtime/tmux.ts';
import type { Tmux } from '../runtime/tmux.ts';
import type { ProcessIdentity } from '../lifecycle/process-identity.ts';
import type { Context } from './context.ts';

const POLL_MS = 10;
/** A keeper reads its order at once; one that was stopped never does. */
const ORDER_LIMIT_MS = 10_000;
/** What a person's terminal has is not known yet when nobody is attached. */
const SIZE = { columns: 160, rows: 48 };

export function tmuxOf(context: Pick<Context, 'home'>): Tmux {
  const directory = join(context.home.path, 'tmux');
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  return openTmux(join(directory, 'socket'));
}

/** Refuses what is sure to fail, before anything is claimed for it or anybody ended. */
export async function requirePane(context: Context): Promise<void> {
  await refuseServerInsideRun(context, tmuxOf(context));
}

export async function spawnPaneKeeper(
  context: Context,
  order: KeeperOrder,
  logPath: string,
  cwd: string,
): Promise<Keeper> {
  const tmux = tmuxOf(context);
  await refuseServerInsideRun(context, tmux);
  const pipe = join(order.runDirectory, 'order');
  execFileSync('mkfifo', ['-m', '600', pipe]);
  // Both ends, and before there is a keeper: from its first moment on, no writer means that this process is gone.
  const orders = openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK);
  const answer = await tmux.start({
    name: order.runId,
    cwd,
    argv: keeperCommand(order),
    environment: order.environment,
    ...SIZE,
    logPath,
  });
  if (answer.is !== 'answered') {
    closeSync(orders);
    const because = answer.is === 'unknown' ? answer.because : `it says ${answer.is}`;
    throw new ReeveError('tmux_unknown', `tmux did not start the pane: ${because}`);
  }
  const identity = identify(context.table, answer.value.pid);
  return keeperIn(
    context,
    identity,
    orders,
    join(order.runDirectory, 'report'),
    answer.value.environment.TERM,
  );
}

/** The server holds the sessions of all; started from inside a run it would be part of that, and end with it. */
async function refuseServerInsideRun(context: Context, tmux: Tmux): Promise<void> {
  if ((context.environment[RUN_MARK] ?? '') === '' || (await tmux.server()).is === 'answered') return;
  throw new ReeveError(
    'inside_own_run',
    'The tmux server of Reeve is not up, and started here it would end with this run.',
    {
      hint: 'Start a session with --tmux from a terminal outside of it first, or leave out --tmux.',
    },
  );
}

function keeperIn(
  context: Context,
  identity: ProcessIdentity,
  orders: number,
  reportPath: string,
  term: string,
): Keeper {
  let isReleased = false;
  let isOpen = true;
  const close = () => {
    if (isOpen) closeSync(orders);
    isOpen = false;
  };
  const isGone = () => probe(context.table, identity).is === 'dead';
  const until = async (condition: () => boolean) => {
    while (!isReleased && !condition()) await sleep(POLL_MS);
  };
  // What is in a pipe that nobody has open is lost, so it stays open until the keeper has spoken.
  const report = readReport(reportPath, isGone, () => isReleased).finally(close);
  return {
    pid: identity.pid,
    terminal: { TERM: term },
    report,
    get exited() {
      return until(isGone);
    },
    letGo: (harness) => void sendOrder(orders, harness, isGone),
    abandon: close,
    release: () => {
      isReleased = true;
    },
  };
}

async function readReport(
  path: string,
  isGone: () => boolean,
  isReleased: () => boolean,
): Promise<KeeperReport> {
  for (;;) {
    // Looked at before the file: what was written before the end is found after it.
    const isLast = isGone() || isReleased();
    const text = readIfThere(path);
    if (text !== null || isLast) return parseReport(text ?? '');
    await sleep(POLL_MS);
  }
}

function readIfThere(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}

/** A pipe takes some pages at a time, and an order may hold a prompt of a megabyte. */
async function sendOrder(orders: number, harness: HarnessOrder, isGone: () => boolean): Promise<void> {
  const order = encodeOrder(harness);
  const bytes = Buffer.concat([Buffer.from(`${order.length}\n`), order]);
  const deadline = performance.now() + ORDER_LIMIT_MS;
  for (let at = 0; at < bytes.length;) {
    const written = writeSome(orders, bytes.subarray(at));
    at += written;
    if (written > 0) continue;
    if (isGone() || performance.now() > deadline) return;
    await sleep(POLL_MS);
  }
}

function writeSome(orders: number, bytes: Buffer): number {
  try {
    return writeSync(orders, bytes);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EAGAIN') return 0;
    throw error;
  }
}
