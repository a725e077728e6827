import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SessionDetail } from '../supervisor/list.ts';
import type { Reeve } from '../supervisor/reeve.ts';
import { say } from './output.ts';

/** Longer than a keeper takes to end what ignores the loss of its terminal. */
const CLOSED_LIMIT_MS = 20_000;
const POLL_MS = 50;

export interface JoinOptions {
  /** Who is told how it went on. */
  readonly tell?: (text: string) => void;
  /** Leaves the pane. */
  readonly signal?: AbortSignal;
}

/** Hands the terminal over to the session's pane until it is left or ends. */
export async function joinPane(
  reeve: Reeve,
  name: string,
  { tell = say, signal }: JoinOptions = {},
): Promise<number> {
  const {
    argv: [program = '', ...args],
    environment,
  } = await reeve.attachCommand(name);
  const code = await new Promise<number>((resolve, reject) => {
    const child = spawn(program, args, { stdio: 'inherit', env: environment });
    child.once('error', reject);
    child.once('exit', (status) => resolve(status ?? 1));
    // tmux gives the terminal back itself when it is asked to end, so its end is awaited.
    const leave = () => child.kill('SIGTERM');
    if (signal?.aborted === true) leave();
    signal?.addEventListener('abort', leave, { once: true });
  });
  const { status, run } = await settled(reeve, name);
  if (run.state !== 'ended') {
    tell(`${name} goes on (${status}). Join it again: reeve attach ${name}`);
    return code;
  }
  tell(`${name} is ${status}: ${run.reason ?? 'no reason is known'}.`);
  return run.exitCode ?? (run.outcome === 'stopped' ? 0 : 1);
}

/** A pane that was left is still there; one that was closed takes its run along, within some seconds. */
async function settled(reeve: Reeve, name: string): Promise<SessionDetail> {
  const deadline = performance.now() + CLOSED_LIMIT_MS;
  for (;;) {
    const detail = await reeve.show(name);
    if (detail.run.state === 'ended' || performance.now() > deadline) return detail;
    const isThere = await reeve.screen(name).then(
      () => true,
      () => false,
    );
    if (isThere) return detail;
    await sleep(POLL_MS);
  }
}
