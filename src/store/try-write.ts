/**
 * A claim, a step and a removal, as a start and an end make them, in one transaction that is taken back: whoever may do
 * less than all of it learns so before it counts. On PostgreSQL a number of the log is used up, as by any write that
 * did not happen.
 */
import { randomUUID } from 'node:crypto';
import type { Step } from '../lifecycle/run.ts';
import { inTransaction } from './sql.ts';
import type { Sql, SqlDriver } from './sql.ts';
import { markAnnounced } from './state.ts';
import type { ClaimRequest } from './store.ts';

export interface TriedWrites {
  readonly claim: (sql: Sql, op: string, request: ClaimRequest) => Promise<unknown>;
  readonly step: (sql: Sql, op: string, runId: string, step: Step) => Promise<unknown>;
  readonly remove: (sql: Sql, op: string, sessionId: string, actor: string) => Promise<unknown>;
}

class TakenBack extends Error {}

/** Nobody's: it is never on record. */
const PROCESS = { host: '', boot: '', pidNamespace: '', pid: 0, startTime: null };

export async function tryWrite(driver: SqlDriver, writes: TriedWrites): Promise<void> {
  const id = randomUUID();
  const actor = 'a trial';
  const ending = {
    outcome: 'never_started',
    reason: actor,
    actor,
    evidence: [],
    exitCode: null,
    signal: null,
    endedAtMs: 0,
  } as const;
  try {
    await inTransaction(driver, async (sql, op) => {
      // A host that is new to a store of several is put on record before its first claim.
      if (driver.engine === 'postgres') await markAnnounced(sql, { id, name: actor });
      await writes.claim(sql, op, requestFor(id, actor));
      await writes.step(sql, op, id, { kind: 'end', ending });
      await writes.remove(sql, op, id, actor);
      throw new TakenBack();
    });
  } catch (error) {
    if (!(error instanceof TakenBack)) throw error;
  }
}

function requestFor(id: string, actor: string): ClaimRequest {
  return {
    runId: id,
    sessionId: id,
    sessionName: id,
    harness: 'command',
    cwd: '',
    argv: [],
    mode: 'detached',
    actor,
    launcher: PROCESS,
    tokenHash: '',
    logPath: null,
    nativeId: id,
    mustBeNew: true,
    parent: null,
  };
}
