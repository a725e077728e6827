import { spawn } from 'node:child_process';
import type { Reeve } from '../supervisor/reeve.ts';
import { say } from './output.ts';

/** Hands the terminal over to the session's pane until it is left or ends. */
export async function joinPane(reeve: Reeve, name: string): Promise<number> {
  const {
    argv: [program = '', ...args],
    environment,
  } = await reeve.attachCommand(name);
  const code = await new Promise<number>((resolve, reject) => {
    const child = spawn(program, args, { stdio: 'inherit', env: environment });
    child.once('error', reject);
    child.once('exit', (status) => resolve(status ?? 1));
  });
  const { status, run } = await reeve.show(name);
  if (run.state !== 'ended') {
    say(`${name} goes on (${status}). Join it again: reeve attach ${name}`);
    return code;
  }
  say(`${name} is ${status}: ${run.reason ?? 'no reason is known'}.`);
  return run.exitCode ?? (run.outcome === 'stopped' ? 0 : 1);
}
