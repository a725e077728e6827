import { ReeveError } from '../api/errors.ts';
import { TOKEN_VARIABLE } from '../process/environment.ts';
import { RUN_MARK } from '../process/tree.ts';
import type { Context } from './context.ts';

export interface RunCredentials {
  readonly run: string;
  readonly token: string;
}

/**
 * A run says that it is still at work; its id is the answer. Refused, and without effect, for any but its session's
 * current run. Inside a run the credentials are in the environment.
 */
export async function heartbeat(context: Context, given?: RunCredentials): Promise<string> {
  const { run, token } = given ?? credentialsFrom(context);
  const result = await context.store.heartbeat(run, token);
  if (result.accepted) return run;
  const current = result.current === null ? '' : ` The session's current run is ${result.current.id}.`;
  throw new ReeveError('fenced', `The write of run ${run} was refused: ${result.because}.${current}`, {
    hint: 'Nothing was changed. This process belongs to a run that is over, and should end.',
    details: { run, current: result.current?.id ?? null },
  });
}

/** Those of the run inside which this happens. */
export function credentialsFrom({ environment }: Context): RunCredentials {
  const [run = '', token = ''] = [environment[RUN_MARK], environment[TOKEN_VARIABLE]];
  if (run !== '' && token !== '') return { run, token };
  throw new ReeveError(
    'usage',
    `${RUN_MARK} and ${TOKEN_VARIABLE} are not set, so this is not inside a run.`,
    {
      hint: 'This is for what Reeve started, which finds both in its environment.',
    },
  );
}
