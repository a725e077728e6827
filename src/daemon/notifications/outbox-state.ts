/** What the notifier must not forget: how far it has read, what it watches, and what is still to be delivered. */
import { EMPTY_QUEUE } from '../../lifecycle/delivery.ts';
import type { Pending, Queue } from '../../lifecycle/delivery.ts';
import { NOTABLE_STATUSES } from '../../lifecycle/notification.ts';
import type { Notification, Watch, WatchedRun } from '../../lifecycle/notification.ts';
import type { Question } from '../../lifecycle/question.ts';
import { figuresOf } from '../../lifecycle/session-budget.ts';
import { CHANNEL_NAMES } from './channel.ts';
import type { ChannelName } from './channel.ts';

export interface OutboxState {
  /** The number of the last event that was taken; null before the first. */
  readonly cursor: number | null;
  readonly watch: Watch;
  readonly queues: Readonly<Partial<Record<ChannelName, Queue>>>;
}

export const EMPTY_OUTBOX: OutboxState = { cursor: null, watch: {}, queues: {} };

export function queueOf(state: OutboxState, name: ChannelName): Queue {
  return state.queues[name] ?? EMPTY_QUEUE;
}

export function withQueue(state: OutboxState, name: ChannelName, queue: Queue): OutboxState {
  return { ...state, queues: { ...state.queues, [name]: queue } };
}

/** Null when the text is not what `JSON.stringify` of a state gives. */
export function parseOutbox(text: string): OutboxState | null {
  try {
    const value: unknown = JSON.parse(text);
    return isOutbox(value) ? value : null;
  } catch {
    return null;
  }
}

function isOutbox(value: unknown): value is OutboxState {
  if (!isRecord(value) || !isRecord(value['watch']) || !isRecord(value['queues'])) return false;
  return (
    (value['cursor'] === null || isWhole(value['cursor'])) &&
    Object.values(value['watch']).every(isWatchedRun) &&
    CHANNEL_NAMES.every((name) => isQueue((value['queues'] as Record<string, unknown>)[name] ?? EMPTY_QUEUE))
  );
}

function isWatchedRun(value: unknown): value is WatchedRun {
  if (!isRecord(value) || typeof value['isIntended'] !== 'boolean') return false;
  const isWaiting = value['waitingSinceMs'] === null || typeof value['waitingSinceMs'] === 'number';
  return (
    isWaiting &&
    isMissingOr(value['question'], isQuestion) &&
    isMissingOr(value['turnSinceMs'], isTime) &&
    isMissingOr(value['budget'], isFigures)
  );
}

function isFigures(value: unknown): boolean {
  return figuresOf(value) !== null;
}

function isQuestion(value: unknown): value is Question {
  return isRecord(value) && isNullOrText(value['tool']) && isNullOrText(value['digest']);
}

function isQueue(value: unknown): value is Queue {
  if (!isRecord(value) || !isWhole(value['missed'])) return false;
  return Array.isArray(value['waiting']) && value['waiting'].every(isPending);
}

function isPending(value: unknown): value is Pending {
  return isRecord(value) && isWhole(value['attempts']) && isNotification(value['notification']);
}

function isNotification(value: unknown): value is Notification {
  if (!isRecord(value) || !isWhole(value['key'])) return false;
  const { sessionId, runId, what, review } = value;
  return (
    NOTABLE_STATUSES.some((status) => status === value['status']) &&
    [sessionId, what, review ?? ''].every((text) => typeof text === 'string') &&
    isNullOrText(runId) &&
    isTime(value['atMs']) &&
    isMissingOr(value['budget'], isFigures)
  );
}

/** What an earlier Reeve did not write. */
function isMissingOr(value: unknown, is: (value: unknown) => boolean): boolean {
  return value === undefined || is(value);
}

function isNullOrText(value: unknown): boolean {
  return value === null || typeof value === 'string';
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isWhole(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

function isTime(value: unknown): boolean {
  return typeof value === 'number' && !Number.isNaN(new Date(value).getTime());
}
