import type { Context } from './context.ts';
import { credentialsFrom, fenced } from './run-credentials.ts';
import type { RunCredentials } from './run-credentials.ts';

export interface Heartbeat {
  readonly accepted: true;
  readonly run: string;
}

/**
 * A run says that it is still at work. Refused, and without effect, for any but its session's current run. Inside a run
 * the credentials are in the environment.
 */
export async function heartbeat(context: Context, given?: RunCredentials): Promise<Heartbeat> {
  const { run, token, isStillLeft } = given ?? credentialsFrom(context);
  const result = await context.store.heartbeat(run, token, isStillLeft);
  if (result.accepted) return { accepted: true, run };
  throw fenced(run, result);
}
