import { fileURLToPath } from 'node:url';
import type { RunView, SessionView } from '../../src/api/session-view.ts';
import { see } from './processes.ts';
import type { Seen } from './processes.ts';
import type { Sandbox } from './sandbox.ts';

/** perl misbehave.pl KIND TAG [FILE]: see there. */
export const MISBEHAVE = fileURLToPath(new URL('../fixtures/misbehave.pl', import.meta.url));

export interface Launched {
  readonly run: RunView;
  readonly harness: Seen;
  readonly keeper: Seen;
}

/** Starts a detached run of a command that stays, and identifies its processes. */
export async function launchIn(
  sandbox: Sandbox,
  name: string,
  ...command: readonly string[]
): Promise<Launched> {
  const { run } = await sandbox.json<SessionView>(['run', '--detach', '-s', name, '--', ...command]);
  return { run, harness: see(run.pid ?? 0), keeper: see(run.keeperPid ?? 0) };
}
