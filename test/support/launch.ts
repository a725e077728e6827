import { fileURLToPath } from 'node:url';
import type { RunView, SessionView } from '../../src/api/session-view.ts';
import type { LaunchRequest } from '../../src/supervisor/launch.ts';
import type { Reeve } from '../../src/supervisor/reeve.ts';
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
  if (sandbox.library === null) return launchByCommand(sandbox, name, ...command);
  const request = { session: name, cwd: sandbox.root, argv: command };
  return identified(await sandbox.library((reeve) => launchBy(reeve, request)));
}

/** For a test that then handles the file of the database: in this process the driver lets go of it only in its own time. */
export async function launchByCommand(
  sandbox: Sandbox,
  name: string,
  ...command: readonly string[]
): Promise<Launched> {
  return identified(await sandbox.json<SessionView>(['run', '--detach', '-s', name, '--', ...command]));
}

function identified({ run }: SessionView): Launched {
  return { run, harness: see(run.pid ?? 0), keeper: see(run.keeperPid ?? 0) };
}

async function launchBy(reeve: Reeve, request: LaunchRequest): Promise<SessionView> {
  const result = await reeve.launch({ ...request, mode: 'detached' });
  if (result.is !== 'started') throw new Error(`It was not started: ${JSON.stringify(result)}`);
  result.release();
  return reeve.show(result.session.id);
}
