/** What the fake daemon does when it is asked to do something. */
import type { Outcome } from '../../src/lifecycle/run.ts';
import type { Status } from '../../src/lifecycle/status.ts';
import { notFound } from './fake-errors.ts';
import type { Answer } from './fake-reads.ts';
import type { FakeSession, FakeWorld } from './fake-world.ts';

/** What of the fake daemon is needed to do it. */
export interface Doer {
  readonly world: FakeWorld;
  push(session: FakeSession, kind: string, text: string): unknown;
}

export function answerVerb(daemon: Doer, url: URL, body: unknown): Answer {
  const [, , , reference = '', verb] = url.pathname.split('/');
  const session = daemon.world.find(decodeURIComponent(reference));
  if (session === undefined) return { status: 404, value: { error: notFound() } };
  switch (verb ?? 'attach') {
    case 'stop':
    case 'kill':
      end(daemon, session, 'stopped', 'alice stopped it');
      return { status: 200, value: session.detail };
    case 'retire':
      end(daemon, session, 'superseded', 'alice retired it');
      return { status: 200, value: session.detail };
    case 'resume':
      resume(daemon, session);
      return { status: 200, value: session.detail };
    case 'send': {
      const { text } = body as { text: string };
      daemon.push(session, 'message.delivered', `alice sent it a message of ${text.length} characters.`);
      return { status: 200, value: { session: session.detail.name, characters: text.length } };
    }
    default:
      return {
        status: 200,
        value: { command: `reeve attach ${session.detail.name}`, host: daemon.world.joinHost },
      };
  }
}

export function end(daemon: Doer, session: FakeSession, outcome: Outcome & Status, reason: string): void {
  const { detail } = session;
  const run = {
    ...detail.run,
    state: 'ended' as const,
    outcome,
    reason,
    endedAt: new Date().toISOString(),
    liveness: 'dead' as const,
  };
  session.detail = {
    ...detail,
    status: outcome,
    activity: null,
    memoryBytes: null,
    run,
    runs: [...detail.runs.slice(0, -1), run],
  };
  daemon.push(session, 'run.ended', `Run ${run.id} ended as ${outcome}: ${reason} (recorded by keeper).`);
}

function resume(daemon: Doer, session: FakeSession): void {
  const { detail } = session;
  const epoch = detail.epoch + 1;
  const run = {
    ...detail.run,
    id: `${detail.run.id}-${epoch}`,
    epoch,
    state: 'running' as const,
    outcome: null,
    reason: null,
    exitCode: null,
    signal: null,
    proof: null,
    startedAt: new Date().toISOString(),
    endedAt: null,
    liveness: 'alive' as const,
  };
  session.detail = { ...detail, status: 'working', epoch, run, runs: [...detail.runs, run] };
  daemon.push(session, 'run.executing', `The command is executing as pid ${run.pid}.`);
}
