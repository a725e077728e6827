/** Sessions as a daemon would tell of them, the same every time, but for the time they are counted from. */
import type {
  BudgetView,
  EventView,
  MemberView,
  ReviewView,
  SessionDetailView,
} from '../../src/api/http-views.ts';
import type { ChildView, RunView } from '../../src/api/session-view.ts';
import type { OnParentEnd } from '../../src/lifecycle/child.ts';
import type { Outcome } from '../../src/lifecycle/run.ts';
import type { Status } from '../../src/lifecycle/status.ts';

const SECOND_MS = 1000;
export const MINUTE_MS = 60 * SECOND_MS;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;
const MEGABYTE = 1024 * 1024;

export interface FakeSession {
  detail: SessionDetailView;
  events: EventView[];
  log: string;
  screen: string;
  processes: readonly MemberView[];
}

export interface RunPlan {
  readonly actor: string;
  readonly startMs: number;
  /** Null lives. */
  readonly endMs: number | null;
  readonly outcome: Outcome | null;
  readonly reason?: string;
}

/** What a test says of a session; all else is made up. */
export interface Plan {
  readonly name: string;
  readonly status: Status;
  readonly harness?: string;
  readonly cwd?: string;
  readonly branch?: string | null;
  readonly argv?: readonly string[];
  readonly waitingFor?: string;
  readonly evidence?: string;
  readonly mode?: RunView['mode'];
  readonly host?: string;
  readonly runs?: readonly RunPlan[];
  /** What its latest run started. */
  readonly children?: (parent: RunView) => readonly ChildView[];
  /** The run that it is a child of. */
  readonly parent?: RunView;
  readonly onParentEnd?: OnParentEnd;
  readonly tokens?: number | null;
  readonly budgets?: readonly BudgetView[];
  readonly doubt?: string;
  readonly screen?: string;
  readonly log?: string;
}

const ENDED: Readonly<Partial<Record<Status, Outcome>>> = {
  done: 'completed',
  failed: 'failed',
  lost: 'lost',
  stopped: 'stopped',
  cancelled: 'cancelled',
  'over-budget': 'over_budget',
  superseded: 'superseded',
};

const REASONS: Readonly<Partial<Record<Outcome, string>>> = {
  completed: 'the command returned 0',
  failed: 'the command returned 1',
  lost: 'its keeper died without a record of the exit',
  stopped: 'alice stopped it',
  superseded: 'bob asked to take the session over',
};

const EXITS: Readonly<Partial<Record<Outcome, Partial<RunView>>>> = {
  completed: { exitCode: 0 },
  failed: { exitCode: 1 },
  stopped: { signal: 'SIGTERM' },
  superseded: { signal: 'SIGTERM' },
};

export class FakeWorld {
  /** Where a terminal joins its sessions. */
  joinHost: string | null = null;
  readonly sessions = new Map<string, FakeSession>();
  readonly nowMs: number;
  /** Null in a world of before there were any. */
  reviews: readonly ReviewView[] | null = null;
  earlier = 0;
  seq = 0;

  constructor(nowMs: number) {
    this.nowMs = nowMs;
  }

  add(plan: Plan): FakeSession {
    const number = this.sessions.size + 1;
    const runs = runsOf(plan, number, this.nowMs);
    const session: FakeSession = {
      detail: detailOf(plan, number, runs, this.nowMs),
      events: [],
      log: plan.log ?? '',
      screen: plan.screen ?? '',
      processes: processesOf(plan, number),
    };
    this.sessions.set(session.detail.id, session);
    for (const run of runs) this.#tellRun(session, run);
    return session;
  }

  find(reference: string): FakeSession | undefined {
    return [...this.sessions.values()].find(
      ({ detail }) =>
        detail.id === reference ||
        detail.name === reference ||
        detail.runs.some(({ id }) => id === reference),
    );
  }

  named(name: string): FakeSession {
    const session = this.find(name);
    if (session === undefined) throw new Error(`There is no session ${name} in this world.`);
    return session;
  }

  record(
    session: FakeSession,
    kind: string,
    actor: string,
    text: string,
    at: string,
    run: string,
  ): EventView {
    this.seq += 1;
    const { id, name } = session.detail;
    const event = { seq: this.seq, at, sessionId: id, session: name, run, kind, actor, text };
    session.events.push(event);
    return event;
  }

