/** `serve`: the daemon in this terminal, in the background, ended, or looked at. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync, renameSync, statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { ReeveError } from '../../api/errors.ts';
import { age } from '../../api/time-words.ts';
import { readConfig } from '../../supervisor/config.ts';
import { openContext, openMachine } from '../../supervisor/context.ts';
import { checkEnvironment } from '../../supervisor/environment-check.ts';
import type { Machine } from '../../supervisor/context.ts';
import { askDaemon } from '../../supervisor/daemon-client.ts';
import { displaceDaemon, HAND_OVER_LIMIT_MS, stopDaemon } from '../../supervisor/daemon-end.ts';
import { announceHeir, forgetHeir, livingHeirs, ownHeirdom } from '../../supervisor/daemon-heirs.ts';
import {
  alreadyServed,
  daemonPlace,
  findDaemon,
  prepareDaemonPlace,
  requireOwn,
  requirePort,
  summarise,
} from '../../supervisor/daemon-place.ts';
import type { DaemonRecord } from '../../supervisor/daemon-place.ts';
import { loadWholeProgram, ownBuild } from '../../supervisor/own-program.ts';
import { print } from '../output.ts';
import type { OutputOptions } from '../output.ts';
import { inLine } from '../printable.ts';
import { tell } from '../with-reeve.ts';

export interface ServeOptions extends OutputOptions {
  readonly detach?: boolean;
  readonly replace?: boolean;
  readonly port?: number;
}

/** Node and the store are there within a second; a machine that is very busy takes its time. */
const START_LIMIT_MS = 30_000;
const POLL_MS = 25;
/** Room for what lives a moment. Node would take ten times as much, and give none of it back. */
const SMALL = '--max-semi-space-size=2';
/** A log that is longer is put aside when a daemon starts; the one before that is gone. */
const MAX_LOG_BYTES = 4 * 1024 * 1024;

export async function serve(action: string | undefined, options: ServeOptions): Promise<number> {
  const machine = await openMachine();
  if (action === 'status') return status(machine, options);
  if (action === 'stop') return stop(machine, options);
  refuseInside(machine);
  // Before the one that is there is ended, and said here rather than in a log.
  readConfig(machine.environment);
  await checkEnvironment(machine.environment);
  try {
    if (isTakenForAnother(machine)) return OTHER_BUILD;
    if (options.replace === true) await takePlace(machine, options.port);
    return await (options.detach === true ? inBackground(machine, options) : here(machine, options));
  } finally {
    forgetHeir(machine.home, process.pid);
  }
}

/** What a successor exits with that is not of the build that `build.json` promised. Known to the two of them only. */
const OTHER_BUILD = 75;

/**
 * Of an installation that is not complete, which names one build and has another. The daemon of that one would find
 * the same difference, and give way to the next, for ever.
 */
function isTakenForAnother(machine: Machine): boolean {
  const build = ownHeirdom(machine)?.build;
  return build !== undefined && build !== ownBuild().build;
}

async function takePlace(machine: Machine, port: number | undefined): Promise<void> {
  if (port !== undefined) await requirePort(machine, port);
  requireOwn(machine.home);
  if (ownHeirdom(machine) === null) announceHeir(machine, process.pid);
  await tryStoreBesideOther();
  await displaceDaemon(machine);
}

/** In a run it would end with that. */
export function refuseInside({ environment }: Machine): void {
  const run = environment['REEVE_RUN'] ?? '';
  if (run === '') return;
  throw new ReeveError(
    'inside_own_run',
    `This is inside run ${run}, with whose end the daemon would end too.`,
    {
      hint: 'Start it from a terminal outside.',
    },
  );
}

/**
 * A store that the new daemon could not use, perhaps because a newer Reeve has upgraded it, is no reason to end the one
 * that is there. One that waits for that end to be upgraded is.
 */
async function tryStoreBesideOther(): Promise<void> {
  try {
    await tryStore();
  } catch (error) {
    if (!(error instanceof ReeveError && error.code === 'daemon_older')) throw error;
  }
}

/** Whoever starts a daemon hears here that the store was upgraded, or why it cannot be used, and not from a log. */
async function tryStore(): Promise<void> {
  const { store } = await openContext({ tell });
  await store.close();
}

