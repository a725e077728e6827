/** What the end of a run means for the sessions it started, for whoever is asked before it ends: terminal and page alike. */
import type { OnParentEnd } from '../lifecycle/child.ts';
import type { SessionView } from './session-view.ts';

export interface FamilyEnd<T> {
  /** They end with it, and what belongs to them is dealt with in turn. */
  readonly cancel: readonly T[];
  readonly adopt: readonly T[];
  readonly detach: readonly T[];
}

/** As a continuation of the names of those that it is about. */
export const FATE_WORDS: Readonly<Record<OnParentEnd, { readonly one: string; readonly several: string }>> = {
  cancel: { one: 'ends with it', several: 'end with it' },
  adopt: {
    one: 'waits for the next run of the session, and ends if none comes in time',
    several: 'wait for the next run of the session, and end if none comes in time',
  },
  detach: { one: 'goes on by itself', several: 'go on by themselves' },
};

/** Of the live ones among these. What belongs to a child that lives on stays with that child. */
export function endOfFamily<T extends SessionView>(sessions: readonly T[], runId: string): FamilyEnd<T> {
  const fates: Record<OnParentEnd, T[]> = { cancel: [], adopt: [], detach: [] };
  // A ring cannot come about, but a damaged record must not keep anybody from asking.
  const seen = new Set([runId]);
  const end = (ownerId: string) => {
    for (const session of sessions) {
      const { id, state, owner, onParentEnd } = session.run;
      if (state === 'ended' || owner !== ownerId || seen.has(id)) continue;
      seen.add(id);
      const fate = onParentEnd ?? 'cancel';
      fates[fate].push(session);
      if (fate === 'cancel') end(id);
    }
  };
  end(runId);
  return fates;
}

/** More names would push the question itself off a terminal's screen. */
const MAX_NAMES = 8;

/** `a and b end with it`; null when there is nobody whom it is about. */
export function fateSentence(fate: OnParentEnd, all: readonly string[]): string | null {
  const isTooMany = all.length > MAX_NAMES;
  const names = isTooMany ? [...all.slice(0, MAX_NAMES - 1), `${all.length - MAX_NAMES + 1} more`] : all;
  const last = names.at(-1);
  if (last === undefined) return null;
  if (names.length === 1) return `${last} ${FATE_WORDS[fate].one}`;
  return `${names.slice(0, -1).join(', ')} and ${last} ${FATE_WORDS[fate].several}`;
}
