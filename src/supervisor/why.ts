import { tellStory } from '../lifecycle/story.ts';
import type { Sentence } from '../lifecycle/story.ts';
import type { Session } from '../lifecycle/session.ts';
import type { ChildView } from '../api/session-view.ts';
import { childrenOf } from './child-views.ts';
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
  const runs = await context.store.runsOf(session.id);
  const children = await childrenOf(
    context,
    runs.map(({ id }) => id),
  );
  const sentences = [...tellStory(events), ...children.flatMap(tellChild)].toSorted(
    (one, other) => one.atMs - other.atMs,
  );
  return { session, sentences, doubt: because };
}

/** A child's own story is its session's; here it is when it came, how it went, and what it cost. */
function tellChild({ session, parent, tokens, run }: ChildView): Sentence[] {
  const cost = tokens === null ? '' : `, having spent ${tokens} tokens`;
  const began = {
    atMs: Date.parse(run.startedAt),
    runId: parent,
    text: `Run ${parent} started ${session} (run ${run.id}) as its child.`,
  };
  if (run.endedAt === null) return [began];
  const text = `Its child ${session} (run ${run.id}) ended as ${run.outcome}${cost}: ${run.reason}.`;
  return [began, { atMs: Date.parse(run.endedAt), runId: parent, text }];
}