async function here(machine: Machine, options: ServeOptions): Promise<number> {
  const { serve: daemon } = await import('../../daemon/serve.ts');
  loadWholeProgram();
  const leave = new AbortController();
  let successor: Successor | null = null;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(signal, () => {
      // Once this one has left, a signal is meant for whoever it waits for.
      if (leave.signal.aborted) successor?.process.kill(signal);
      leave.abort();
    });
  await daemon({
    port: options.port,
    signal: leave.signal,
    log: (text) => process.stderr.write(`${new Date().toISOString()} ${inLine(text)}\n`),
    ready: (record) => print(options, summarise(record), `reeve serves (pid ${process.pid}). ${WAYS}`),
    handOver: async (build) => {
      successor = startSuccessor(machine, build, options.port);
      const hasLeft = once(leave.signal, 'abort').then(() => 'left' as const);
      const code = await Promise.race([successor.exited, hasLeft]);
      if (code === 'left') return;
      successor = null;
      throw new Error(
        code === OTHER_BUILD
          ? 'the program there is of another build, so it is not installed completely. Install Reeve again.'
          : `it exited with ${code}`,
      );
    },
  });
  return successor === null ? 0 : remain(successor);
}

interface Successor {
  readonly process: ChildProcess;
  readonly exited: Promise<number>;
}

/** What `ps` shows of a daemon in the background, and by what that one knows that nobody waits for it. */
const BACKGROUND = 'reeve-daemon';

/** The program that is on disk now. It ends this one when it has come up. */
function startSuccessor(machine: Machine, build: string, port: number | undefined): Successor {
  const child = spawn(process.execPath, argumentsFor(port, ['--replace']), {
    argv0: process.argv0,
    detached: process.argv0 === BACKGROUND,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const exited = new Promise<number>((resolve) => {
    child.once('error', () => resolve(1));
    child.once('exit', (code) => {
      forgetHeir(machine.home, child.pid ?? 0);
      resolve(code ?? 1);
    });
  });
  // Before this one can be asked to end: whoever ends it then finds that one too.
  announceChild(machine, child, build);
  return { process: child, exited };
}

/** One that could not be announced could not be found by whoever ends the daemon. */
function announceChild(machine: Machine, child: ChildProcess, build?: string): void {
  // It could not be started, which its `error` tells.
  if (child.pid === undefined) return;
  try {
    announceHeir(machine, child.pid, build);
  } catch (error) {
    child.kill();
    throw error;
  }
}

/** Whoever started a daemon in the foreground, a terminal or a service manager, waits for the end of this process. */
async function remain({ process: child, exited }: Successor): Promise<number> {
  if (process.argv0 !== BACKGROUND) return exited;
  child.unref();
  return 0;
}

function argumentsFor(port: number | undefined, more: readonly string[] = []): string[] {
  const given = port === undefined ? [] : ['--port', String(port)];
  return [SMALL, process.argv[1] ?? '', 'serve', ...given, ...more];
}

const WAYS = 'Page: reeve open    End: reeve serve stop';

async function inBackground(machine: Machine, options: ServeOptions): Promise<number> {
  const record = await startDaemon(machine, options.port);
  print(options, summarise(record), `reeve serves in the background (pid ${record.process.pid}). ${WAYS}`);
  return 0;
}

/** Answers once the daemon does. */
export async function startDaemon(machine: Machine, port: number | undefined): Promise<DaemonRecord> {
  // Before anything is written there, as its log.
  requireOwn(machine.home);
  await tryStore();
  const { log } = daemonPlace(machine.home);
  const before = beginLog(machine, log);
  const file = openSync(log, 'a', 0o600);
  const child = spawn(process.execPath, argumentsFor(port), {
    argv0: BACKGROUND,
    detached: true,
    stdio: ['ignore', file, file],
    cwd: '/',
  });
  closeSync(file);
  // It is one already when this command replaces another daemon: that is gone, and this one is not there yet.
  announceChild(machine, child);
  const exited = new Promise<number>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => resolve(code ?? 1));
  });
  const over = new AbortController();
  const answer = await Promise.race([answering(machine, child.pid ?? 0, over.signal), exited]).finally(() => {
    over.abort();
    // One that does not answer must not be waited for either.
    child.unref();
  });
  if (typeof answer !== 'number') return answer;
  forgetHeir(machine.home, child.pid ?? 0);
  const said = readFileSync(log, 'utf8').slice(before).trim();
  const other = findDaemon(machine);
  if (answer === 4 && other.is === 'running') throw alreadyServed(other.record);
  throw new ReeveError(
    'failed',
    `The daemon did not start: ${said.split('\n')[0] || `it exited with ${answer}`}`,
    {
      hint: `Its log: ${log}`,
    },
  );
}

