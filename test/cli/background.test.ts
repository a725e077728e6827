/** A foreground run whose reeve is itself a job of an interactive shell, moved to and from the terminal's foreground. */
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { eventually, groupOf, isAlive, parentOf, see, signalSeen } from '../support/processes.ts';
import { CLI, createSandbox, finished } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

let sandbox: Sandbox;
beforeEach(() => {
  sandbox = createSandbox();
});
afterEach(() => sandbox.cleanUp());

/** The group that its terminal is handed to: it gets what is typed, Ctrl-C too. */
function terminalGroupOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[8 - 3]);
}

it('Ctrl-C reaches a command that was started in the background and then brought to the foreground', async () => {
  // `script` gives a real terminal; what is typed goes to its standard input.
  const terminal = spawn('script', ['-qec', 'exec sh -i', '/dev/null'], {
    cwd: sandbox.root,
    env: { ...sandbox.env, TERM: 'xterm' },
  });
  const done = finished(terminal);
  const script = 'trap "echo > passed" USR1; echo $$ > ready; while :; do sleep 0.02; done';
  terminal.stdin.write(`${process.execPath} ${CLI} run -s a -- sh -c '${script}' &\n`);
  const worker = await sandbox.pidFrom('ready');
  const reeve = see(parentOf(parentOf(worker.pid)));
  // In the background reeve has no terminal to share, so Ctrl-C can reach the command only through reeve.
  expect([groupOf(worker.pid), groupOf(reeve.pid)]).toEqual([worker.pid, reeve.pid]);
  expect(terminalGroupOf(reeve.pid)).not.toBe(reeve.pid);
  // Until reeve passes signals on, they are held, and would then be passed on wherever they came from.
  signalSeen(reeve, 'SIGUSR1');
  await eventually('reeve passes signals on', () => existsSync(sandbox.path('passed')));

  terminal.stdin.write('fg\n');
  await eventually('reeve has the terminal', () => terminalGroupOf(reeve.pid) === reeve.pid);
  terminal.stdin.write('\u0003');
  await eventually('the command and reeve have ended', () => !isAlive(worker) && !isAlive(reeve));
  terminal.stdin.write('exit $?\n');
  expect((await done).code).toBe(130);
  expect((await sandbox.show('a')).run).toMatchObject({
    outcome: 'failed',
    exitCode: null,
    signal: 'SIGINT',
  });
});
