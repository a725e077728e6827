import type { ChildView, RunView, SessionView } from '../api/session-view.ts';
import { lookAt } from './activity.ts';
import type { SessionWithRun } from '../store/store.ts';
import { childrenOf } from './child-views.ts';
import type { Context } from './context.ts';
import { muteOf } from './mute.ts';
import { reconcileAll, reconcileAndHear } from './reconcile.ts';
import { takeLateReports } from './reports.ts';
import { resolveSession } from './resolve.ts';
import { isoTime, viewRun, viewSeen, viewSession } from './view.ts';

/** Enough to see what happened lately; the cost of a list must not grow with history. */
const RECENT_SESSIONS = 50;

export type Range = 'live' | 'recent' | 'all';

/** Live ones first, then the ended, latest first. */
export async function list(context: Context, range: Range): Promise<readonly SessionView[]> {
  const limit = { live: 0, recent: RECENT_SESSIONS, all: Number.MAX_SAFE_INTEGER }[range];
  const readAtMs = Date.now();
  const { live, ended } = await context.store.overview(limit);
  const views = await lookAtAll(context, live, readAtMs);
  return [
    ...views.filter(({ run }) => run.state !== 'ended'),
    // Ended by this very look: the latest of all.
    ...(range === 'live' ? [] : views.filter(({ run }) => run.state === 'ended')),
    ...ended.map(viewEnded),
  ];
}

/** Those of these ids that there are; a daemon that knows what has changed asks for that alone. */
export async function listOf(context: Context, ids: readonly string[]): Promise<readonly SessionView[]> {
  const readAtMs = Date.now();
  const found = await context.store.sessionsOf(ids);
  const live = await lookAtAll(
    context,
    found.filter(({ run }) => run.state !== 'ended'),
    readAtMs,
  );
  return [...live, ...found.filter(({ run }) => run.state === 'ended').map(viewEnded)];
}

async function lookAtAll(
  context: Context,
  live: readonly SessionWithRun[],
  readAtMs: number,
): Promise<readonly SessionView[]> {
  await takeLateReports(context);
  const seen = await reconcileAll(context, live, readAtMs);
  const looks = await Promise.all(
    live.map(async ({ session }, index) => {
      const reconciled = seen[index];
      return reconciled === undefined ? null : lookAt(context, session, reconciled);
    }),
  );
  return looks.flatMap((look) =>
    look === null ? [] : [viewSession(look.session, look.seen, look.activity)],
  );
}

function viewEnded({ session, run }: SessionWithRun): SessionView {
  return viewSession(session, { run, liveness: 'dead', because: null });
}

export interface SessionDetail extends SessionView {
  /** Every run of it, the latest last. */
  readonly runs: readonly RunView[];
  /** What they started, and what those started in turn, the earliest first. */
  readonly children: readonly ChildView[];
  /** Why nothing could be proven about the current run, when nothing could. */
  readonly doubt: string | null;
  /** Whether its notifications are muted, and until when; null when they are not. */
  readonly mute: { readonly until: string | null } | null;
}

export async function show(context: Context, reference: string): Promise<SessionDetail> {
  const found = await resolveSession(context, reference);
  await takeLateReports(context);
  const { session, seen, activity } = await lookAt(
    context,
    found.session,
    await reconcileAndHear(context, found.run),
  );
  const runs = await context.store.runsOf(session.id);
  const mute = await muteOf(context, session.id);
  return {
    ...viewSession(session, seen, activity),
    runs: runs.map((each) => (each.id === seen.run.id ? viewSeen(seen) : viewRun(each, 'dead'))),
    children: await childrenOf(
      context,
      runs.map(({ id }) => id),
    ),
    doubt: seen.because,
    mute: mute === null ? null : { until: mute.untilMs === null ? null : isoTime(mute.untilMs) },
  };
}