function beginLog({ home }: Machine, log: string): number {
  prepareDaemonPlace(home);
  const size = statSync(log, { throwIfNoEntry: false })?.size ?? 0;
  if (size <= MAX_LOG_BYTES) return size;
  renameSync(log, `${log}.1`);
  return 0;
}

async function answering(machine: Machine, pid: number, signal: AbortSignal): Promise<DaemonRecord> {
  for (let waitedMs = 0; waitedMs < START_LIMIT_MS && !signal.aborted; waitedMs += POLL_MS) {
    const seen = findDaemon(machine);
    if (seen.is === 'running' && seen.record.process.pid === pid) {
      const isThere = await askDaemon(machine, 'GET', '/healthz').then(
        () => true,
        () => false,
      );
      if (isThere) return seen.record;
    }
    await sleep(POLL_MS);
  }
  throw new ReeveError(
    'unproven',
    `The daemon (pid ${pid}) has not answered within ${START_LIMIT_MS / 1000} s.`,
    {
      hint: `Its log: ${daemonPlace(machine.home).log}`,
    },
  );
}

async function stop(machine: Machine, options: ServeOptions): Promise<number> {
  const record = await stopDaemon(machine);
  const text =
    record === null
      ? 'No daemon was running.'
      : `The daemon (pid ${record.process.pid}) is gone; the runs go on.`;
  print(options, { wasRunning: record !== null }, text);
  return 0;
}

async function status(machine: Machine, options: ServeOptions): Promise<number> {
  const { record, health } = await answered(machine);
  const { parts = {} } = health as { parts?: Record<string, { is: string; says: string }> };
  const lines = Object.entries(parts).map(
    ([name, { is, says }]) => `  ${name.padEnd(14)} ${is.padEnd(10)} ${says}`,
  );
  const { pid, version, build, schema, since, url } = summarise(record);
  const program = `version ${version} (build ${build ?? 'unknown'}, schema ${schema ?? 'unknown'})`;
  const head = `pid ${pid}, ${program}, for ${age(Date.parse(since), Date.now())}, at ${url}`;
  print(options, { ...summarise(record), parts }, [head, ...lines].join('\n'));
  return 0;
}

/** During a hand-over nobody answers for a moment, and yet there is somebody. */
async function answered(machine: Machine): Promise<{ record: DaemonRecord; health: unknown }> {
  const untilMs = Date.now() + HAND_OVER_LIMIT_MS;
  for (;;) {
    const [heir] = livingHeirs(machine);
    const before = findDaemon(machine);
    try {
      return { record: requireDaemon(machine), health: await askDaemon(machine, 'GET', '/healthz') };
    } catch (error) {
      const now = findDaemon(machine);
      const isSame =
        now.is === 'none' ||
        (before.is !== 'none' && isDeepStrictEqual(before.record.process, now.record.process));
      if (heir === undefined && isSame) throw error;
      if (Date.now() > untilMs)
        throw new ReeveError(
          'unproven',
          `A daemon (pid ${heir?.process.pid ?? 'unknown'}) takes over, and has not answered within ${HAND_OVER_LIMIT_MS / 1000} s.`,
          { hint: `Its log: ${daemonPlace(machine.home).log}    End it: reeve serve stop`, cause: error },
        );
      await sleep(POLL_MS);
    }
  }
}

function requireDaemon(machine: Machine): DaemonRecord {
  const seen = findDaemon(machine);
  if (seen.is === 'running') return seen.record;
  throw new ReeveError('no_daemon', 'No daemon serves this state directory.', {
    hint: 'Start one: reeve serve --detach',
  });
}
