/**
 * What a daemon does about live sessions, again and again: reconcile them, take in what their harnesses reported, look
 * where a second look costs something only when there is something new to see, and put on record what it saw.
 */
import { statSync } from 'node:fs';
import type { SessionView } from '../api/session-view.ts';
import type { SessionWithRun } from '../store/store.ts';
import { lookAt, putOnRecord } from './activity.ts';
import type { Look } from './activity.ts';
import type { Context } from './context.ts';
import { reconcileAll } from './reconcile.ts';
import type { Reconciled } from './reconcile.ts';
import { takeLateReports } from './reports.ts';
import { viewSession } from './view.ts';

export interface LiveObserver {
  /** Looks at all of them, and says what it saw. */
  sweep(): Promise<readonly SessionView[]>;
  /** The same for a few of which something is known to have changed. */
  lookAgain(sessionIds: readonly string[]): Promise<void>;
}

export function observeLive(context: Context): LiveObserver {
  /** How much each session in tmux had written when its screen was last looked at: without more, it shows the same. */
  const written = new Map<string, string>();

  const observe = async ({ session }: SessionWithRun, seen: Reconciled): Promise<SessionView> => {
    const { run } = seen;
    if (run.mode === 'tmux') {
      const sign = outputSign(run.logPath);
      if (written.get(run.id) === sign) return viewSession(session, seen);
      written.set(run.id, sign);
    }
    const look = await lookAt(context, session, seen);
    await record(context, look);
    return viewSession(look.session, look.seen, look.activity);
  };
  const observeAll = async (
    live: readonly SessionWithRun[],
    readAtMs: number,
  ): Promise<readonly SessionView[]> => {
    const seen = await reconcileAll(context, live, readAtMs);
    const views: SessionView[] = [];
    for (const [index, each] of live.entries()) {
      const reconciled = seen[index];
      if (reconciled !== undefined) views.push(await observe(each, reconciled));
    }
    return views;
  };
  return {
    async sweep() {
      await takeLateReports(context);
      const readAtMs = Date.now();
      const live = await context.store.live();
      const ids = new Set(live.map(({ run }) => run.id));
      for (const id of written.keys()) if (!ids.has(id)) written.delete(id);
      return (await observeAll(live, readAtMs)).filter(({ run }) => run.state !== 'ended');
    },
    async lookAgain(sessionIds) {
      const readAtMs = Date.now();
      const found = await context.store.sessionsOf(sessionIds);
      await observeAll(
        found.filter(({ run }) => run.state !== 'ended'),
        readAtMs,
      );
    },
  };
}

async function record(context: Context, { seen: { run }, activity }: Look): Promise<void> {
  if (run.state !== 'running' || activity === null || activity.is === run.activity?.is) return;
  await putOnRecord(context, run, activity);
}

function outputSign(logPath: string | null): string {
  const status = logPath === null ? undefined : statSync(logPath, { throwIfNoEntry: false });
  return status === undefined ? '' : `${status.size} ${status.mtimeMs}`;
}
