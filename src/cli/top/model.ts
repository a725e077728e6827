/** What `top` knows and can do, as values, and what of it is shown. How it changes is in state.ts. */
import type { SessionView } from '../../api/session-view.ts';
import { groupsOf } from '../render/session-groups.ts';
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
  | { readonly is: 'confirm'; readonly action: Action; readonly session: SessionView };

/** What is said once, until the next key. */
export interface Notice {
  readonly tone: 'good' | 'bad';
  readonly text: string;
  readonly hint: string | null;
}

export interface TopState {
  readonly mode: Mode;
  readonly sessions: readonly SessionView[];
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
  | { readonly kind: 'listed'; readonly sessions: readonly SessionView[]; readonly nowMs: number }
  | { readonly kind: 'list-failed'; readonly problem: Notice; readonly nowMs: number }
  | { readonly kind: 'came-back'; readonly notice: Notice | null; readonly nowMs: number }
  | { readonly kind: 'acted'; readonly notice: Notice }
  | { readonly kind: 'resized'; readonly rows: number };

export type Effect =
  | { readonly do: 'nothing' }
  | { readonly do: 'quit' }
  | { readonly do: 'suspend' }
  | { readonly do: 'redraw' }
  /** `join`: in tmux. `follow`: the log of a detached run. */
  | { readonly do: 'join' | 'follow' | Action; readonly session: SessionView };

export interface Step {
  readonly state: TopState;
  readonly effect: Effect;
}

export function startState(nowMs: number): TopState {
  return {
    mode: { is: 'list' },
    sessions: [],
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
export function shownSessions({ sessions, filter }: TopState): readonly SessionView[] {
  const words = folded(filter).split(' ').filter(Boolean);
  return groupsOf(sessions)
    .flatMap((group) => group.sessions)
    .filter((session) => {
      const text = searchable(session);
      return words.every((word) => text.includes(word));
    });
}

export function selectedSession(state: TopState): SessionView | null {
  return shownSessions(state).find(({ id }) => id === state.selectedId) ?? null;
}

function searchable({ name, id, harness, status, cwd, argv, nativeId, run, activity }: SessionView): string {
  const words = [name, id, harness, status, cwd, ...argv, nativeId, run.id, run.mode, activity?.waitingFor];
  return folded(words.filter((word) => word !== null && word !== undefined).join(' '));
}

function folded(text: string): string {
  return text.normalize('NFC').toLowerCase();
}
