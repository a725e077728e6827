/** How each part of the daemon is. Off is a choice; broken is a failure; unreadable is not knowing. */
type PartState = 'good' | 'off' | 'broken' | 'unreadable';

export interface PartHealth {
  readonly is: PartState;
  readonly says: string;
  /** Since when it is so. */
  readonly since: string;
}

export interface Health {
  report(part: string, is: PartState, says: string): void;
  /** Of a part that knows by itself how it is, whenever somebody asks. */
  ask(part: string, state: () => { readonly is: PartState; readonly says: string }): void;
  parts(): Readonly<Record<string, PartHealth>>;
}

export function createHealth(now: () => number = Date.now): Health {
  const parts = new Map<string, PartHealth>();
  const asked = new Map<string, () => { readonly is: PartState; readonly says: string }>();
  const report = (part: string, is: PartState, says: string) => {
    const known = parts.get(part);
    const since = known?.is === is ? known.since : new Date(now()).toISOString();
    parts.set(part, { is, says, since });
  };
  return {
    report,
    ask: (part, state) => void asked.set(part, state),
    parts() {
      for (const [part, state] of asked) {
        const { is, says } = state();
        report(part, is, says);
      }
      return Object.fromEntries(parts);
    },
  };
}

export function isWell(parts: Readonly<Record<string, PartHealth>>): boolean {
  return Object.values(parts).every(({ is }) => is === 'good' || is === 'off');
}
