/**
 * Waits for what the store itself says of a session's current run. No command is started for it: that would do a part of
 * what is waited for, and on a busy machine it takes longer than some limits of what it looks at.
 */
import { join } from 'node:path';
import type { Run } from '../../src/lifecycle/run.ts';
import { openStore } from '../../src/store/open.ts';
import { eventually } from './processes.ts';
import type { Sandbox } from './sandbox.ts';

/** Written by the run's own finaliser: for a run whose keeper is gone, somebody has to look. */
export function endOnRecord(sandbox: Sandbox, session: string): Promise<void> {
  return onRecord(sandbox, session, 'its end', ({ state }) => state === 'ended');
}

export function intentOnRecord(sandbox: Sandbox, session: string): Promise<void> {
  return onRecord(sandbox, session, 'the intent', ({ intent }) => intent !== null);
}

async function onRecord(
  { home }: Sandbox,
  session: string,
  what: string,
  isSo: (run: Run) => boolean,
): Promise<void> {
  const store = await openStore({ sqlite: join(home, 'reeve.db') });
  try {
    await eventually(`${what} is on record`, async () => {
      const found = await store.sessionByName(session);
      return found !== null && isSo(found.run);
    });
  } finally {
    await store.close();
  }
}
