/**
 * Keeps the sessions current: loads all, then follows the daemon's events from exactly there on. An event only tells
 * whose session changed; what it is now is asked for, a batch at a time, one request at a time, so that an older answer
 * never comes after a newer one.
 */
import type { EventView, OverviewView } from '../../../src/api/http-views.ts';
import { DAEMON_PATH, overviewPath, sessionsPath } from '../api/paths.ts';
import type { Range } from '../api/paths.ts';
import { failureOf, get } from '../api/request.ts';
import type { RequestFailure } from '../api/request.ts';
import { connection, markLive, markLost, markRefused } from './connection.ts';
import type { EventStream } from './event-stream.ts';
import { openSharedStream } from './shared-stream.ts';
import { isVisible } from './visible.ts';
import { liveIds, merge, overviewState, replaceAll } from './sessions.ts';

/** Events come in bursts: a start alone is three. */
const GATHER_MS = 100;
/** Memory and liveness change without an event. */
const REFRESH_MS = 15_000;
const RETRY_MS = 2_000;
/** Somebody who only looks into another tab finds this one as it was. */
const LEAVE_MS = 5_000;
/** So that the address stays well below what servers take. */
const MAX_IDS = 100;

/** Events come from the feed as they are heard, each once. */
type EventListener = (event: EventView) => void;
type SessionListener = (sessionIds: ReadonlySet<string> | 'all') => void;

const listeners = new Set<SessionListener>();
const eventListeners = new Set<EventListener>();
const pending = new Set<string>();
let range: Range = 'recent';
let stream: EventStream | null = null;
let gathering: ReturnType<typeof setTimeout> | undefined;
let leaving: ReturnType<typeof setTimeout> | undefined;
let isPaused = false;
/** Requests that change the sessions, one behind the other. */
let queue: Promise<void> = Promise.resolve();

export function startFeed(): void {
  void loadOverview();
  setInterval(refresh, REFRESH_MS);
  isVisible.subscribe((isSeen) => {
    clearTimeout(leaving);
    if (!isSeen) leaving = setTimeout(pause, LEAVE_MS);
    else if (isPaused) resume();
  });
}

/** Returns why it failed, if it did; what was known before then stays. */
export async function loadOverview(wanted: Range = range): Promise<RequestFailure | null> {
  let failure: RequestFailure | null = null;
  await inTurn(async () => {
    try {
      const overview = await get<OverviewView>(overviewPath(wanted));
      range = wanted;
      replaceAll(overview);
      overviewState.value = { is: 'ready' };
      stream ??= openSharedStream(overview.seq, { opened, heard, broke });
      if (connection.value.is === 'refused') stream.reopen();
    } catch (error) {
      failure = failureOf(error);
      if (failure.isUnauthorised) markRefused();
      if (overviewState.value.is === 'ready') return;
      overviewState.value = { is: 'failed', failure };
      if (failure.isUnreachable) setTimeout(() => void loadOverview(), RETRY_MS);
    }
  });
  return failure;
}

/** Somebody does not want to wait. */
export function connectNow(): void {
  if (stream === null) void loadOverview();
  else stream.reopen();
}

/** Called with the ids of sessions of which events came, or `all` when anything may have changed. */
export function onSessionsChanged(listener: SessionListener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function onEvent(listener: EventListener): () => void {
  eventListeners.add(listener);
  return () => eventListeners.delete(listener);
}

function opened(): void {
  const wasLost = connection.value.is === 'lost' || connection.value.is === 'refused';
  markLive();
  if (!wasLost) return;
  void inTurn(refreshLive);
  tell('all');
}

function heard(event: EventView): void {
  for (const listener of eventListeners) listener(event);
  pending.add(event.sessionId);
  gathering ??= setTimeout(takePending, GATHER_MS);
}

/** A stream does not say why it broke; a plain request does. */
async function broke(): Promise<'again' | 'give up'> {
  markLost();
  try {
    await get(DAEMON_PATH);
  } catch (error) {
    if (failureOf(error).isUnauthorised) {
      markRefused();
      return 'give up';
    }
  }
  return 'again';
}

function takePending(): void {
  gathering = undefined;
  const ids = [...pending].slice(0, MAX_IDS);
  for (const id of ids) pending.delete(id);
  if (pending.size > 0) gathering = setTimeout(takePending, 0);
  tell(new Set(ids));
  void inTurn(async () => {
    try {
      merge(ids, (await get<OverviewView>(sessionsPath(ids))).sessions);
    } catch {
      // The connection's own state tells people; what was not learnt is asked again.
      for (const id of ids) pending.add(id);
      gathering ??= setTimeout(takePending, RETRY_MS);
    }
  });
}

/** In the background too, where the title tells how many need somebody; but then nothing else is asked. */
function refresh(): void {
  if (connection.value.is !== 'live') return;
  void inTurn(refreshLive);
  if (isVisible.value) tell('all');
}

function pause(): void {
  isPaused = true;
  stream?.pause();
}

function resume(): void {
  isPaused = false;
  stream?.reopen();
  refresh();
}

async function refreshLive(): Promise<void> {
  try {
    const { sessions } = await get<OverviewView>(overviewPath('live'));
    const found = new Set(sessions.map(({ id }) => id));
    merge([], sessions);
    const gone = liveIds().filter((id) => !found.has(id));
    if (gone.length > 0) {
      const asked = gone.slice(0, MAX_IDS);
      merge(asked, (await get<OverviewView>(sessionsPath(asked))).sessions);
    }
  } catch (error) {
    // A stream whose other end vanished without a word stays open for minutes; this is how it is noticed.
    if (failureOf(error).isUnreachable) {
      markLost();
      if (!isPaused) stream?.reopen();
    }
  }
}

function tell(changed: ReadonlySet<string> | 'all'): void {
  for (const listener of listeners) listener(changed);
}

function inTurn(task: () => Promise<void>): Promise<void> {
  queue = queue.then(task, task);
  return queue;
}
