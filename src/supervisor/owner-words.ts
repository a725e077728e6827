import { MORE_FILES, ReeveError, TOO_MANY_FILES } from '../api/errors.ts';
import { HELD_BY_ANOTHER } from '../process/keeper.ts';
import type { LiveHarness } from './discovery.ts';
import type { OwnerElsewhere } from './ownership/elsewhere.ts';
import type { LaunchResult, Owner } from './launch.ts';
import { age, clock } from '../api/time-words.ts';
import type { OutOfReach } from '../lifecycle/reach.ts';
import { hostName } from '../lifecycle/reach.ts';
import type { Run } from '../lifecycle/run.ts';

/** A start that goes on; what stands in its way is thrown. */
export function accepted(
  result: LaunchResult,
  nowMs: number,
): Extract<LaunchResult, { is: 'started' | 'attached' }> {
  switch (result.is) {
    case 'refused':
      throw result.code === 'live_owner' ? liveOwnerError(result, nowMs) : insideError(result);
    case 'unproven':
      throw unprovenError(result, nowMs);
    case 'unmanaged':
      throw unmanagedError(result, nowMs);
    case 'elsewhere':
      throw elsewhereError(result);
    case 'never_started':
      throw neverStarted(result.session.name, result.run.ending?.reason ?? 'no reason is known');
    case 'attached':
    case 'started':
      return result;
  }
}

function neverStarted(name: string, reason: string): ReeveError {
  if (reason.startsWith(HELD_BY_ANOTHER)) {
    return new ReeveError('live_owner', `${name} did not start: ${reason}.`, {
      hint: 'That run cannot be seen from here. Look where it was started: outside of this container, or as its user.',
      details: { session: name },
    });
  }
  return new ReeveError('never_started', `${name} did not start: ${reason}.`, {
    hint: reason.endsWith(TOO_MANY_FILES) ? MORE_FILES : 'Check the command and its directory.',
    details: { session: name, outcome: 'never_started' },
  });
}

/** Who owns a session, so that a person can decide: run, process, host, since when. */
function describeOwner({ run }: Owner, nowMs: number): string {
  return `run ${run.id} ${describeRun(run, nowMs)}`;
}

function describeRun(run: Run, nowMs: number): string {
  const sinceMs = run.startedAtMs ?? run.claimedAtMs;
  const process = run.harness?.pid ?? run.keeper?.pid ?? run.launcher.pid;
  const place = `pid ${process} on ${hostName(run.launcher.host)}`;
  return `(epoch ${run.epoch}, ${place}, since ${clock(sinceMs)}, ${age(sinceMs, nowMs)} ago)`;
}

/** Of another state directory, or of another store of this one. */
export function elsewhereError({ home, run, session, pid, keeperPid }: OwnerElsewhere): ReeveError {
  const name = session ?? run;
  const process = pid === null ? `keeper pid ${keeperPid}` : `pid ${pid}`;
  return new ReeveError(
    'live_owner',
    `It already has a live owner in the state directory ${home}: run ${run}${session === null ? '' : ` of ${session}`} (${process}).`,
    {
      hint: `Join it: REEVE_HOME=${home} reeve attach ${name}    End it: REEVE_HOME=${home} reeve stop ${name}`,
      details: { home, owner: { run, session, pid, keeperPid } },
    },
  );
}

export function ownerDetails({ session, run }: Owner): Readonly<Record<string, unknown>> {
  return {
    session: session.name,
    owner: {
      run: run.id,
      epoch: run.epoch,
      state: run.state,
      pid: run.harness?.pid ?? null,
      keeperPid: run.keeper?.pid ?? null,
      host: run.launcher.host,
      since: new Date(run.startedAtMs ?? run.claimedAtMs).toISOString(),
    },
  };
}

type Refused = Extract<LaunchResult, { is: 'refused' }>;

