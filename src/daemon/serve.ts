/**
 * The daemon: comfort, never correctness. It may be killed at any moment, and every promise holds without it: runs have
 * keepers of their own, and what it knows is in the store. It
 *   holds the lock → opens the store → listens → is on record → goes on until it is told to end.
 */
import { isDeepStrictEqual } from 'node:util';
import { ReeveError } from '../api/errors.ts';
import { enforceBudgets } from '../supervisor/budgets.ts';
import { openContext } from '../supervisor/context.ts';
import type { Context } from '../supervisor/context.ts';
import {
  alreadyServed,
  becomeDaemon,
  daemonPlace,
  daemonToken,
  findDaemon,
  hasTakenOver,
  lastDaemon,
  leaveDaemonPlace,
  noteLeaving,
  recordDaemon,
  requireOwn,
} from '../supervisor/daemon-place.ts';
import type { DaemonRecord } from '../supervisor/daemon-place.ts';
import { forgetDeadHeirs, forgetHeir } from '../supervisor/daemon-heirs.ts';
import { readConfig } from '../supervisor/config.ts';
import { ledgerFor } from '../supervisor/ledger.ts';
import { observeLive } from '../supervisor/observe-live.ts';
import { ownBuild, programOnDisk } from '../supervisor/own-program.ts';
import type { ProgramOnDisk } from '../supervisor/own-program.ts';
import { keepContinuity } from '../supervisor/ownership/continuity.ts';
import { reeveOf } from '../supervisor/reeve.ts';
import { settleReviews } from '../supervisor/review-settle.ts';
import { spoolIn } from '../supervisor/spool.ts';
import { openChanges } from './changes.ts';
import { follow } from './following.ts';
import type { Follower } from './following.ts';
import { createHealth } from './health.ts';
import type { Health } from './health.ts';
import { createAccess } from './http/access.ts';
import { createApp } from './http/app.ts';
import { openBrowsers } from './http/browsers.ts';
import { closed, listenOnLoopback, listenOnSocket } from './http/listen.ts';
import { startLoop } from './loop.ts';
import type { Loop, Part } from './loop.ts';
import { createMetrics } from './metrics.ts';
import type { Metrics } from './metrics.ts';
import { openNotifier } from './notifications/notifier.ts';
import { openRereadNotifier } from './notifications/reread.ts';
import type { RereadNotifier } from './notifications/reread.ts';
import { describeSession, takeOwn } from './notifications/own-events.ts';
import { listenToSpools } from './spools.ts';

/** A death that nobody recorded is found within this; everything else is told at once. */
const SWEEP_EVERY_MS = 5_000;
/** As soon as anybody could know of it from the ledger, and not much sooner. */
const BUDGETS_EVERY_MS = 7_000;
/** Whoever looks at reviews settles them first; this is for those who only wait to be told. */
const REVIEWS_EVERY_MS = 10_000;
const RECOUNT_EVERY_MS = 60_000;
/** An update that is seen twice is done: it takes a second or two. */
const PROGRAM_EVERY_MS = 3_000;
/** Somebody who has edited it looks whether that helped. A look costs the status of a file and reading it. */
const CONFIG_EVERY_MS = 3_000;
/** What is spent is known so soon; when nothing was written, that takes a look at the status of some files. */
const LEDGER_EVERY_MS = 5_000;
/** From the lock to the record a daemon takes some milliseconds. */
const STARTING_LIMIT_MS = 5_000;
const STARTING_POLL_MS = 25;

export interface ServeOptions {
  /** Of the loopback; any free one, the last one if that can be had, when it is not given. */
  readonly port?: number | undefined;
  readonly log: (text: string) => void;
  /** Called once it answers. */
  readonly ready: (record: DaemonRecord) => void;
  /** Ends it. */
  readonly signal: AbortSignal;
  /** Has the program that is on disk now take over, which ends this one; throws when that did not come up. */
  readonly handOver: (build: string) => Promise<void>;
}

export async function serve(options: ServeOptions): Promise<void> {
  const context = await openContext({ tell: options.log });
  try {
    requireOwn(context.home);
    const release = becomeDaemon(context.home);
    if (release === null) throw await alreadyThere(context);
    try {
      await run(context, options);
    } finally {
      leaveDaemonPlace(context.home);
      release();
    }
  } finally {
    await context.store.close();
  }
}

