/**
 * The daemon: comfort, never correctness. It may be killed at any moment, and every promise holds without it: runs have
 * keepers of their own, and what it knows is in the store. It
 *   holds the lock → opens the store → listens → is on record → goes on until it is told to end.
 */
import { chmodSync, readFileSync, rmSync } from 'node:fs';
import type { Server } from 'node:http';
import { createAdaptorServer } from '@hono/node-server';
import { ReeveError } from '../api/errors.ts';
import { openContext } from '../supervisor/context.ts';
import type { Context } from '../supervisor/context.ts';
import {
  becomeDaemon,
  daemonPlace,
  daemonToken,
  findDaemon,
  leaveDaemonPlace,
  lastDaemon,
  recordDaemon,
} from '../supervisor/daemon-place.ts';
import type { DaemonRecord } from '../supervisor/daemon-place.ts';
import { observeLive } from '../supervisor/observe-live.ts';
import { reeveOf } from '../supervisor/reeve.ts';
import { spoolOf } from '../supervisor/reports.ts';
import { openChanges } from './changes.ts';
import type { Changes } from './changes.ts';
import { followEvents } from './follow-events.ts';
import { createHealth } from './health.ts';
import type { Health } from './health.ts';
import { createAccess } from './http/access.ts';
import type { Via } from './http/access.ts';
import { createApp } from './http/app.ts';
import type { App } from './http/operation.ts';
import { startLoop } from './loop.ts';
import type { Loop, Part } from './loop.ts';
import { createMetrics } from './metrics.ts';
import type { Metrics } from './metrics.ts';
import { listenToSpools } from './spools.ts';

/** A death that nobody recorded is found within this; everything else is told at once. */
const SWEEP_EVERY_MS = 5_000;
const RECOUNT_EVERY_MS = 60_000;
/** An idle connection costs little; one that never asks costs that for ever. */
const HEADERS_TIMEOUT_MS = 10_000;
const MAX_CONNECTIONS = 500;
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
}

