/**
 * A living run in its own words, apart from the store: what its keeper holds in its hands for as long as the run lasts.
 * A store that was lost, emptied or rolled back learns from it who lives. The text begins with a line for people.
 */
import type { Activity } from './harness-fact.ts';
import type { RunningRun } from './run.ts';
import type { Session } from './session.ts';

export interface Announcement {
  /** The state directory, by its real path. */
  readonly home: string;
  /** Which store of that state directory: its own database, or the address of a shared one. */
  readonly store: string;
  readonly session: Session;
  /** As it was when it started. */
  readonly run: RunningRun;
}

/**
 * What a run does that is put on record again. A harness may have said anything since it started, and that is lost; a
 * plain command never says anything.
 */
export function activityAfterLoss({ harness }: Pick<Session, 'harness'>, atMs: number): Activity | null {
  if (harness === 'command') return null;
  return { is: 'unknown', sinceMs: atMs, evidence: 'nothing since its record was lost', waitingFor: null };
}

export function announcementText(announcement: Announcement): string {
  const { home, session, run } = announcement;
  const line = `run ${run.id} of ${session.name}, keeper ${run.keeper.pid}, state directory ${home}`;
  return `${line}\n${JSON.stringify(announcement)}\n`;
}

/** Null for what is no announcement, or not a whole one: its keeper may be writing it at this moment. */
export function parseAnnouncement(text: string): Announcement | null {
  try {
    const parsed: unknown = JSON.parse(text.slice(text.indexOf('\n') + 1));
    return isAnnouncement(parsed) ? parsed : null;
  } catch {
    return null;
  }
}

function isAnnouncement(value: unknown): value is Announcement {
  if (typeof value !== 'object' || value === null) return false;
  // Written whole by the launcher of the same version or another; what is acted upon is checked.
  const { home, store, session, run } = value as Partial<Announcement>;
  return (
    typeof home === 'string' &&
    typeof store === 'string' &&
    typeof session?.name === 'string' &&
    typeof run?.id === 'string' &&
    typeof run.epoch === 'number' &&
    typeof run.tokenHash === 'string' &&
    typeof run.keeper?.pid === 'number' &&
    typeof run.keeper.boot === 'string'
  );
}