async function alreadyThere(context: Context): Promise<ReeveError> {
  for (let waitedMs = 0; waitedMs < STARTING_LIMIT_MS; waitedMs += STARTING_POLL_MS) {
    const seen = findDaemon(context);
    if (seen.is !== 'none') return alreadyServed(seen.record);
    await new Promise((resolve) => setTimeout(resolve, STARTING_POLL_MS));
  }
  return new ReeveError(
    'daemon_running',
    'Another daemon holds this state directory and does not say who it is.',
    {
      hint: 'It may be starting or ending right now; try again in a moment.',
    },
  );
}

async function run(context: Context, options: ServeOptions): Promise<void> {
  const closing = new AbortController();
  const open: (() => Promise<void>)[] = [];
  try {
    await begin(context, options, closing.signal, (close) => open.push(close));
    await new Promise<void>((resolve) => {
      if (options.signal.aborted) return resolve();
      options.signal.addEventListener('abort', () => resolve(), { once: true });
    });
  } finally {
    closing.abort();
    noteLeaving(context);
    for (const close of open.toReversed()) await close();
  }
}

async function begin(
  context: Context,
  options: ServeOptions,
  closing: AbortSignal,
  atEnd: (close: () => Promise<void>) => void,
): Promise<void> {
  const health = createHealth();
  const metrics = createMetrics(context);
  const changes = await openChanges(
    (listener) => context.store.watch(listener),
    () => context.store.lastSeq(),
  );
  atEnd(async () => changes.close());
  const latestSeq = await context.store.lastSeq();
  let record: DaemonRecord | undefined;
  const before = lastDaemon(context.home);
  const access = createAccess(daemonToken(context.home), openBrowsers(daemonPlace(context.home).browsers));
  const app = createApp({
    context,
    reeve: reeveOf({ ...context, actor: `${context.actor} (http)` }),
    changes,
    health,
    metrics,
    access,
    record: () => record ?? notYet(context),
    log: options.log,
    closing,
  });
  const socket = await listenOnSocket(app, context);
  atEnd(() => closed(socket));
  const { server, port } = await listenOnLoopback(app, context, options.port);
  // Before the first of those who connect is heard.
  if (!hasTakenOver(context, before, port) && access.signOut() > 0)
    options.log(`page: every browser has to be signed in anew (reeve open); it is at port ${port}`);
  atEnd(() => closed(server));
  const notifier = notifications(context, latestSeq, options);
  health.ask('notifications', () => {
    const { is, says } = notifier.health();
    return { is: is === 'failing' ? 'broken' : is, says };
  });
  atEnd(() => notifier.close());
  const parts = startParts(context, { metrics, health, notifier }, options);
  atEnd(() => parts.close());
  const followers: readonly Follower[] = [
    {
      name: 'events',
      from: latestSeq,
      take: (event) => {
        metrics.take(event, Date.now());
        // Something to listen to that was not there before, or that is not live any more and must not be counted so.
        if (event.kind === 'run.executing' || event.kind === 'run.ended') parts.loop.poke('sessions');
        // Nobody writes its transcript any more.
        if (event.kind === 'run.ended') parts.loop.poke('ledger');
        // Perhaps a reviewer, that left something undone.
        if (event.kind === 'run.ended') parts.loop.poke('reviews');
      },
    },
    {
      name: 'notices',
      from: notifier.lastSeq() ?? latestSeq,
      take: (event) => takeOwn(context, notifier, event),
    },
  ];
  const following = followers.map((each) => follow(context, { changes, health }, each, closing));
  atEnd(async () => void (await Promise.all(following)));
  record = recordDaemon(context, port);
  forgetHeir(context.home, process.pid);
  forgetDeadHeirs(context);
  options.ready(record);
}

/** Nobody can ask before it is on record, but for the few milliseconds between listening and that. */
function notYet(context: Context): DaemonRecord {
  throw new ReeveError('busy', `The daemon of ${context.home.path} is starting.`);
}

