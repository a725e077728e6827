import { tellStory } from '../lifecycle/story.ts';
import type { Sentence } from '../lifecycle/story.ts';
import type { Session } from '../lifecycle/session.ts';
import type { StoredEvent } from '../store/store.ts';
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
  const sentences = withCosts(events, await costsOf(context, session));
  return { session, sentences, doubt: because };
}

/** The story is told whatever is the matter with the ledger. */
async function costsOf(context: Context, session: Session): Promise<ReadonlyMap<string, string>> {
  const { spentByRuns } = await import('./spent.ts');
  try {
    return await spentByRuns(context, session);
  } catch {
    return new Map();
  }
}

/** What a run cost, behind the sentence of its end. */
function withCosts(events: readonly StoredEvent[], costs: ReadonlyMap<string, string>): readonly Sentence[] {
  const told = tellStory(events);
  return events.flatMap(({ kind, runId }, index) => {
    const sentence = told[index];
    const cost = kind === 'run.ended' ? costs.get(runId ?? '') : undefined;
    if (sentence === undefined) return [];
    return cost === undefined ? [sentence] : [sentence, { ...sentence, text: cost }];
  });
}