function liveOwnerError(owner: Refused, nowMs: number): ReeveError {
  const { name } = owner.session;
  const who = describeOwner(owner, nowMs);
  if (owner.away !== null) return awayError(owner, owner.away, who);
  if (owner.nativeId !== undefined) return servedElsewhereError(owner, owner.nativeId, nowMs);
  return new ReeveError('live_owner', `${name} already has a live owner: ${who}.`, {
    hint: `Join it: reeve attach ${name}    End it: reeve stop ${name}    Take over: add --on-live retire`,
    details: ownerDetails(owner),
  });
}

/** Another session's run serves the conversation, and is not taken over under this one's name. */
function servedElsewhereError(owner: Owner, nativeId: string, nowMs: number): ReeveError {
  const { name } = owner.session;
  const who = `run ${owner.run.id} of ${name} ${describeRun(owner.run, nowMs)}`;
  return new ReeveError('live_owner', `Conversation ${nativeId} already has a live owner: ${who}.`, {
    hint: `Join it: reeve attach ${name}    End it: reeve stop ${name}`,
    details: { nativeId, ...ownerDetails(owner) },
  });
}

/** It may well be alive, and nobody here can end it. */
function awayError(owner: Owner, away: OutOfReach, who: string): ReeveError {
  const { name } = owner.session;
  return new ReeveError('live_owner', `${name} already has a live owner: ${who}; ${away.because}.`, {
    hint: endingWays(away, name),
    details: { ...away.details, ...ownerDetails(owner) },
  });
}

/** How to end what cannot be ended from here, and the last way there is. */
export function endingWays({ wayOn, needsWord, details }: OutOfReach, name: string): string {
  if (details['home'] !== undefined) return `${wayOn} reeve stop ${name}`;
  return needsWord
    ? `${wayOn}; or, if you know that it is gone: reeve kill ${name} --assume-gone`
    : `${wayOn}.`;
}

function insideError(owner: Owner): ReeveError {
  return new ReeveError(
    'inside_own_run',
    `This command runs inside ${owner.run.id}, the run it would have to end.`,
    {
      hint: `Take ${owner.session.name} over from a terminal outside of it.`,
      details: ownerDetails(owner),
    },
  );
}

function unprovenError(owner: Extract<LaunchResult, { is: 'unproven' }>, nowMs: number): ReeveError {
  const { name } = owner.session;
  const wayOn =
    owner.lives === true
      ? `End it: reeve stop ${name}`
      : (owner.wayOn ?? `If you know that it is gone: reeve kill ${name} --assume-gone`);
  return new ReeveError(
    'unproven',
    `${name} was not started: it could not be proven that ${describeOwner(owner, nowMs)} has ended: ${owner.because}.`,
    {
      hint: `Look: reeve show ${name}    ${wayOn}`,
      details: ownerDetails(owner),
    },
  );
}

/** An owner that Reeve did not start: process, command, since when. */
export function describeUnmanaged({ identity, argv, startedAtMs }: LiveHarness, nowMs: number): string {
  const since = startedAtMs === null ? '' : `, since ${clock(startedAtMs)}, ${age(startedAtMs, nowMs)} ago`;
  return `pid ${identity.pid} (${shortened(argv.join(' '))}${since})`;
}

function unmanagedError(
  { owner, because }: Extract<LaunchResult, { is: 'unmanaged' }>,
  nowMs: number,
): ReeveError {
  const { identity, argv, nativeId, startedAtMs, cwd, harness, evidence } = owner;
  const who = describeUnmanaged(owner, nowMs);
  return new ReeveError(
    because === null ? 'unmanaged_owner' : 'survivors',
    `Conversation ${nativeId} already has a live owner that Reeve did not start: ${who}${because === null ? '' : `, which ${because}`}.`,
    {
      hint: `Leave it there, or bring it under Reeve: reeve adopt ${identity.pid}    End exactly this one: add --on-live retire --unmanaged`,
      details: {
        nativeId,
        owner: {
          pid: identity.pid,
          harness,
          argv,
          cwd,
          since: startedAtMs === null ? null : new Date(startedAtMs).toISOString(),
          evidence,
        },
      },
    },
  );
}

function shortened(command: string): string {
  const plain = command.replaceAll(/[\p{Cc}\s]+/gu, ' ');
  return plain.length > 100 ? `${plain.slice(0, 100)}…` : plain;
}
