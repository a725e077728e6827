/** Starts a keeper, blocked, and lets it go. What the keeper does is told in keeper.pl. */
import { spawn } from 'node:child_process';
import type { ChildProcess, StdioOptions } from 'node:child_process';
import { existsSync, openSync, closeSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { Duplex } from 'node:stream';
import { isTooManyFiles, ReeveError, TOO_MANY_FILES } from '../api/errors.ts';
import type { ProcessIdentity } from '../lifecycle/process-identity.ts';
import type { Containment, RunMode } from '../lifecycle/run.ts';
import { systemCalls } from './containment.ts';
import type { ProcessTable } from './process-table.ts';
import { bytesOf } from '../api/raw-bytes.ts';
import { signalProven } from './run-tree.ts';
import type { TerminalTie } from './terminal.ts';

export interface KeeperOrder {
  readonly runId: string;
  readonly runDirectory: string;
  readonly sessionName: string;
  /**
   * Whether the harness leads a process group of its own, or stays in this process's; whether the keeper runs in a pane of
   * tmux, or watches what was running already.
   */
  readonly group: 'own' | 'shared' | 'pane' | 'adopted';
  readonly mode: RunMode;
  /** How the launcher was tied to a terminal: of one that was closed since, the keeper could not tell by itself. */
  readonly terminal: TerminalTie;
  readonly output: HarnessOutput;
  readonly containment: Containment;
  /** The keeper's own environment, not the harness's. */
  readonly environment: Readonly<Record<string, string>>;
  /** The command that the keeper becomes at the end. */
  readonly finaliser: readonly string[];
  /** What the same program runs from time to time while the harness runs. */
  readonly watcher: string;
  /** When for the first time; null for not at all, unless it is told to. */
  readonly firstLookMs: number | null;
}

/** Where a harness writes: this process's own terminal, its standard error only, or a log file. */
type HarnessOutput = 'inherit' | 'stderr' | { readonly log: string };

export interface HarnessOrder {
  /** The files that the keeper holds locked for as long as the run lasts, and what it writes into them. */
  readonly hold: readonly string[];
  readonly announcement: string;
  /**
   * What the keeper hands to the programs it runs, and what must not be in its own environment: that stands in /proc for
   * as long as the run lasts, and in a pane of tmux it comes by way of a command line.
   */
  readonly secrets: Readonly<Record<string, string>>;
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly environment: Readonly<Record<string, string>>;
}

export type KeeperReport =
  | { readonly is: 'executing'; readonly pid: number }
  | { readonly is: 'failed'; readonly because: string }
  /** It ended without a word: killed, or the launcher's order never reached it. */
  | { readonly is: 'silent' };

export interface Keeper {
  readonly pid: number;
  /** What the harness must find in its environment, where the keeper gives it a terminal. */
  readonly terminal: Readonly<Record<string, string>>;
  /** Settles when the harness is known to be executing, or to have failed to. */
  readonly report: Promise<KeeperReport>;
  /** Settles when the keeper, and so the finaliser it becomes, is gone. */
  readonly exited: Promise<void>;
  readonly letGo: (harness: HarnessOrder) => void;
  /** Without an order it starts nothing and ends by itself. */
  readonly abandon: () => void;
  /** Lets this process exit while the keeper goes on. */
  readonly release: () => void;
}

export function keeperCommand(order: KeeperOrder): readonly [program: string, ...args: string[]] {
  const calls = systemCalls(order.containment);
  return [
    findPerl(),
    join(import.meta.dirname, 'keeper.pl'),
    order.runDirectory,
    order.runId,
    order.sessionName,
    order.group,
    order.terminal,
    order.containment.by === 'cgroup' ? order.containment.path : '',
    ...[calls.prctl, calls.madvise, calls.fsync, calls.prlimit, secondsOf(order.firstLookMs)].map(String),
    order.watcher,
    ...order.finaliser,
  ];
}

/** Of the keeper's timer, in which nought is never. */
function secondsOf(ms: number | null): number {
  return ms === null ? 0 : Math.max(1, Math.ceil(ms / 1000));
}

/** Tells a keeper to hold what the file `hold` in its run's directory names besides; one that does not know how does nothing. */
export const HOLD_MORE = 'SIGUSR2' satisfies NodeJS.Signals;

/** How the reason of a keeper begins that started nothing because another one holds what it was to hold. */
export const HELD_BY_ANOTHER = 'it is held by ';

/** Tells a keeper to have its run looked at now; one that does not know how does nothing. */
export const LOOK_NOW = 'SIGUSR1' satisfies NodeJS.Signals;

/** Not to one that has become the finaliser in the same process: Node would end at the one signal, and listen for a debugger at the other. */
export function tellKeeper(
  table: ProcessTable,
  keeper: ProcessIdentity,
  what: typeof HOLD_MORE | typeof LOOK_NOW,
): void {
  if (isNoFinaliserYet(table, keeper)) signalProven(table, keeper, what);
}

/** By the title that it gives itself, or where that is not shown, by its program. */
export function isNoFinaliserYet(table: ProcessTable, { pid }: Pick<ProcessIdentity, 'pid'>): boolean {
  const reading = table.read(pid);
  return reading.is === 'there' && /^reeve-keeper|perl/.test(reading.fact.name);
}

export function spawnKeeper(order: KeeperOrder): Promise<Keeper> {
  const [program, ...args] = keeperCommand(order);
  const log = typeof order.output === 'string' ? null : openSync(order.output.log, 'a', 0o600);
  const child = spawn(program, args, {
    stdio: stdioOf(log, order.output),
    detached: order.mode !== 'foreground',
    env: order.environment,
  });
  if (log !== null) closeSync(log);
  return new Promise((resolve, reject) => {
    child.once('spawn', () => resolve(keeperOf(child)));
    child.once('error', (error) =>
      reject(
        new ReeveError(
          'keeper_unavailable',
          `The keeper could not be started: ${isTooManyFiles(error) ? TOO_MANY_FILES : error.message}.`,
          { cause: error },
        ),
      ),
    );
  });
}

/** Perl is part of every Debian, Ubuntu, Fedora and macOS; where it is missing, nothing is started. */
export function findPerl(path = process.env['PATH'] ?? '', usual = '/usr/bin'): string {
  const found = [usual, ...path.split(delimiter)]
    .filter((directory) => directory.startsWith('/'))
    .map((directory) => join(directory, 'perl'))
    .find((candidate) => existsSync(candidate));
  if (found !== undefined) return found;
  throw new ReeveError('keeper_unavailable', 'Perl was not found, and the keeper of a run needs it.', {
    hint: 'Install it with the system (for example: apt-get install perl-base), then try again.',
  });
}

function stdioOf(log: number | null, output: HarnessOutput): StdioOptions {
  if (log !== null) return ['ignore', log, log, 'pipe', 'pipe'];
  return ['inherit', output === 'stderr' ? 2 : 'inherit', 'inherit', 'pipe', 'pipe'];
}

function keeperOf(child: ChildProcess): Keeper {
  // Made by the two 'pipe' entries above, which Node gives as duplex streams.
  const [orders, reports] = [child.stdio[3], child.stdio[4]] as [Duplex, Duplex];
  // A keeper that is gone cannot take an order; its missing report says so.
  orders.on('error', () => {});
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  return {
    pid: child.pid ?? 0,
    terminal: {},
    report: readReport(reports),
    exited,
    letGo: (harness) => orders.end(encodeOrder(harness)),
    abandon: () => orders.end(),
    release: () => {
      child.unref();
      for (const stream of [orders, reports]) stream.destroy();
    },
  };
}

export function encodeOrder({ secrets, cwd, hold, announcement, environment, argv }: HarnessOrder): Buffer {
  const lines = (entries: Readonly<Record<string, string>>) =>
    Object.entries(entries).map(([name, value]) => `${name}=${value}`);
  const counted = (words: readonly string[]) => [words.length, ...words];
  const fields = [
    ...counted(lines(secrets)),
    cwd,
    ...counted(hold),
    announcement,
    ...counted(lines(environment)),
    ...counted(argv),
    'go',
  ];
  return bytesOf(fields.join('\0'));
}

async function readReport(reports: Duplex): Promise<KeeperReport> {
  let text = '';
  await new Promise<void>((resolve) => {
    reports.on('data', (chunk) => (text += String(chunk)));
    // Closed by the keeper after its report, by its death, or by `release`: what was read so far is all there is.
    reports.once('error', () => resolve());
    reports.once('close', () => resolve());
    reports.once('end', () => resolve());
  });
  return parseReport(text);
}

export function parseReport(text: string): KeeperReport {
  const [, word, rest = ''] = /^(executing|failed) (.*)$/m.exec(text) ?? [];
  if (word === 'executing') return { is: 'executing', pid: Number(rest) };
  return word === 'failed' ? { is: 'failed', because: rest } : { is: 'silent' };
}
