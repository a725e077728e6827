/** How each part of the daemon is. Off is a choice; broken is a failure; unreadable is not knowing. */
export type PartState = 'good' | 'off' | 'broken' | 'unreadable';

export interface PartHealth {
  readonly is: PartState;
  readonly says: string;
  /** Since when it is so. */
  readonly since: string;
}

export interface Health {
  report(part: string, is: PartState, says: string): void;
  parts(): Readonly<Record<string, PartHealth>>;
}

export function createHealth(now: () => number = Date.now): Health {
  const parts = new Map<string, PartHealth>();
  return {
    report(part, is, says) {
      const known = parts.get(part);
      const since = known?.is === is ? known.since : new Date(now()).toISOString();
      parts.set(part, { is, says, since });
    },
    parts: () => Object.fromEntries(parts),
  };
}

export function isWell(parts: Readonly<Record<string, PartHealth>>): boolean {
  return Object.values(parts).every(({ is }) => is === 'good' || is === 'off');
}