  #tellRun(session: FakeSession, run: RunView): void {
    const { cwd, argv } = session.detail;
    const tell = (kind: string, actor: string, text: string, at = run.startedAt) =>
      this.record(session, kind, actor, text, at, run.id);
    tell(
      'run.claimed',
      run.actor,
      `${run.actor} claimed the session for run ${run.epoch} (${run.id}): ${argv.join(' ')}, in ${cwd}, ${run.mode}.`,
    );
    tell(
      'run.started',
      run.actor,
      `Its keeper is pid ${run.keeperPid}, holding the tree by a cgroup of its own.`,
    );
    tell('run.executing', 'keeper', `The command is executing as pid ${run.pid}.`);
    if (run.endedAt === null) return;
    tell(
      'run.ended',
      'keeper',
      `Run ${run.id} ended as ${run.outcome}: ${run.reason} (recorded by keeper). Evidence: its cgroup is empty.`,
      run.endedAt,
    );
  }
}

function detailOf(plan: Plan, number: number, runs: readonly RunView[], nowMs: number): SessionDetailView {
  const run = runs.at(-1);
  if (run === undefined) throw new Error('A session has a run.');
  const isLive = run.state !== 'ended';
  const harness = plan.harness ?? 'claude';
  const saysWhatItDoes = isLive && harness !== 'command' && plan.status !== 'unknown';
  return {
    name: plan.name,
    id: `s-${String(number).padStart(4, '0')}fakesession`,
    harness,
    cwd: plan.cwd ?? `/home/alice/src/${plan.name}`,
    argv: plan.argv ?? [harness],
    nativeId: harness === 'command' ? null : `8e18be4f-0000-4000-8000-${String(number).padStart(12, '0')}`,
    status: plan.status,
    activity: saysWhatItDoes
      ? {
          since: iso(nowMs - number * 40 * SECOND_MS),
          evidence: plan.evidence ?? `its ${plan.status === 'idle' ? 'Stop' : 'PreToolUse'} hook`,
          waitingFor: plan.waitingFor ?? null,
        }
      : null,
    epoch: run.epoch,
    run,
    branch: plan.branch === undefined ? 'main' : plan.branch,
    memoryBytes: isLive ? (180 + number * 37) * MEGABYTE : null,
    tokens: plan.tokens === undefined ? (number % 3 === 2 ? null : 41_000 * number) : plan.tokens,
    budgets: plan.budgets ?? [],
    spent: null,
    runs,
    children: plan.children?.(run) ?? [],
    doubt: plan.doubt ?? null,
    mute: null,
  };
}

function runsOf(plan: Plan, number: number, nowMs: number): readonly RunView[] {
  const outcome = ENDED[plan.status] ?? null;
  const startMs = nowMs - number * 7 * MINUTE_MS - HOUR_MS;
  const endMs = outcome === null ? null : nowMs - number * 6 * MINUTE_MS;
  const plans = plan.runs ?? [{ actor: 'alice', startMs, endMs, outcome }];
  return plans.map((each, index) => runOf(each, index + 1, number, plan));
}

function runOf(
  { actor, startMs, endMs, outcome, reason }: RunPlan,
  epoch: number,
  number: number,
  plan: Plan,
): RunView {
  const mode = plan.mode ?? 'detached';
  const id = `r-${String(number).padStart(4, '0')}x${String(epoch).padStart(3, '0')}fakerun`;
  return {
    id,
    epoch,
    state: outcome === null ? 'running' : 'ended',
    mode,
    outcome,
    actor,
    pid: 4000 + number * 10 + epoch,
    keeperPid: 3999 + number * 10 + epoch,
    host: plan.host ?? 'laptop/0123456789ab',
    startedAt: iso(startMs),
    endedAt: endMs === null ? null : iso(endMs),
    exitCode: null,
    signal: null,
    proof: outcome === null ? null : 'kernel',
    reason: reason ?? (outcome === null ? null : (REASONS[outcome] ?? null)),
    liveness: outcome !== null ? 'dead' : plan.status === 'unknown' ? 'unknown' : 'alive',
    containment: 'cgroup',
    parent: plan.parent?.id ?? null,
    owner: plan.parent?.id ?? null,
    onParentEnd: plan.parent === undefined ? null : (plan.onParentEnd ?? 'cancel'),
    logPath: mode === 'detached' ? `/home/alice/.local/state/reeve/runs/${id}/output.log` : null,
    ...(outcome === null ? {} : EXITS[outcome]),
  };
}

function processesOf(plan: Plan, number: number): readonly MemberView[] {
  const pid = 4000 + number * 10;
  return [
    { pid, name: 'reeve-keeper', memoryBytes: 5 * MEGABYTE },
    { pid: pid + 1, name: plan.argv?.[0] ?? plan.harness ?? 'claude', memoryBytes: 310 * MEGABYTE },
    { pid: pid + 2, name: 'node vite --port 5173', memoryBytes: 142 * MEGABYTE },
    { pid: pid + 3, name: 'esbuild', memoryBytes: null },
  ];
}

function iso(atMs: number): string {
  return new Date(atMs).toISOString();
}