export async function serve(options: ServeOptions): Promise<void> {
  const context = await openContext();
  try {
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
    if (seen.is !== 'none') {
      const { process: identity, startedAtMs, version, port } = seen.record;
      const since = new Date(startedAtMs).toISOString();
      return new ReeveError(
        'daemon_running',
        `A daemon serves this state directory already: pid ${identity.pid}, version ${version}, since ${since}.`,
        {
          hint: 'Look: reeve serve status    End it: reeve serve stop    Put this one in its place: add --replace',
          details: { pid: identity.pid, version, since, port },
        },
      );
    }
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
  const changes = await openChanges((listener) => context.store.watch(listener));
  atEnd(async () => changes.close());
  let record: DaemonRecord | undefined;
  const app = createApp({
    context,
    reeve: reeveOf({ ...context, actor: `${context.actor} (http)` }),
    changes,
    health,
    metrics,
    access: createAccess(daemonToken(context.home)),
    record: () => record ?? notYet(context),
    log: options.log,
    closing,
  });
  const socket = await listenOnSocket(app, context);
  atEnd(() => closed(socket));
  const { server, port } = await listenOnLoopback(app, context, options.port);
  atEnd(() => closed(server));
  const parts = startParts(context, metrics, health, options.log);
  atEnd(() => parts.close());
  const following = followAll(context, { changes, metrics, health }, parts.loop, closing);
  atEnd(() => following);
  record = recordDaemon(context, port, ownVersion());
  options.ready(record);
}

/** Nobody can ask before it is on record, but for the few milliseconds between listening and that. */
function notYet(context: Context): DaemonRecord {
  throw new ReeveError('busy', `The daemon of ${context.home.path} is starting.`);
}

function startParts(
  context: Context,
  metrics: Metrics,
  health: Health,
  log: (text: string) => void,
): { loop: Loop; close(): Promise<void> } {
  const observer = observeLive({ ...context, actor: 'daemon' });
  const spools = listenToSpools(
    (runId) => spoolOf(context, runId),
    (ids) => observer.lookAgain(ids),
    log,
  );
  const parts: readonly Part[] = [
    {
      name: 'sessions',
      everyMs: SWEEP_EVERY_MS,
      round: async () => {
        const sessions = await observer.sweep();
        metrics.seen(sessions.map(({ status }) => status));
        spools.follow(sessions);
        return `${sessions.length} live`;
      },
    },
    {
      name: 'figures',
      everyMs: RECOUNT_EVERY_MS,
      round: async () => {
        await metrics.recount();
        return 'counted';
      },
    },
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

/** What the daemon itself does with each event. A store that cannot be read for a while is read on from where it was. */
async function followAll(
  context: Context,
  { changes, metrics, health }: { changes: Changes; metrics: Metrics; health: Health },
  loop: Loop,
  signal: AbortSignal,
): Promise<void> {
  let last: number | null = null;
  const read = (range: { after: number; limit: number }) => context.store.events(range);
  while (!signal.aborted) {
    try {
      last ??= await context.store.lastSeq();
      health.report('events', 'good', 'followed');
      for await (const events of followEvents(read, changes, last, signal)) {
        for (const event of events) {
          metrics.take(event, Date.now());
          last = event.seq;
        }
        // Something to listen to that was not there before.
        if (events.some(({ kind }) => kind === 'run.executing')) loop.poke('sessions');
      }
    } catch (error) {
      health.report('events', 'unreadable', error instanceof Error ? error.message : String(error));
      await changes.after(changes.version(), signal);
    }
  }
}

function serverFor(app: App, via: Via): Server {
  const server = createAdaptorServer({
    fetch: (request: Request) => app.fetch(request, { via }),
    serverOptions: { headersTimeout: HEADERS_TIMEOUT_MS, keepAliveTimeout: HEADERS_TIMEOUT_MS },
  }) as Server;
  server.maxConnections = MAX_CONNECTIONS;
  return server;
}

async function listenOnSocket(app: App, { home }: Context): Promise<Server> {
  const { socket } = daemonPlace(home);
  const server = serverFor(app, 'socket');
  // What lies there is a dead one's, for this process holds the lock.
  rmSync(socket, { force: true });
  // The directory is closed to others, and the socket is from its first moment.
  const before = process.umask(0o177);
  try {
    await listening(server, () => server.listen(socket));
  } finally {
    process.umask(before);
  }
  chmodSync(socket, 0o600);
  return server;
}

async function listenOnLoopback(
  app: App,
  context: Context,
  wanted: number | undefined,
): Promise<{ server: Server; port: number }> {
  // The same as last time, so that a page that is open finds it again.
  const candidates = wanted === undefined ? [lastDaemon(context.home)?.port ?? 0, 0] : [wanted];
  for (const [index, candidate] of candidates.entries()) {
    const server = serverFor(app, 'loopback');
    try {
      await listening(server, () => server.listen(candidate, '127.0.0.1'));
      const address = server.address();
      return { server, port: typeof address === 'object' && address !== null ? address.port : candidate };
    } catch (error) {
      if (index < candidates.length - 1) continue;
      throw new ReeveError('failed', `Port ${candidate} of the loopback cannot be had: ${String(error)}.`, {
        hint: 'Choose another with --port, or leave it out.',
        cause: error,
      });
    }
  }
  throw new Error('There is always a candidate.');
}

function listening(server: Server, listen: () => void): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.once('listening', () => {
      server.off('error', reject);
      resolve();
    });
    listen();
  });
}

/** Answers in flight are finished; those that would go on for ever have been told to end. */
function closed(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeIdleConnections();
    setTimeout(() => server.closeAllConnections(), 1_000).unref();
  });
}

function ownVersion(): string {
  // The package's own file, which npm always writes with a version.
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
