/** Whose child a run becomes: that of the run inside which it is started, as that run's token in the environment proves. */
import { ReeveError } from '../api/errors.ts';
import { DEFAULT_TERMS, MAX_CHILD_DEPTH } from '../lifecycle/child.ts';
import type { ChildTerms } from '../lifecycle/child.ts';
import { TOKEN_VARIABLE } from '../process/environment.ts';
import { RUN_MARK } from '../process/tree.ts';
import type { ClaimRequest, ClaimResult } from '../store/store.ts';
import type { Context } from './context.ts';

type Parent = NonNullable<ClaimRequest['parent']>;

/** On which terms it is a child. `isRequired`: it is nothing else, so outside of any run it is refused. */
export interface ChildRequest extends Partial<ChildTerms> {
  readonly isRequired?: boolean;
  /** Who the parent is, where that is not told by the environment. */
  readonly of?: { readonly run: string; readonly token: Parent['token'] };
}

/** Null outside of any run, and inside one of another state directory, which is none of this store's business. */
export async function parentFor(
  context: Context,
  { isRequired = false, of, ...terms }: ChildRequest = {},
): Promise<Parent | null> {
  const { environment } = context;
  const { run: runId, token } = of ?? {
    run: environment[RUN_MARK] ?? '',
    token: environment[TOKEN_VARIABLE] ?? '',
  };
  if (runId === '' || token === '' || (await context.store.run(runId)) === null) {
    if (isRequired) throw outside(runId);
    return null;
  }
  const depth = (await context.store.ancestorsOf(runId)).length + 1;
  if (depth > MAX_CHILD_DEPTH) {
    throw new ReeveError('usage', `Run ${runId} is ${depth - 1} runs deep already, so it may start none.`, {
      hint: 'An agent that starts an agent that starts an agent is more likely a loop than a plan.',
    });
  }
  return { ...DEFAULT_TERMS, ...terms, runId, token };
}

function outside(runId: string): ReeveError {
  const why =
    runId === ''
      ? `${RUN_MARK} and ${TOKEN_VARIABLE} are not set, so this is not inside a run`
      : `run ${runId} is not known here, or its ${TOKEN_VARIABLE} is not set`;
  return new ReeveError('usage', `A child has a parent: ${why}.`, {
    hint: 'Start it from inside what `reeve run` started, or as a session of its own with `reeve run`.',
  });
}

/** A process of a run that is over, or is being ended, starts nothing any more: it is what a take-over ends. */
export async function refuseChild(
  context: Context,
  { run, why }: Extract<ClaimResult, { because: 'parent_over' }>,
): Promise<never> {
  const event = { sessionId: run.sessionId, runId: run.id, kind: 'write.fenced', actor: `run ${run.id}` };
  const current = (await context.store.sessionsOf([run.sessionId]))[0]?.run.id ?? run.id;
  await context.store.count('writes_fenced');
  await context.store.note({ ...event, data: { write: 'start', because: why, current } }, 'once');
  throw new ReeveError('fenced', `Run ${run.id} may start nothing: ${why}.`, {
    hint: `Nothing was started. If this is no longer part of that run: unset ${RUN_MARK} ${TOKEN_VARIABLE}`,
    details: { run: run.id, current },
  });
}
