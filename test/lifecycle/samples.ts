/** Runs in each state, and one of every step, to build the tables of the tests from. */
import type { Parentage } from '../../src/lifecycle/child.ts';
import type { ProcessIdentity } from '../../src/lifecycle/process-identity.ts';
import type {
  ClaimedRun,
  EndedRun,
  Ending,
  IntendedOutcome,
  Intent,
  Outcome,
  RunningRun,
  Step,
} from '../../src/lifecycle/run.ts';

export const INTENDED_OUTCOMES = [
  'stopped',
  'superseded',
  'cancelled',
  'reaped',
  'over_budget',
] as const satisfies readonly IntendedOutcome[];

export const OUTCOMES = [
  ...INTENDED_OUTCOMES,
  'completed',
  'failed',
  'lost',
  'never_started',
] as const satisfies readonly Outcome[];

export function identityOf(pid: number): ProcessIdentity {
  return { host: 'loom', boot: 'boot-1', pidNamespace: 'pid:[1]', pid, startTime: String(pid * 100) };
}

export const INTENT: Intent = {
  outcome: 'stopped',
  actor: 'ada',
  reason: 'ada asked for it',
  atMs: 5_000,
  uptimeMs: 50_000,
};

/** One that its intender, process 400, may take back. */
export const OWN_INTENT: Intent = { ...INTENT, id: 'intent-1', by: identityOf(400) };

export const ENDING: Ending = {
  outcome: 'completed',
  reason: 'it exited with code 0',
  actor: 'finaliser',
  evidence: ['the keeper recorded the exit'],
  exitCode: 0,
  signal: null,
  endedAtMs: 9_000,
};

export const CLAIMED: ClaimedRun = {
  id: 'run-1',
  sessionId: 'session-1',
  epoch: 3,
  mode: 'detached',
  argv: ['claude', '-p', 'hello'],
  cwd: '/home/ada/api',
  actor: 'ada',
  launcher: identityOf(100),
  tokenHash: 'hash',
  logPath: '/state/run-1/output.log',
  claimedAtMs: 1_000,
  intent: null,
  harness: null,
  native: null,
  activity: null,
  parent: null,
  awake: null,
  overBudget: null,
  state: 'claimed',
  keeper: null,
  containment: null,
  startedAtMs: null,
  ending: null,
};

/** The terms and the owner of a child of `run-0`. */
export const PARENTAGE: Parentage = {
  onParentEnd: 'adopt',
  adoptWithinMs: 600,
  subject: 'pr-7',
  revision: 'abc',
  startedBy: 'run-0',
  ownerId: 'run-0',
  waitsUntilMs: null,
};

export const RUNNING: RunningRun = {
  ...CLAIMED,
  state: 'running',
  keeper: identityOf(200),
  containment: { by: 'subreaper' },
  startedAtMs: 2_000,
  awake: { fromMs: 20_000, ms: null },
};

export const EXECUTING: RunningRun = { ...RUNNING, harness: identityOf(300) };

export const ENDED: EndedRun = { ...EXECUTING, state: 'ended', ending: ENDING };

export const STEPS = {
  start: {
    kind: 'start',
    keeper: identityOf(201),
    containment: { by: 'marks' },
    atMs: 2_500,
    awakeFromMs: 25_000,
  },
  executing: { kind: 'executing', harness: identityOf(301) },
  intend: { kind: 'intend', intent: { ...INTENT, outcome: 'superseded', actor: 'bob' } },
  withdraw: { kind: 'withdraw', intent: OWN_INTENT },
  survive: { kind: 'survive', because: 'sleep (pid 300) is alive', survivors: [300], actor: 'bob' },
  await: { kind: 'await', ownerId: 'run-0', withinMs: 600, atMs: 4_000 },
  detach: { kind: 'detach', ownerId: 'run-0' },
  end: {
    kind: 'end',
    ending: { ...ENDING, outcome: 'failed', exitCode: 1, endedAtMs: 9_500 },
    awakeMs: 7_000,
  },
} as const satisfies Record<Step['kind'], Step>;
