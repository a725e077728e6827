import type { WhyView } from '../api/http-views.ts';
import type { RunView, SessionView } from '../api/session-view.ts';
import { deriveLiveness, deriveStatus, STATUS_OF_OUTCOME } from '../lifecycle/status.ts';
import type { Status } from '../lifecycle/status.ts';
import type { Activity } from '../lifecycle/harness-fact.ts';
import type { Run } from '../lifecycle/run.ts';
import type { Session } from '../lifecycle/session.ts';
import type { Reconciled } from './reconcile.ts';
import type { Story } from './why.ts';

export function viewSession(
  session: Session,
  seen: Reconciled,
  activity: Activity | null = seen.run.activity,
): SessionView {
  const isLive = seen.run.state !== 'ended';
  return {
    name: session.name,
    id: session.id,
    harness: session.harness,
    cwd: session.cwd,
    argv: session.argv,
    nativeId: session.nativeId,
    status: deriveStatus(seen.run, seen.liveness, seen.because, activity),
    activity: isLive ? viewActivity(session, seen.run, activity) : null,
    epoch: session.epoch,
    run: viewSeen(seen),
  };
}

/** Being over a budget goes before what the harness says, for it may go on saying that it works. */
function viewActivity(
  { name }: Session,
  { overBudget }: Run,
  activity: Activity | null,
): SessionView['activity'] {
  if (overBudget !== null) {
    const waysOn = `raise it (reeve budget set ${name} …), or stop it (reeve stop ${name})`;
    return {
      since: isoTime(overBudget.sinceMs),
      evidence: 'budget',
      waitingFor: `it is over ${overBudget.what}: ${waysOn}`,
    };
  }
  if (activity === null) return null;
  const { sinceMs, evidence, waitingFor } = activity;
  return { since: isoTime(sinceMs), evidence, waitingFor };
}

/** The run as a look found it. */
export function viewSeen({ run, liveness, command }: Reconciled): RunView {
  return viewRun(run, deriveLiveness(liveness, command));
}

export function viewRun(run: Run, liveness: RunView['liveness']): RunView {
  return {
    id: run.id,
    epoch: run.epoch,
    state: run.state,
    mode: run.mode,
    outcome: run.ending?.outcome ?? null,
    actor: run.actor,
    pid: run.harness?.pid ?? null,
    keeperPid: run.keeper?.pid ?? null,
    host: run.launcher.host,
    startedAt: isoTime(run.startedAtMs ?? run.claimedAtMs),
    endedAt: run.ending === null ? null : isoTime(run.ending.endedAtMs),
    exitCode: run.ending?.exitCode ?? null,
    signal: run.ending?.signal ?? null,
    proof: run.ending?.proof ?? null,
    reason: run.ending?.reason ?? run.intent?.reason ?? null,
    liveness,
    containment: run.containment?.by ?? null,
    logPath: run.logPath,
    parent: run.parent?.startedBy ?? null,
    owner: run.parent?.ownerId ?? null,
    onParentEnd: run.parent?.onParentEnd ?? null,
  };
}

/** Of an outcome as it is on record; one of a newer Reeve is not known here. */
export function statusOfOutcome(outcome: string): Status {
  return (STATUS_OF_OUTCOME as Readonly<Record<string, Status>>)[outcome] ?? 'unknown';
}

export function isoTime(atMs: number): string {
  return new Date(atMs).toISOString();
}

export function viewStory({ session, sentences, doubt }: Story): WhyView {
  const told = sentences.map(({ atMs, runId, text }) => ({
    at: isoTime(atMs),
    run: runId,
    text,
  }));
  return { session: session.name, sentences: told, doubt };
}
