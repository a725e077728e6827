/** Brings a harness that is running already under supervision, without restarting it: it is watched from now on. */
import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ReeveError } from '../api/errors.ts';
import type { Run } from '../lifecycle/run.ts';
import { proposeSessionName, refuseSessionName } from '../lifecycle/session.ts';
import { HELD_BY_ANOTHER } from '../process/keeper.ts';
import { maySignal } from '../process/may-signal.ts';
import { identify } from '../process/process-table.ts';
import { isThere } from '../process/reading.ts';
import { createRunDirectory } from '../process/run-directory.ts';
import { hashToken } from '../store/sql-store.ts';
import type { ClaimResult, SessionWithRun } from '../store/store.ts';
import { checkConfig } from './config-check.ts';
import type { Context } from './context.ts';
import { refuseIdAsName } from './id-as-name.ts';
import { ancestorsOf, harnessAt } from './discovery.ts';
import type { LiveHarness } from './discovery.ts';
import { newId } from './new-id.ts';
import { elsewhereError } from './owner-words.ts';
import { requireOwnersKnown } from './ownership/continuity.ts';
import { ownerElsewhere } from './ownership/elsewhere.ts';
import { holderOf } from './ownership/holder.ts';
import { runOf } from './ownership/manager.ts';
import { runDirectory } from './liveness.ts';
import { startClaimed } from './start-claimed.ts';

export async function adopt(
  context: Context,
  pid: number,
  options: { readonly session?: string | undefined } = {},
): Promise<SessionWithRun> {
  const refusal =
    options.session === undefined
      ? null
      : (refuseSessionName(options.session) ?? (await refuseIdAsName(context, options.session)));
  if (refusal !== null) throw new ReeveError('bad_name', `This cannot be a session's name: ${refusal}.`);
  if (process.platform !== 'linux') {
    throw new ReeveError('usage', 'A running process can be adopted only on Linux so far.', {
      hint: 'End it, and go on with its conversation: reeve resume ID',
    });
  }
  const harness = await harnessAt(context, pid);
  if (harness === null) throw notThere(context, pid);
  refuseAnothers(context, harness);
  await refuseOwned(context, harness);
  await refuseHeld(context, harness, options.session);
  refuseFromInside(context, harness);
  await requireOwnersKnown(context);
  const token = randomBytes(24).toString('base64url');
  const isLimited = await checkConfig(context);
  const claimed = await claim(context, harness, options.session, hashToken(token));
  if (!claimed.won) throw notClaimed(claimed, harness);
  const rival = await rivalOf(context, claimed.run, harness);
  const started = await startClaimed(context, claimed, {
    token,
    foregroundOutput: 'stderr',
    terminal: 'none',
    // It is there already, so nothing is refused: what is over a budget is dealt with at the first look.
    firstLookMs: claimed.session.budget === null && !isLimited ? null : 1,
    prepare: () => {
      if (rival !== null) throw alreadySupervised(harness, rival);
      return { argv: [String(pid), harness.identity.startTime ?? ''], environment: {} };
    },
  });
  if (started.is === 'never_started') {
    if (rival !== null) throw alreadySupervised(harness, rival);
    const reason = started.run.ending?.reason ?? 'no reason is known';
    throw new ReeveError(
      reason.startsWith(HELD_BY_ANOTHER) ? 'live_owner' : 'never_started',
      `Pid ${pid} was not adopted: ${reason}.`,
    );
  }
  started.release();
  return { session: started.session, run: started.run };
}

function notClaimed(
  { because, session, run }: Extract<ClaimResult, { won: false }>,
  { nativeId }: LiveHarness,
): ReeveError {
  if (because === 'native_taken') {
    return new ReeveError('bound_elsewhere', `Conversation ${nativeId} belongs to session ${session.name}.`, {
      hint: `Leave out --session, or give that one: --session ${session.name}`,
      details: { nativeId, session: session.name },
    });
  }
  return new ReeveError('live_owner', `${session.name} already has a live owner: run ${run.id}.`, {
    hint: `Look at it: reeve show ${session.name}`,
  });
}

function notThere(context: Context, pid: number): ReeveError {
  return context.table.read(pid).is === 'there'
    ? new ReeveError('usage', `Pid ${pid} is not a harness that Reeve knows, or not yours to look at.`, {
        hint: '`reeve scan` lists those that can be adopted.',
      })
    : new ReeveError('not_found', `There is no process ${pid}.`, {
        hint: '`reeve scan` lists live harnesses.',
      });
}

