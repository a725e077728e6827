/**
 * What `top` is doing, as a value: everything that happens is an event, and an event makes the next state and at most
 * one effect, which somebody else carries out.
 *
 * Modes: `list` → `search` (by /, until Enter keeps or Escape clears it), `help` (by ?, until any key), `reviews` (by v,
 * until v or Escape), `confirm` (by s
 * or r, until y or anything else). A question is about one run as it was shown. When that is not so any more, the
 * question is withdrawn, and an answer that was faster is refused by the supervisor, for the effect names that run.
 */
import { shownSessions } from './model.ts';
import type { Step, TopEvent, TopState } from './model.ts';
import { keyPressed } from './pressed.ts';

/** Lines of a screen that are never sessions: title, heading, a group's title, status, keys. */
const FURNITURE_ROWS = 6;

export function step(state: TopState, event: TopEvent): Step {
  if (event.kind === 'key') {
    const pressed = keyPressed(state, event.key);
    return { ...pressed, state: settled(pressed.state, state) };
  }
  return { state: settled(happened(state, event), state), effect: { do: 'nothing' } };
}

function happened(state: TopState, event: Exclude<TopEvent, { kind: 'key' }>): TopState {
  switch (event.kind) {
    case 'tick':
      return { ...state, nowMs: event.nowMs };
    case 'asked':
      return { ...state, nowMs: event.nowMs, askedAtMs: state.askedAtMs ?? event.nowMs };
    case 'listed': {
      const { sessions, nowMs } = event;
      return withdrawn({ ...state, sessions, nowMs, listedAtMs: nowMs, askedAtMs: null, problem: null });
    }
    case 'reviews-listed':
      return { ...state, board: { is: 'listed', reviews: event.reviews } };
    case 'list-failed':
      return { ...state, nowMs: event.nowMs, askedAtMs: null, problem: event.problem };
    case 'came-back':
      return { ...state, nowMs: event.nowMs, notice: event.notice };
    case 'acted':
      return { ...state, underWay: null, notice: event.notice };
    case 'resized':
      return { ...state, pageSize: Math.max(1, event.rows - FURNITURE_ROWS) };
  }
}

/** A question about what is not so any more is not left standing. */
function withdrawn(state: TopState): TopState {
  if (state.mode.is !== 'confirm') return state;
  const { session, action } = state.mode;
  const now = state.sessions.find(({ id }) => id === session.id);
  if (now !== undefined && now.run.id === session.run.id && now.run.state === session.run.state) return state;
  const text =
    now === undefined
      ? `${session.name} is not on the list any more, so there is nothing to ${action}.`
      : `${session.name} has changed meanwhile: run ${now.run.id} is ${now.status}.`;
  return { ...state, mode: { is: 'list' }, notice: { tone: 'bad', text, hint: null } };
}

/**
 * The selection stays on its session wherever that moves. When it is gone, it is on the one that took its place; when
 * a search left it out, on the first that was found.
 */
function settled(state: TopState, before: TopState): TopState {
  const shown = shownSessions(state);
  if (shown.some(({ id }) => id === state.selectedId)) return state;
  const isSameSearch = state.filter === before.filter;
  const place = isSameSearch ? shownSessions(before).findIndex(({ id }) => id === before.selectedId) : 0;
  const neighbour = shown[Math.min(Math.max(0, place), shown.length - 1)];
  return { ...state, selectedId: neighbour?.id ?? null };
}
