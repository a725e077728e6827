/**
 * What Prometheus is told. What is in the store is read from there when it is asked for, so that it is the same after a
 * restart; how long things took is what this daemon has seen. Names of statuses and outcomes only: nothing of a session.
 */
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { TOKEN_KINDS } from '../lifecycle/usage.ts';
import type { Context } from '../supervisor/context.ts';
import type { StoredEvent } from '../supervisor/events.ts';
import { statusOfOutcome } from '../supervisor/view.ts';

export interface Metrics {
  /** Every event that was written, in order. */
  take(event: StoredEvent, nowMs: number): void;
  /** What the loop saw of the live sessions. */
  seen(statuses: readonly string[]): void;
  /** How many sessions are on record that are not live. */
  endedSessions(): number;
  /** Reads from the store how many there are. */
  recount(): Promise<void>;
  text(): Promise<string>;
  readonly contentType: string;
}

/** From what a process needs to end by itself to what the longest graces are. */
const ENDING_SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 60, 300];
const LAG_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5];
/** Of those that are told to end and never do, the first so many are waited for. */
const MAX_PENDING = 10_000;

export function createMetrics(context: Context): Metrics {
  const registry = new Registry();
  const registers = [registry];
  const stored = storedFigures(registers);
  const won = new Counter({ name: 'reeve_claims_won_total', help: 'Claims that were won.', registers });
  const lag = new Histogram({
    name: 'reeve_event_lag_seconds',
    help: 'From the writing of an event to its being seen.',
    buckets: LAG_SECONDS,
    registers,
  });
  const timed = endingTimes(registers);
  let statuses: readonly string[] = [];
  let ended = 0;
  const recount = async () => {
    const found = await context.store.figures();
    const all = Object.values(found.sessions).reduce((sum, count) => sum + count, 0);
    ended = all - (found.sessions['live'] ?? 0);
    stored.set(found, statuses);
  };
  return {
    take(event, nowMs) {
      lag.observe(Math.max(0, nowMs - event.atMs) / 1000);
      timed(event);
      if (event.kind === 'run.claimed') won.inc();
      ended += endedBy(event);
    },
    seen: (now) => (statuses = now),
    endedSessions: () => ended,
    recount,
    async text() {
      await recount();
      return registry.metrics();
    },
    contentType: registry.contentType,
  };
}

/** By how many the ended sessions grew: one that is claimed again lives again. */
function endedBy({ kind, data }: StoredEvent): number {
  if (kind === 'run.ended') return 1;
  return kind === 'session.removed' || (kind === 'run.claimed' && data['epoch'] !== 1) ? -1 : 0;
}

const KIND_LABELS = {
  input: 'input',
  output: 'output',
  cacheRead: 'cache_read',
  cacheWrite: 'cache_write',
  reasoning: 'reasoning',
} as const;

type Figures = Awaited<ReturnType<Context['store']['figures']>>;

function storedFigures(registers: Registry[]): { set(found: Figures, live: readonly string[]): void } {
  const gauge = (name: string, help: string, label: string) =>
    new Gauge({ name, help, labelNames: [label], registers });
  const sessions = gauge('reeve_sessions', 'Sessions by status.', 'status');
  const runs = gauge('reeve_runs', 'Runs on record by outcome; live ones have none yet.', 'outcome');
  const counters = {
    claims_lost: new Counter({
      name: 'reeve_claims_lost_total',
      help: 'Starts that were refused because of a live owner.',
      registers,
    }),
    writes_fenced: new Counter({
      name: 'reeve_writes_fenced_total',
      help: 'Writes and reports of runs that were not to make them.',
      registers,
    }),
  };
  const tokens = new Counter({
    name: 'reeve_tokens_total',
    help: 'Tokens spent, as transcripts tell it; reasoning is a part of the output.',
    labelNames: ['kind', 'harness'],
    registers,
  });
  return {
    set(found, live) {
      tokens.reset();
      for (const [harness, spent] of Object.entries(found.tokens)) {
        for (const kind of TOKEN_KINDS) tokens.inc({ kind: KIND_LABELS[kind], harness }, spent[kind]);
      }
      sessions.reset();
      for (const [outcome, count] of Object.entries(found.sessions)) {
        if (outcome !== 'live') sessions.inc({ status: statusOfOutcome(outcome) }, count);
      }
      for (const status of live) sessions.inc({ status });
      runs.reset();
      for (const [outcome, count] of Object.entries(found.runs)) runs.set({ outcome }, count);
      for (const name of ['claims_lost', 'writes_fenced'] as const) {
        counters[name].reset();
        counters[name].inc(found.counters[name]);
      }
    },
  };
}

/** How long it took from the intent to the proven end. */
function endingTimes(registers: Registry[]): (event: StoredEvent) => void {
  const times = (name: string, help: string) =>
    new Histogram({ name, help, buckets: ENDING_SECONDS, registers });
  const histograms = {
    superseded: times('reeve_takeover_seconds', 'From the intent to take over to the proven end.'),
    stopped: times('reeve_stop_seconds', 'From the intent to stop to the proven end.'),
  };
  const intendedAtMs = new Map<string, number>();
  return ({ kind, runId, atMs, data }) => {
    if (runId === null) return;
    if (kind === 'run.intended' && intendedAtMs.size < MAX_PENDING) intendedAtMs.set(runId, atMs);
    if (kind === 'run.withdrawn' && data['next'] === null) intendedAtMs.delete(runId);
    if (kind !== 'run.ended') return;
    const sinceMs = intendedAtMs.get(runId);
    intendedAtMs.delete(runId);
    const { outcome } = data;
    if (sinceMs !== undefined && (outcome === 'superseded' || outcome === 'stopped'))
      histograms[outcome].observe((atMs - sinceMs) / 1000);
  };
}
