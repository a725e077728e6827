import type { Context } from './context.ts';
import { credentialsFrom, fenced } from './run-credentials.ts';
import type { RunCredentials } from './run-credentials.ts';

/**
 * A run says that it is still at work; its id is the answer. Refused, and without effect, for any but its session's
 * current run. Inside a run the credentials are in the environment.
 */
export async function heartbeat(context: Context, given?: RunCredentials): Promise<string> {
  const { run, token } = given ?? credentialsFrom(context);
  const result = await context.store.heartbeat(run, token);
  if (result.accepted) return run;
  throw fenced(run, result);
}