function startParts(
  context: Context,
  { metrics, health, notifier }: { metrics: Metrics; health: Health; notifier: RereadNotifier },
  { log, handOver }: Pick<ServeOptions, 'log' | 'handOver'>,
): { loop: Loop; close(): Promise<void> } {
  const observer = observeLive({ ...context, actor: 'daemon' });
  const ledger = ledgerFor({ ...context, actor: 'daemon' }, (problem) => log(`ledger: ${problem}`));
  const spools = listenToSpools(
    (runId) => spoolIn(context.home, runId),
    (ids) => observer.lookAgain(ids),
    log,
  );
  const parts: readonly Part[] = [
    {
      name: 'sessions',
      everyMs: SWEEP_EVERY_MS,
      round: async () => {
        // A shared store may have been replaced behind a pool that goes on: what lives here is announced to it.
        if (context.store.engine === 'postgres') await keepContinuity(context);
        const sessions = await observer.sweep();
        metrics.seen(sessions.map(({ status }) => status));
        spools.follow(sessions);
        return `${sessions.length} live`;
      },
    },
    {
      name: 'ledger',
      everyMs: LEDGER_EVERY_MS,
      round: async () => {
        const { sessions, problems } = await ledger.round();
        return `${sessions} read, ${problems.length} unreadable`;
      },
    },
    {
      name: 'budgets',
      everyMs: BUDGETS_EVERY_MS,
      round: async () => {
        const { budgeted, ended, problem } = await enforceBudgets(context);
        // What is on record with sessions was enforced; what the configuration says was not.
        if (problem !== null) throw new Error(problem);
        return `${budgeted} budgeted, ${ended} over`;
      },
    },
    {
      name: 'reviews',
      everyMs: REVIEWS_EVERY_MS,
      round: async () => `${await settleReviews({ ...context, actor: 'daemon' })} settled`,
    },
    {
      name: 'figures',
      everyMs: RECOUNT_EVERY_MS,
      round: async () => {
        await metrics.recount();
        return 'counted';
      },
    },
    { name: 'configuration', everyMs: CONFIG_EVERY_MS, round: () => notifier.reread() },
    { name: 'program', everyMs: PROGRAM_EVERY_MS, round: watchProgram(handOver, log) },
  ];
  const loop = startLoop(parts, health, log);
  return {
    loop,
    async close() {
      spools.close();
      await loop.close();
    },
  };
}

/**
 * After an update this daemon goes on as it was, and starts nothing more: it gives way to the one on disk. One that does
 * not come up, or is not of the build that it was taken for, is not tried again, and this one says so for as long as it is there.
 */
function watchProgram(
  handOver: ServeOptions['handOver'],
  log: (text: string) => void,
): () => Promise<string> {
  const { build: own } = ownBuild();
  let seen: ProgramOnDisk = { is: 'own' };
  let failure: unknown;
  return async () => {
    const before = seen;
    seen = programOnDisk();
    if (!isDeepStrictEqual(before, seen)) failure = undefined;
    if (seen.is === 'own') return `build ${own}`;
    const isNews = !isDeepStrictEqual(before, seen);
    if (seen.is === 'gone') {
      // An update has it away for a moment.
      if (isNews) return `build ${own}, which is not on disk right now`;
      throw new Error(`The program on disk is gone: this daemon, of build ${own}, starts nothing more.`);
    }
    const other = seen.build;
    if (isNews) return `build ${other} is being installed`;
    if (failure === undefined) {
      log(`program: build ${other} is on disk and takes over`);
      try {
        await handOver(other);
        return `build ${other} has taken over`;
      } catch (error) {
        failure = error;
      }
    }
    const because = failure instanceof Error ? failure.message : String(failure);
    throw new Error(`Build ${other} is on disk, but could not take over from this one: ${because}`);
  };
}

/** Tells people about what happened on this machine; the daemons of other hosts tell about theirs. */
function notifications(context: Context, latestSeq: number, { log }: ServeOptions): RereadNotifier {
  const own = {
    directory: daemonPlace(context.home).notifications,
    environment: context.environment,
    log,
    describe: (about: Parameters<typeof describeSession>[1]) => describeSession(context, about),
  };
  return openRereadNotifier(
    () => readConfig(context.environment).notify,
    (settings, how) => openNotifier({ ...own, settings, ...(how === 'first' ? { latestSeq } : {}) }),
  );
}