/** Whoever may not signal it could keep none of what an owner promises. */
function refuseAnothers({ table }: Context, { identity }: LiveHarness): void {
  if (maySignal(table, identity)) return;
  throw new ReeveError(
    'out_of_reach',
    `Pid ${identity.pid} belongs to another user, and this one may not signal it.`,
    { hint: 'Nothing was changed. Adopt it as the user who started it, or as root.' },
  );
}

async function refuseOwned(context: Context, { identity }: LiveHarness): Promise<void> {
  // What a run of another state directory started, or is, is that one's to supervise.
  const elsewhere = ownerElsewhere(context, identity.pid);
  if (elsewhere !== null) throw elsewhereError(elsewhere);
  const owner = await runOf(context, identity);
  if (owner?.is === 'elsewhere') throw elsewhereError(owner);
  if (owner !== null) throw alreadySupervised({ identity }, owner);
}

/**
 * The keeper would be refused what another one holds, and the run that never started would stay on record, with the
 * conversation bound to it. Looked at before the claim, a refusal leaves nothing; only a race is left to the keeper.
 */
async function refuseHeld(
  context: Context,
  { harness, nativeId }: LiveHarness,
  session: string | undefined,
): Promise<void> {
  const wanted = { name: session, id: undefined };
  const holder = await holderOf(context, { session: wanted, harness, nativeId, mayExist: true });
  if (holder === null) return;
  const { home, session: its, run } = holder.announcement;
  const keeperPid = run.keeper.pid;
  throw elsewhereError({ home, run: run.id, session: its.name, pid: null, keeperPid });
}

function alreadySupervised(
  { identity }: Pick<LiveHarness, 'identity'>,
  { session, run }: SessionWithRun,
): ReeveError {
  return new ReeveError(
    'live_owner',
    `Pid ${identity.pid} is already supervised: it is run ${run.id} of ${session.name}.`,
    {
      details: { session: session.name, run: run.id },
    },
  );
}

/**
 * Somebody else who is adopting the same process under another name, and may not have come to put it on record. Each
 * leaves word of what it adopts before it looks for the others, so of two at least one sees the other, and gives up.
 */
async function rivalOf(
  context: Context,
  run: Run,
  { identity }: LiveHarness,
): Promise<SessionWithRun | null> {
  const word = (runId: string) => join(runDirectory(context, runId), 'adopts');
  const what = `${identity.pid} ${identity.startTime}`;
  createRunDirectory(runDirectory(context, run.id));
  writeFileSync(word(run.id), what, { mode: 0o600 });
  const others = (await context.store.live()).filter((other) => other.run.id !== run.id);
  const isRival = (other: Run) => isThere(word(other.id)) && readFileSync(word(other.id), 'utf8') === what;
  return others.find((other) => isRival(other.run)) ?? null;
}

/** The watcher would be a part of what it watches, and end with it. */
function refuseFromInside(context: Context, { identity }: LiveHarness): void {
  const parents = new Map(context.table.all().map(({ pid, parentPid }) => [pid, parentPid]));
  if (![...ancestorsOf(parents, process.pid)].includes(identity.pid)) return;
  throw new ReeveError(
    'inside_own_run',
    `This command runs inside pid ${identity.pid}, which it was asked to adopt.`,
    {
      hint: 'Adopt it from a terminal outside of it.',
    },
  );
}

async function claim(
  context: Context,
  { harness, nativeId, argv, cwd }: LiveHarness,
  wanted: string | undefined,
  tokenHash: string,
): Promise<ClaimResult> {
  const bound = nativeId === null ? null : await context.store.sessionByNative(harness, nativeId);
  const name = wanted ?? bound?.session.name;
  const place = cwd ?? process.cwd();
  for (let number = 1; ; number += 1) {
    const result = await context.store.claim({
      runId: newId('r'),
      sessionId: newId('s'),
      sessionName: name ?? proposeSessionName(place, harness, number),
      mustBeNew: name === undefined,
      harness,
      cwd: place,
      argv,
      mode: 'adopted',
      actor: context.actor,
      launcher: identify(context.table, process.pid),
      tokenHash,
      parent: null,
      logPath: null,
      nativeId,
    });
    // A name that was only proposed makes way for another's.
    if (result.won || result.because === 'native_taken' || name !== undefined) return result;
  }
}
