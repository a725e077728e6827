/** Processes that carry the mark of a run of another state directory: supervised there, whatever this store knows of them. */
import { realpathSync } from 'node:fs';
import { RUN_MARK } from '../../process/tree.ts';
import type { Context } from '../context.ts';

/** A live owner that this store knows nothing of. */
export interface OwnerElsewhere {
  readonly home: string;
  readonly run: string;
  readonly session: string | null;
  /** Of its command, or of its keeper: whichever told of it. */
  readonly pid: number | null;
  readonly keeperPid: number | null;
}

export function ownerElsewhere(context: Context, pid: number): OwnerElsewhere | null {
  const environment = context.table.details(pid)?.environment() ?? {};
  const { [RUN_MARK]: run = '', REEVE_HOME: home = '', REEVE_SESSION: session = null } = environment;
  const isAnothers = run !== '' && home !== '' && !isSamePlace(home, context.home.path);
  return isAnothers ? { home, run, session, pid, keeperPid: null } : null;
}

/** A directory that is gone is not this one, which is there. */
function isSamePlace(one: string, other: string): boolean {
  try {
    return realpathSync(one) === realpathSync(other);
  } catch {
    return one === other;
  }
}
