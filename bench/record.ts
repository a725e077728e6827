/** Runs on record that never executed, as history for a figure. */
import type { ProcessIdentity } from '../src/lifecycle/process-identity.ts';
import type { ClaimRequest, Store } from '../src/store/store.ts';

/** Of a host that does not exist: whatever reads these records, nothing here can be taken for a process of theirs. */
const NOBODY: ProcessIdentity = {
  host: 'bench.invalid',
  boot: '00000000-0000-0000-0000-000000000000',
  pidNamespace: 'pid:[0]',
  pid: 4_194_304,
  startTime: '1',
};

export function claimRequest(name: string): ClaimRequest {
  return {
    runId: `r-${name}`,
    sessionId: `s-${name}`,
    sessionName: name,
    mustBeNew: false,
    nativeId: null,
    parent: null,
    harness: 'command',
    cwd: '/home/someone/projects/something',
    argv: ['claude', '--print', 'Look at the failing test and say why it fails.'],
    mode: 'detached',
    actor: 'bench',
    launcher: NOBODY,
    tokenHash: '0'.repeat(64),
    logPath: `/home/someone/.local/state/reeve/runs/r-${name}/output.log`,
  };
}

/** Through the store, step by step, so that history looks the way the store writes it whatever its schema is. */
export async function recordEnded(store: Store, name: string): Promise<void> {
  const request = claimRequest(name);
  const { runId } = request;
  await store.claim(request);
  await store.step(runId, {
    kind: 'start',
    keeper: NOBODY,
    containment: { by: 'subreaper' },
    atMs: Date.now(),
    awakeFromMs: 0,
  });
  await store.step(runId, { kind: 'executing', harness: NOBODY });
  const { taken } = await store.step(runId, {
    kind: 'end',
    ending: {
      outcome: 'completed',
      reason: 'it exited with code 0',
      actor: 'keeper',
      evidence: ['exit code 0', 'its process tree was proven gone'],
      exitCode: 0,
      signal: null,
      endedAtMs: Date.now(),
    },
  });
  if (!taken) throw new Error(`The history could not be written at ${name}.`);
}
