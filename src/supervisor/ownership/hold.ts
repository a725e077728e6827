/** What the keeper of a run holds locked, and when it is let go of. */
import { closeSync, fstatSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { announcementText } from '../../lifecycle/announcement.ts';
import type { Run, RunningRun } from '../../lifecycle/run.ts';
import type { Session } from '../../lifecycle/session.ts';
import { HOLD_MORE, tellKeeper } from '../../process/keeper.ts';
import type { HarnessOrder } from '../../process/keeper.ts';
import {
  conversationFile,
  copyIn,
  isKernelName,
  isLocked,
  kernelName,
  processFile,
  readAnnouncement,
  sessionIdFile,
} from '../../process/owner-files.ts';
import type { Context } from '../context.ts';
import { runDirectory } from '../liveness.ts';
import { groundOf, namedFiles } from './ground.ts';
import type { Ground } from './ground.ts';

/** Which files, and what is written into them; a copy is in the run's own directory, for when those are lost. */
export function toHold(
  context: Context,
  session: Session,
  run: RunningRun,
  /** The process that is adopted, as its keeper gets it: pid and start time. */
  adopted: readonly string[] | null,
): Pick<HarnessOrder, 'hold' | 'announcement'> {
  const ground = groundOf(context);
  const announcement = announcementText({
    home: ground.home,
    store: ground.store,
    session,
    run: withAdopted(run, adopted),
  });
  writeFileSync(copyIn(runDirectory(context, run.id)), announcement, { mode: 0o600 });
  return {
    hold: [
      ...filesOf(ground, session, run),
      ...(adopted === null ? [] : [processFile(ground.owners, context.table.host.boot, adopted)]),
      // Last, for a file says in its own words who holds it.
      ...(run.native === null ? [] : conversationName(session.harness, run.native.id)),
      ...(adopted === null ? [] : kernelName('process', context.table.host.boot, ...adopted)),
    ],
    announcement,
  };
}

function conversationName(harness: string, nativeId: string): readonly string[] {
  return kernelName('conversation', harness, nativeId);
}

/** It bears no mark of its run and outlives its keeper: only by what is written here a store that was lost knows of it. */
function withAdopted(run: RunningRun, adopted: readonly string[] | null): RunningRun {
  const [pid, startTime] = adopted ?? [];
  if (pid === undefined || startTime === undefined) return run;
  return { ...run, harness: { ...run.keeper, pid: Number(pid), startTime } };
}

function filesOf(ground: Ground, { id, name, harness }: Session, { native }: Pick<Run, 'native'>): string[] {
  const conversation = native === null ? [] : [conversationFile(ground.owners, harness, native.id)];
  return [...namedFiles(ground, name), sessionIdFile(ground.owners, id), ...conversation];
}

/** Where the harness has named its conversation since it was looked at last, its keeper holds that one too. */
export function holdNamed(context: Context, harness: string, before: Run, run: Run): void {
  const nativeId = run.native?.is === 'bound' ? run.native.id : null;
  if (run.keeper === null || nativeId === null || before.native?.id === nativeId) return;
  const directory = runDirectory(context, run.id);
  try {
    const path = conversationFile(groundOf(context).owners, harness, nativeId);
    if (readAnnouncement(path)?.run.id === run.id) return;
    const temporary = join(directory, `.hold.${process.pid}`);
    const paths = [path, ...conversationName(harness, nativeId)];
    writeFileSync(temporary, `${paths.join('\n')}\n`, { mode: 0o600 });
    renameSync(temporary, join(directory, 'hold'));
  } catch {
    return; // Its directory was removed, or there are no files of owners; the store and the look for outsiders stand in the way of a second owner all the same.
  }
  tellKeeper(context.table, run.keeper, HOLD_MORE);
}

/** For the finaliser: the outcome is on record, and the next owner may come. */
export function letGoOfAll(environment: NodeJS.ProcessEnv): void {
  for (const { descriptor, path } of heldIn(environment)) {
    // Closed, its name is free.
    if (isKernelName(path)) {
      closeSync(descriptor);
      continue;
    }
    const [own, there] = [fstatSync(descriptor), statSync(path, { throwIfNoEntry: false })];
    // Removed while it is held: whoever opened it meanwhile sees that it is not the file of this name any more.
    if (there !== undefined && own.dev === there.dev && own.ino === there.ino) rmSync(path, { force: true });
    closeSync(descriptor);
  }
}

/** As keeper.pl hands it on. */
function heldIn(environment: NodeJS.ProcessEnv): readonly { descriptor: number; path: string }[] {
  return (environment['REEVE_HELD'] ?? '').split('\n').flatMap((line) => {
    const [, descriptor, path] = /^(\d+) (.+)$/.exec(line) ?? [];
    return descriptor === undefined || path === undefined ? [] : [{ descriptor: Number(descriptor), path }];
  });
}

/**
 * For whoever is about to end the keeper, which is stopped and has nothing left below it, but holds them still. A file that
 * cannot be read may be another's by now and stays: it is only tidied up here, and the kernel takes the lock back anyway.
 */
export async function removeHeld(context: Context, run: Run): Promise<void> {
  const [owner] = await context.store.sessionsOf([run.sessionId]);
  for (const path of owner === undefined ? [] : filesThere(context, owner.session, run)) {
    if (isOfRun(path, run)) rmSync(path, { force: true });
  }
}

function filesThere(context: Context, session: Session, run: Run): readonly string[] {
  try {
    return filesOf(groundOf(context), session, run);
  } catch {
    return []; // Files of owners that cannot be used keep nobody from being ended.
  }
}

/** Whether its keeper lives, as the kernel knows from its locks, although it may not be seen from here. */
export function isHolding(context: Context, session: Session, run: Run): boolean {
  return filesOf(groundOf(context), session, run).some((path) => !isOfAnother(path, run) && isLocked(path));
}

function isOfRun(path: string, { id }: Run): boolean {
  try {
    return readAnnouncement(path)?.run.id === id;
  } catch {
    return false;
  }
}

/** What was emptied or cut says nothing, and who holds it may be its run. */
function isOfAnother(path: string, { id }: Run): boolean {
  try {
    const announcement = readAnnouncement(path);
    return announcement !== null && announcement.run.id !== id;
  } catch {
    return false;
  }
}
