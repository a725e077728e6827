import type { Context } from './context.ts';
import { launch } from './launch.ts';
import type { LaunchRequest, LaunchResult } from './launch.ts';
import { resolveSession } from './resolve.ts';

/** Without a command or a directory, those of the session's latest run. */
export type ResumeRequest = Omit<LaunchRequest, 'session' | 'argv'> & {
  readonly argv?: readonly string[] | undefined;
};

/** The next epoch of a known session. */
export async function resume(
  context: Context,
  reference: string,
  request: ResumeRequest,
): Promise<LaunchResult> {
  const { session } = await resolveSession(context, reference);
  return launch(context, {
    ...request,
    session: session.name,
    argv: request.argv ?? session.argv,
    cwd: request.cwd ?? session.cwd,
  });
}
