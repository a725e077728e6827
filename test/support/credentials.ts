/** A run that tells its id and token, as a harness hands them to whatever it starts. */
import { existsSync, readFileSync } from 'node:fs';
import type { RunView, SessionView } from '../../src/api/session-view.ts';
import { eventually } from './processes.ts';
import type { Sandbox } from './sandbox.ts';

export interface Insider {
  readonly run: RunView;
  /** What is in the environment of everything inside the run. */
  readonly env: { readonly REEVE_RUN: string; readonly REEVE_TOKEN: string };
}

export async function insideRun(
  sandbox: Sandbox,
  name: string,
  ...flags: readonly string[]
): Promise<Insider> {
  const script =
    'printf "%s\\n" "$REEVE_TOKEN" > "$REEVE_RUN.new"; mv "$REEVE_RUN.new" "$REEVE_RUN"; exec sleep 60';
  const words = ['run', '--detach', ...flags, '-s', name, '--', 'sh', '-c', script];
  const { run } = await sandbox.json<SessionView>(words);
  const file = sandbox.path(run.id);
  await eventually('its token is told', () => existsSync(file));
  return { run, env: { REEVE_RUN: run.id, REEVE_TOKEN: readFileSync(file, 'utf8').trim() } };
}
