import { tellStory } from '../lifecycle/story.ts';
import type { Sentence } from '../lifecycle/story.ts';
import type { Session } from '../lifecycle/session.ts';
import type { Context } from './context.ts';
import { reconcileRun } from './reconcile.ts';
import { takeLateReports, takeReports } from './reports.ts';
import { resolveSession } from './resolve.ts';

export interface Story {
  readonly session: Session;
  readonly sentences: readonly Sentence[];
  /** What cannot be said, and why not. */
  readonly doubt: string | null;
}

export async function why(context: Context, reference: string): Promise<Story> {
  const { session, run } = await resolveSession(context, reference);
  await takeLateReports(context);
  const { because } = await reconcileRun(context, await takeReports(context, run));
  const events = await context.store.eventsOf(session.id);
  return { session, sentences: tellStory(events), doubt: because };
}
