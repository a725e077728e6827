import { tellStory } from '../lifecycle/story.ts';
import type { Sentence } from '../lifecycle/story.ts';
import type { Session } from '../lifecycle/session.ts';
import type { ChildView } from '../api/session-view.ts';
import type { StoredEvent } from '../store/store.ts';
import { shortCount } from '../api/token-words.ts';
import { childrenOf } from './child-views.ts';
import type { Context } from './context.ts';
import { reconcileAndHear } from './reconcile.ts';
import { takeLateReports } from './reports.ts';
import { resolveSession } from './resolve.ts';

export interface Story {
  readonly session: Pick<Session, 'name'>;
  readonly sentences: readonly Sentence[];
  /** What cannot be said, and why not. */
  readonly doubt: string | null;
}

export async function why(context: Context, reference: string): Promise<Story> {
  const { session, run } = await resolveSession(context, reference);
  await takeLateReports(context);
  const { because } = await reconcileAndHear(context, run);
  const events = await context.store.eventsOf(session.id);
  const told = withCosts(
    tellStory(events, await currencyFor(context, events)),
    events,
    await costsOf(context, session),
  );
  const own = new Set((await context.store.runsOf(session.id)).map(({ id }) => id));
  // What a child started in turn is told in the child's own story.
  const children = (await childrenOf(context, [...own])).filter(({ parent }) => own.has(parent));
  return { session, sentences: withChildren(told, children.flatMap(tellChild)), doubt: because };
}

/** The session's own story keeps its order, whatever time a harness said that something happened. */
function withChildren(told: readonly Sentence[], ofChildren: readonly Sentence[]): readonly Sentence[] {
  if (ofChildren.length === 0) return told;
  return [...told, ...ofChildren].toSorted((one, other) => one.atMs - other.atMs);
}

/** A child's own story is its session's; here it is when it came, how it went, and what it cost. */
function tellChild({ session, parent, tokens, run }: ChildView): Sentence[] {
  const cost = tokens === null ? '' : `, having spent ${shortCount(tokens)} tokens`;
  const began = {
    atMs: Date.parse(run.startedAt),
    runId: parent,
    text: `Run ${parent} started ${session} (run ${run.id}) as its child.`,
  };
  if (run.endedAt === null) return [began];
  const text = `Its child ${session} (run ${run.id}) ended as ${run.outcome}${cost}: ${run.reason}.`;
  return [began, { atMs: Date.parse(run.endedAt), runId: parent, text }];
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

/** What limits are in, as everything else that shows them has it. A story is told whatever is the matter with the file. */
async function currencyFor(
  { environment }: Context,
  events: readonly StoredEvent[],
): Promise<string | undefined> {
  if (!events.some(({ kind }) => kind === 'budget.set')) return undefined;
  const { readConfig } = await import('./config.ts');
  try {
    return readConfig(environment).prices.currency;
  } catch {
    return undefined;
  }
}

/** What a run cost, behind the sentence of its end. */
function withCosts(
  told: readonly Sentence[],
  events: readonly StoredEvent[],
  costs: ReadonlyMap<string, string>,
): readonly Sentence[] {
  return events.flatMap(({ kind, runId }, index) => {
    const sentence = told[index];
    const cost = kind === 'run.ended' ? costs.get(runId ?? '') : undefined;
    if (sentence === undefined) return [];
    return cost === undefined ? [sentence] : [sentence, { ...sentence, text: cost }];
  });
}
