/** What `top` knows and can do, as values, and what of it is shown. How it changes is in state.ts. */
import type { ReviewView } from '../../api/http-views.ts';
import type { SessionView } from '../../api/session-view.ts';
import { placedGroups } from '../render/session-groups.ts';
import type { ListedSession } from '../render/sessions.ts';
import type { Key } from './keys.ts';

/** Of the terminal. */
export interface Size {
  readonly columns: number;
  readonly rows: number;
}

export type Action = 'stop' | 'resume';

type Mode =
  | { readonly is: 'list' }
  | { readonly is: 'search' }
  | { readonly is: 'help' }
  /** From which line on. */
  | { readonly is: 'reviews'; readonly from: number }
  | { readonly is: 'confirm'; readonly action: Action; readonly session: SessionView };

/** `absent`: there is nobody to ask for reviews. `unasked`: nobody has wanted to see them yet. */
export type Board =
  | { readonly is: 'absent' | 'unasked' }
  | { readonly is: 'listed'; readonly reviews: readonly ReviewView[] };

/** What is said once, until the next key. */
export interface Notice {
  readonly tone: 'good' | 'bad';
  readonly text: string;
  readonly hint: string | null;
}

export interface TopState {
  readonly mode: Mode;
  readonly sessions: readonly ListedSession[];
  readonly board: Board;
  /** When the sessions were as they are shown; null before the first list. */
  readonly listedAtMs: number | null;
  /** Since when an answer is awaited; null when none is. */
  readonly askedAtMs: number | null;
  /** Why the last look failed; null when it did not. */
  readonly problem: Notice | null;
  readonly filter: string;
  readonly selectedId: string | null;
  /** The action under way, as a beginning of a sentence; null when there is none. */
  readonly underWay: string | null;
  readonly notice: Notice | null;
  /** How many sessions a page key moves by. */
  readonly pageSize: number;
  readonly nowMs: number;
}

export type TopEvent =
  | { readonly kind: 'key'; readonly key: Key }
  | { readonly kind: 'tick'; readonly nowMs: number }
  | { readonly kind: 'asked'; readonly nowMs: number }
  | { readonly kind: 'listed'; readonly sessions: readonly ListedSession[]; readonly nowMs: number }
  | { readonly kind: 'reviews-listed'; readonly reviews: readonly ReviewView[] }
  | { readonly kind: 'list-failed'; readonly problem: Notice; readonly nowMs: number }
  | { readonly kind: 'came-back'; readonly notice: Notice | null; readonly nowMs: number }
  | { readonly kind: 'acted'; readonly notice: Notice }
  | { readonly kind: 'resized'; readonly rows: number };

export type Effect =
  | { readonly do: 'nothing' }
  | { readonly do: 'quit' }
  | { readonly do: 'suspend' }
  | { readonly do: 'redraw' }
  /** Soon, not only every so often. */
  | { readonly do: 'look' }
  /** `join`: in tmux. `follow`: the log of a detached run. */
  | { readonly do: 'join' | 'follow' | Action; readonly session: SessionView };

export interface Step {
  readonly state: TopState;
  readonly effect: Effect;
}

export function startState(nowMs: number, board: Board = { is: 'absent' }): TopState {
  return {
    mode: { is: 'list' },
    sessions: [],
    board,
    listedAtMs: null,
    askedAtMs: null,
    problem: null,
    filter: '',
    selectedId: null,
    underWay: null,
    notice: null,
    pageSize: 10,
    nowMs,
  };
}

/** The sessions that are shown, in the order of the screen. */
export function shownSessions({ sessions, filter }: TopState): readonly ListedSession[] {
  const words = folded(filter).split(' ').filter(Boolean);
  const isFound = (session: ListedSession) => {
    const text = searchable(session);
    return words.every((word) => text.includes(word));
  };
  // A command line may be megabytes, and this is asked for at every key.
  const found = words.length === 0 ? sessions : sessions.filter(isFound);
  return placedGroups(found).flatMap(({ placed }) => placed.map(({ session }) => session));
}

export function selectedSession(state: TopState): ListedSession | null {
  return shownSessions(state).find(({ id }) => id === state.selectedId) ?? null;
}

function searchable({ name, id, harness, status, cwd, argv, nativeId, run, activity }: SessionView): string {
  const words = [name, id, harness, status, cwd, ...argv, nativeId, run.id, run.mode, activity?.waitingFor];
  return folded(words.filter((word) => word !== null && word !== undefined).join(' '));
}

function folded(text: string): string {
  return text.normalize('NFC').toLowerCase();
}
