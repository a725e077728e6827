import type { RunView, SessionView } from '../api/session-view.ts';
import type { Context } from './context.ts';
import { reconcileAll, reconcileRun } from './reconcile.ts';
import { resolveSession } from './resolve.ts';
import { viewRun, viewSession } from './view.ts';

/** Enough to see what happened lately; the cost of a list must not grow with history. */
const RECENT_SESSIONS = 50;

export type Range = 'live' | 'recent' | 'all';

/** Live ones first, then the ended, latest first. */
export async function list(context: Context, range: Range): Promise<readonly SessionView[]> {
  const limit = { live: 0, recent: RECENT_SESSIONS, all: Number.MAX_SAFE_INTEGER }[range];
  const { live, ended } = await context.store.overview(limit);
  const seen = await reconcileAll(context, live);
  const views = live.flatMap(({ session }, index) => {
    const reconciled = seen[index];
    return reconciled === undefined ? [] : [viewSession(session, reconciled)];
  });
  return [
    ...views.filter(({ run }) => run.state !== 'ended'),
    // Ended by this very look: the latest of all.
    ...(range === 'live' ? [] : views.filter(({ run }) => run.state === 'ended')),
    ...ended.map(({ session, run }) => viewSession(session, { run, liveness: 'dead', because: null })),
  ];
}

export interface SessionDetail extends SessionView {
  /** Every run of it, the latest last. */
  readonly runs: readonly RunView[];
  /** Why nothing could be proven about the current run, when nothing could. */
  readonly doubt: string | null;
}

export async function show(context: Context, reference: string): Promise<SessionDetail> {
  const { session, run } = await resolveSession(context, reference);
  const seen = await reconcileRun(context, run);
  const runs = await context.store.runsOf(session.id);
  return {
    ...viewSession(session, seen),
    runs: runs.map((each) =>
      each.id === seen.run.id ? viewRun(seen.run, seen.liveness) : viewRun(each, 'dead'),
    ),
    doubt: seen.because,
  };
}
