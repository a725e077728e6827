/** Hears at once when a harness reports, so that nobody waits for the next sweep to know that it needs them. */
import { watch } from 'node:fs';
import type { FSWatcher } from 'node:fs';
import type { SessionView } from '../api/session-view.ts';

/** A message is written in more than one piece, and several come together. */
const SETTLED_MS = 20;

export interface Spools {
  /** Those whose reports are listened for from now on. */
  follow(sessions: readonly SessionView[]): void;
  close(): void;
}

export function listenToSpools(
  spoolOf: (runId: string) => string,
  heard: (sessionIds: readonly string[]) => Promise<void>,
  log: (text: string) => void,
): Spools {
  const watchers = new Map<string, FSWatcher>();
  const changed = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  const tell = () => {
    timer = undefined;
    const ids = [...changed];
    changed.clear();
    heard(ids).catch((error: unknown) =>
      log(`reports: ${error instanceof Error ? error.message : String(error)}`),
    );
  };
  const listen = (runId: string, sessionId: string) => {
    try {
      const watcher = watch(spoolOf(runId), () => {
        changed.add(sessionId);
        timer ??= setTimeout(tell, SETTLED_MS);
      });
      watcher.on('error', () => forget(runId));
      watchers.set(runId, watcher);
    } catch {
      // Not there yet, or no more watches to be had: the next sweep hears it.
    }
  };
  const forget = (runId: string) => {
    watchers.get(runId)?.close();
    watchers.delete(runId);
  };
  return {
    follow(sessions) {
      // A plain command reports nothing.
      const wanted = new Map(
        sessions.filter(({ harness }) => harness !== 'command').map(({ id, run }) => [run.id, id]),
      );
      for (const runId of watchers.keys()) if (!wanted.has(runId)) forget(runId);
      for (const [runId, id] of wanted) if (!watchers.has(runId)) listen(runId, id);
    },
    close() {
      clearTimeout(timer);
      for (const runId of watchers.keys()) forget(runId);
    },
  };
}
