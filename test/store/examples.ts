/** Facts for tests of the store: complete and plausible, each call with ids of its own. */
import { randomUUID } from 'node:crypto';
import type { ProcessIdentity } from '../../src/lifecycle/process-identity.ts';
import type { Ending, Intent, Step } from '../../src/lifecycle/run.ts';
import { hashToken } from '../../src/store/sql-store.ts';
import type { ClaimRequest, ClaimResult, Store } from '../../src/store/store.ts';

export const TOKEN = 'the token of this run';

export function identity(pid: number): ProcessIdentity {
  return { host: 'host-1', boot: 'boot-1', pidNamespace: '4026531836', pid, startTime: `${pid}00` };
}

export function claimOf(sessionName: string, changes: Partial<ClaimRequest> = {}): ClaimRequest {
  return {
    runId: randomUUID(),
    sessionId: randomUUID(),
    sessionName,
    harness: 'claude',
    cwd: '/home/ada/wörk',
    argv: ['claude', '--resume', 'it\'s "quoted" ? \u0000 😀'],
    mode: 'detached',
    actor: 'ada',
    launcher: identity(100),
    tokenHash: hashToken(TOKEN),
    logPath: '/home/ada/log',
    mustBeNew: false,
    nativeId: null,
    parent: null,
    ...changes,
  };
}

export const start: Extract<Step, { kind: 'start' }> = {
  kind: 'start',
  keeper: identity(200),
  containment: { by: 'cgroup', path: '/sys/fs/cgroup/reeve/1' },
  atMs: 1_700_000_000_000,
  awakeFromMs: 5_000,
};

export const executing: Extract<Step, { kind: 'executing' }> = { kind: 'executing', harness: identity(300) };

export function intend(changes: Partial<Intent> = {}): Extract<Step, { kind: 'intend' }> {
  const intent: Intent = {
    outcome: 'stopped',
    actor: 'ada',
    reason: 'ada stopped it',
    atMs: 1_700_000_000_001,
    uptimeMs: 5_000,
  };
  return { kind: 'intend', intent: { ...intent, ...changes } };
}

/** Of one who may take it back. */
export const held = intend({ id: 'intent-1', by: identity(400) });
export const withdraw: Extract<Step, { kind: 'withdraw' }> = { kind: 'withdraw', intent: held.intent };

export function end(changes: Partial<Ending> = {}): Extract<Step, { kind: 'end' }> {
  const ending: Ending = {
    outcome: 'completed',
    reason: 'it exited with code 0',
    actor: 'keeper',
    evidence: ['exit record'],
    exitCode: 0,
    signal: null,
    endedAtMs: 1_700_000_000_002,
  };
  return { kind: 'end', ending: { ...ending, ...changes } };
}

/** The answer to a claim that must have won. */
export async function won(store: Store, request: ClaimRequest): Promise<Extract<ClaimResult, { won: true }>> {
  const result = await store.claim(request);
  if (!result.won) throw new Error(`The claim of ${request.sessionName} lost: ${result.because}.`);
  return result;
}

export function many<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

/** Round and round. */
export function pick<T>(choices: readonly T[], index: number): T {
  const choice = choices[index % choices.length];
  if (choice === undefined) throw new Error('There is nothing to pick from.');
  return choice;
}
