/** What a key does in each mode of `top`; the modes are told in state.ts. */
import type { Key } from './keys.ts';
import { selectedSession, shownSessions } from './model.ts';
import type { Action, Effect, Notice, Step, TopState } from './model.ts';
import { boardLength } from './review-board.ts';
import { attachPlan, bad, refusalOf } from './plans.ts';

/** More than anybody types to find a session. */
const MAX_FILTER_LENGTH = 100;

const NOTHING: Effect = { do: 'nothing' };

export function keyPressed(before: TopState, key: Key): Step {
  // What was said has been read.
  const state = { ...before, notice: null };
  const word = key.is === 'named' ? key.name : key.text;
  if (key.is === 'named') {
    if (key.name === 'ctrl-c') return { state, effect: { do: 'quit' } };
    if (key.name === 'ctrl-z') return { state: before, effect: { do: 'suspend' } };
    if (key.name === 'ctrl-l') return { state: before, effect: { do: 'redraw' } };
  }
  switch (state.mode.is) {
    case 'list':
      return inList(state, word);
    case 'search':
      return only(inSearch(state, key));
    case 'help':
      return only({ ...state, mode: { is: 'list' } });
    case 'reviews':
      return inReviews(state, state.mode.from, word);
    case 'confirm':
      return inConfirm(state, state.mode, word);
  }
}

function inList(state: TopState, word: string): Step {
  const moved = move(state, word);
  if (moved !== null) return only(moved);
  switch (word) {
    case 'enter':
      return attach(state);
    case 's':
      return only(ask(state, 'stop'));
    case 'r':
      return only(ask(state, 'resume'));
    case '/':
      return only({ ...state, mode: { is: 'search' } });
    case '?':
      return only({ ...state, mode: { is: 'help' } });
    case 'v':
      return showReviews(state);
    case 'escape':
      return only({ ...state, filter: '' });
    case 'q':
      return { state, effect: { do: 'quit' } };
    default:
      return only(state);
  }
}

function showReviews(state: TopState): Step {
  if (state.board.is === 'absent') return only(state);
  return { state: { ...state, mode: { is: 'reviews', from: 0 } }, effect: { do: 'look' } };
}

function inReviews(state: TopState, from: number, word: string): Step {
  const steps: Readonly<Record<string, number>> = {
    down: 1,
    j: 1,
    up: -1,
    k: -1,
    'page-down': state.pageSize,
    'page-up': -state.pageSize,
    home: -Infinity,
    g: -Infinity,
    end: Infinity,
    G: Infinity,
  };
  const by = steps[word];
  if (by !== undefined) {
    const to = Math.max(0, Math.min(boardLength(state.board), from + by));
    return only({ ...state, mode: { is: 'reviews', from: to } });
  }
  if (word === 'q') return { state, effect: { do: 'quit' } };
  return only(word === 'v' || word === 'escape' ? { ...state, mode: { is: 'list' } } : state);
}

function inSearch(state: TopState, key: Key): TopState {
  if (key.is === 'text') {
    const filter = state.filter + key.text;
    return filter.length > MAX_FILTER_LENGTH ? state : { ...state, filter };
  }
  const { name }: { name: string } = key;
  switch (name) {
    case 'enter':
      return { ...state, mode: { is: 'list' } };
    case 'escape':
      return { ...state, mode: { is: 'list' }, filter: '' };
    case 'backspace':
      // Deleting what is not there is how one leaves.
      return state.filter === ''
        ? { ...state, mode: { is: 'list' } }
        : { ...state, filter: [...state.filter].slice(0, -1).join('') };
    default:
      return move(state, name) ?? state;
  }
}

/** Only y does it, and only a clear no takes the question away: a slip of the finger does neither. */
function inConfirm(
  state: TopState,
  { action, session }: Extract<TopState['mode'], { is: 'confirm' }>,
  word: string,
): Step {
  switch (word) {
    case 'y':
    case 'Y':
      return {
        state: { ...state, mode: { is: 'list' }, underWay: `${DOING[action]} ${session.name}` },
        effect: { do: action, session },
      };
    case 'n':
    case 'N':
    case 'q':
    case 'escape':
      return only({ ...state, mode: { is: 'list' } });
    default:
      return only(state);
  }
}

const DOING: Readonly<Record<Action, string>> = { stop: 'stopping', resume: 'resuming' };

function attach(state: TopState): Step {
  const session = selectedSession(state);
  if (session === null) return only(say(state, NONE_SELECTED));
  if (state.underWay !== null) return only(say(state, stillBusy(state.underWay)));
  const plan = attachPlan(session);
  return plan.is === 'do' ? { state, effect: plan.effect } : only(say(state, plan.notice));
}

function ask(state: TopState, action: Action): TopState {
  const session = selectedSession(state);
  if (session === null) return say(state, NONE_SELECTED);
  if (state.underWay !== null) return say(state, stillBusy(state.underWay));
  const refusal = refusalOf(action, session);
  return refusal === null ? { ...state, mode: { is: 'confirm', action, session } } : say(state, refusal);
}

const NONE_SELECTED = bad('There is no session here to do that with.');

function stillBusy(underWay: string): Notice {
  return bad(`One thing at a time: still ${underWay}.`);
}

function say(state: TopState, notice: Notice): TopState {
  return { ...state, notice };
}

function only(state: TopState): Step {
  return { state, effect: NOTHING };
}

/** Null when the key does not move. */
function move(state: TopState, word: string): TopState | null {
  const shown = shownSessions(state);
  const at = shown.findIndex(({ id }) => id === state.selectedId);
  const places: Readonly<Record<string, number>> = {
    down: at + 1,
    j: at + 1,
    up: at - 1,
    k: at - 1,
    'page-down': at + state.pageSize,
    'page-up': at - state.pageSize,
    home: 0,
    g: 0,
    end: shown.length - 1,
    G: shown.length - 1,
  };
  const place = places[word];
  if (place === undefined) return null;
  const target = shown[Math.max(0, Math.min(shown.length - 1, place))];
  return target === undefined ? state : { ...state, selectedId: target.id };
}
