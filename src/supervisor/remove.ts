import { accessSync, constants, lstatSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ReeveError } from '../api/errors.ts';
import type { Session } from '../lifecycle/session.ts';
import type { Context } from './context.ts';
import { runDirectory } from './liveness.ts';
import { lastWay } from './reach.ts';
import { reconcileRun } from './reconcile.ts';
import { resolveCurrent } from './resolve.ts';

/** Forgets an ended session: its record, its events, its logs. Refused while a run of it may be alive. */
export async function remove(context: Context, reference: string): Promise<Session> {
  const { session, run } = await resolveCurrent(context, reference);
  const seen = await reconcileRun(context, run);
  if (seen.liveness === 'unknown' || seen.command === 'gone') {
    const wayOn =
      seen.liveness === 'unknown'
        ? lastWay(context, { session, run })
        : `Or end its keeper: reeve stop ${session.name}`;
    throw new ReeveError(
      'unproven',
      `${session.name} was not removed: ${seen.because ?? 'its run may be alive'}.`,
      { hint: `Look once more: reeve settle ${session.name}    ${wayOn}` },
    );
  }
  const runs = await context.store.runsOf(session.id);
  // Before anything is forgotten, or nobody would know any more whose directories are left.
  for (const { id } of runs) requireRemovable(session.name, runDirectory(context, id));
  if (seen.run.state !== 'ended' || !(await context.store.removeSession(session.id, context.actor))) {
    throw new ReeveError(
      'live_owner',
      `${session.name} was not removed: run ${seen.run.id} of it is alive.`,
      {
        hint: `Stop it first: reeve stop ${session.name}`,
      },
    );
  }
  for (const { id } of runs) removeDirectory(session.name, runDirectory(context, id));
  return session;
}

/** Whatever is in it, it is removed by whoever may change every directory of it. */
function requireRemovable(name: string, directory: string): void {
  const found = lstatSync(directory, { throwIfNoEntry: false });
  if (found === undefined) return;
  try {
    for (const entry of [directory, ...directoriesIn(directory)])
      accessSync(entry, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    const isOthers = found.uid !== process.getuid?.();
    const because = isOthers ? 'belongs to another user' : `cannot be changed (${codeOf(error)})`;
    throw new ReeveError('state_directory', `${name} was not removed: ${directory} ${because}.`, {
      hint: isOthers ? `Remove it as that user, or as root: reeve rm ${name}` : 'Make it yours to write to.',
      details: { directory },
      cause: error,
    });
  }
}

function directoriesIn(directory: string): string[] {
  const below = readdirSync(directory, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return below.flatMap(({ name }) => {
    const path = join(directory, name);
    return [path, ...directoriesIn(path)];
  });
}

function removeDirectory(name: string, directory: string): void {
  try {
    rmSync(directory, { recursive: true, force: true });
  } catch (error) {
    throw new ReeveError(
      'state_directory',
      `${name} is forgotten, but ${directory} could not be removed (${codeOf(error)}).`,
      { hint: `Remove it yourself: ${directory}`, details: { directory }, cause: error },
    );
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error);
}
