/**
 * What a living harness does right now, as far as it can be seen from outside: a second opinion to what it reported.
 * A turn that a person interrupts, for one, ends without any report.
 */
import { adapterNamed } from '../harness/adapters.ts';
import type { Adapter, LiveProcess } from '../harness/adapter.ts';
import { COMMAND_LINE } from '../harness/conversation.ts';
import type { Activity } from '../lifecycle/harness-fact.ts';
import type { Run } from '../lifecycle/run.ts';
import type { Session } from '../lifecycle/session.ts';
import { probe } from '../process/liveness.ts';
import type { Context } from './context.ts';
import { holdNamed } from './ownership/hold.ts';
import { liveProcess } from './discovery.ts';
import { isHere } from './reach.ts';
import { troubleOf } from './reconcile.ts';
import type { Reconciled } from './reconcile.ts';

export interface Look {
  readonly session: Session;
  readonly seen: Reconciled;
  readonly activity: Activity | null;
}

/** A look that fails says nothing of what it does; and one session's trouble is no other's. */
export async function lookAt(context: Context, session: Session, seen: Reconciled): Promise<Look> {
  try {
    return await look(context, session, seen);
  } catch (error) {
    const because = seen.because ?? `what it does is not known: ${troubleOf(error)}`;
    return {
      session: withNative(session, seen.run),
      seen: { ...seen, because },
      activity: seen.run.activity,
    };
  }
}

async function look(context: Context, session: Session, seen: Reconciled): Promise<Look> {
  const { run } = seen;
  const nothing = { session: withNative(session, run), seen, activity: run.activity };
  if (run.state !== 'running' || seen.liveness !== 'alive' || session.harness === 'command') return nothing;
  // What is seen is put on record, which only those do who have the rest of it.
  if (!isHere(context, run)) return nothing;
  const adapter = await adapterNamed(session.harness);
  const process = harnessProcess(context, run);
  // What a dead one said last is no longer so; its keeper is about to record its end.
  if (process === null) return isDead(context, run) ? { ...nothing, activity: null } : nothing;
  const known = await identify(context, adapter, run, process);
  const reported = newer(known.activity, adapter.ownRecord(process, known.native?.id ?? null));
  const looked = run.mode === 'tmux' ? await lookAtPane(context, adapter, known, reported) : null;
  const latest = looked?.run ?? known;
  return {
    session: withNative(session, latest),
    seen: { ...seen, run: latest },
    activity: looked?.activity ?? reported,
  };
}

/** What was reported a moment ago may not be on the screen yet. */
const SCREEN_LAG_MS = 1_500;

const FACT_OF = { working: 'work.continued', idle: 'turn.ended' } as const;

/** The screen says otherwise than what was reported: a turn was interrupted, or a question answered. */
async function lookAtPane(
  context: Context,
  adapter: Adapter,
  run: Run,
  reported: Activity | null,
): Promise<{ run: Run; activity: Activity } | null> {
  if (reported !== null && reported.is !== 'unknown' && Date.now() - reported.sinceMs < SCREEN_LAG_MS)
    return null;
  // Loaded only for a session in tmux, for a start is mostly loading.
  const { glanceAt } = await import('./pane.ts');
  const glance = await glanceAt(context, run);
  const shown = glance === null ? null : adapter.readPane(glance.title, glance.screen);
  if (shown === null || shown.is === reported?.is) return null;
  const activity: Activity = { ...shown, sinceMs: Date.now() };
  return { run: await putOnRecord(context, run, activity), activity };
}

/** On record, so that since when it is so is told by the next look too, and those who follow the log hear of it. */
export async function putOnRecord(context: Context, run: Run, activity: Activity): Promise<Run> {
  if (run.native === null) return run;
  const { is, evidence, waitingFor, sinceMs } = activity;
  if (is === 'unknown') return run;
  const kind =
    is === 'needs-input'
      ? ({ kind: 'input.needed', waitingFor: waitingFor ?? 'an answer' } as const)
      : ({ kind: FACT_OF[is] } as const);
  const result = await context.store.observe(
    run.id,
    { ...kind, nativeId: run.native.id, atMs: sinceMs, evidence, isFromHarness: true },
    `seen ${is} ${sinceMs}`,
  );
  return result.is === 'accepted' ? result.run : run;
}

/** The session was read before what its harness reported was taken in. */
function withNative(session: Session, run: Run): Session {
  return run.native?.is === 'bound' ? { ...session, nativeId: run.native.id } : session;
}

function isDead(context: Context, { harness }: Run): boolean {
  return harness !== null && probe(context.table, harness).is === 'dead';
}

export function harnessProcess(context: Context, run: Run): LiveProcess | null {
  if (run.harness === null) return null;
  const reading = context.table.read(run.harness.pid);
  if (reading.is !== 'there' || reading.fact.startTime !== run.harness.startTime) return null;
  return liveProcess(context, reading.fact);
}

/**
 * A harness without hooks tells its conversation by what it holds open. Of Every Code, which has none at all, that also
 * tells whether it is the one that was asked for; its command line only says so again.
 */
async function identify(context: Context, adapter: Adapter, run: Run, process: LiveProcess): Promise<Run> {
  const isUnheard = adapter.name === 'code' && run.native?.is === 'asked';
  if (run.native !== null && !isUnheard) return run;
  const served = adapter.serves(process);
  if (served === null || served.nativeId === null) return run;
  if (isUnheard && served.evidence === COMMAND_LINE) return run;
  const result = await context.store.observe(
    run.id,
    {
      kind: 'session.identified',
      nativeId: served.nativeId,
      atMs: Date.now(),
      evidence: served.evidence,
      isFromHarness: true,
    },
    `identified ${served.nativeId}`,
  );
  if (result.is !== 'accepted') return run;
  holdNamed(context, adapter.name, run, result.run);
  return result.run;
}

function newer(reported: Activity | null, own: Activity | null): Activity | null {
  if (own === null) return reported;
  if (reported !== null && reported.is !== 'unknown' && reported.sinceMs >= own.sinceMs) return reported;
  return own.is === reported?.is ? reported : own;
}
