/** How a status is shown, in the terminal and on the page alike: colour is never the only sign. */
import type { Status } from '../lifecycle/status.ts';

export const MARKS: Readonly<Record<Status, string>> = {
  working: '●',
  idle: '○',
  'needs-input': '▲',
  unknown: '?',
  done: '✓',
  failed: '✗',
  superseded: '↷',
  stopped: '■',
  cancelled: '⊘',
  // Of no currency: budgets are in any, or in tokens or minutes.
  'over-budget': '¤',
  reaped: '†',
  lost: '!',
};

export interface StatusGroup {
  readonly name: 'needs-you' | 'working' | 'idle' | 'ended';
  readonly title: string;
  readonly statuses: readonly Status[];
}

/** In the order in which a person wants to know of them. */
export const STATUS_GROUPS: readonly StatusGroup[] = [
  { name: 'needs-you', title: 'Needs you', statuses: ['needs-input', 'unknown'] },
  { name: 'working', title: 'Working', statuses: ['working'] },
  { name: 'idle', title: 'Idle', statuses: ['idle'] },
  {
    name: 'ended',
    title: 'Ended',
    statuses: ['done', 'failed', 'lost', 'over-budget', 'stopped', 'cancelled', 'reaped', 'superseded'],
  },
];
