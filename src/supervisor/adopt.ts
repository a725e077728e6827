/** Brings a harness that is running already under supervision, without restarting it: it is watched from now on. */
import { randomBytes } from 'node:crypto';
import { ReeveError } from '../api/errors.ts';
import { proposeSessionName, refuseSessionName } from '../lifecycle/session.ts';
import { identify } from '../process/process-table.ts';
import { hashToken } from '../store/sql-store.ts';
import type { ClaimResult, SessionWithRun } from '../store/store.ts';
import type { Context } from './context.ts';
import { ancestorsOf, harnessAt } from './discovery.ts';
import type { LiveHarness } from './discovery.ts';
import { newId } from './launch.ts';
import { startClaimed } from './start-claimed.ts';

export async function adopt(
  context: Context,
  pid: number,
  options: { readonly session?: string | undefined } = {},
): Promise<SessionWithRun> {
  const refusal = options.session === undefined ? null : refuseSessionName(options.session);
  if (refusal !== null) throw new ReeveError('bad_name', `This cannot be a session's name: ${refusal}.`);
  const harness = await harnessAt(context, pid);
  if (harness === null) throw notThere(context, pid);
  await refuseOwned(context, harness);
  refuseFromInside(context, harness);
  const token = randomBytes(24).toString('base64url');
  const claimed = await claim(context, harness, options.session, hashToken(token));
  if (!claimed.won) {
    throw new ReeveError(
      'live_owner',
      `${claimed.session.name} already has a live owner: run ${claimed.run.id}.`,
      {
        hint: `Look at it: reeve show ${claimed.session.name}`,
      },
    );
  }
  const started = await startClaimed(context, claimed, {
    token,
    foregroundOutput: 'stderr',
    prepare: () => ({ argv: [String(pid), harness.identity.startTime ?? ''], environment: {} }),
  });
  if (started.is === 'never_started') {
    throw new ReeveError(
      'never_started',
      `Pid ${pid} was not adopted: ${started.run.ending?.reason ?? 'no reason is known'}.`,
    );
  }
  started.release();
  return { session: started.session, run: started.run };
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

async function refuseOwned(context: Context, { identity }: LiveHarness): Promise<void> {
  const owner = (await context.store.live()).find(
    ({ run }) => run.harness?.pid === identity.pid && run.harness.startTime === identity.startTime,
  );
  if (owner === undefined) return;
  const { session, run } = owner;
  throw new ReeveError(
    'live_owner',
    `Pid ${identity.pid} is already supervised: it is run ${run.id} of ${session.name}.`,
    {
      details: { session: session.name, run: run.id },
    },
  );
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
      logPath: null,
      nativeId,
    });
    if (result.won || result.because !== 'name_taken') return result;
  }
}
