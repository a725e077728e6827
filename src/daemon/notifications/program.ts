/**
 * Starts a program for one notification and waits for its exit code; of its output nothing is kept.
 *
 * It leads a session of its own, so that a Ctrl-C in the daemon's terminal does not reach it. When its time is over it is
 * killed, it alone: as long as it is this process's unreaped child, nobody else can have its pid. What it started itself
 * is its own affair, and is not waited for.
 */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import type { Attempt } from '../../lifecycle/delivery.ts';
import type { Environment } from './channel.ts';

export interface ProgramRequest {
  readonly argv: readonly string[];
  readonly environment: Environment;
  readonly input: string;
  readonly deadline: AbortSignal;
}

/** There was no room for a process just now; all else that keeps one from starting will keep it again. */
const TRANSIENT = new Set(['EAGAIN', 'ENOMEM', 'EMFILE', 'ENFILE']);

export function runProgram({ argv, environment, input, deadline }: ProgramRequest): Promise<Attempt> {
  const [program = '', ...words] = argv;
  return new Promise((resolve) => {
    let child: ChildProcess;
    try {
      child = spawn(program, words, {
        env: environment,
        detached: true,
        stdio: ['pipe', 'ignore', 'ignore'],
      });
    } catch (error) {
      resolve(unstartable(error));
      return;
    }
    const onDeadline = () => {
      end({ is: 'failed', because: 'it did not end in time, and was killed' });
      child.kill('SIGKILL');
    };
    const end = (attempt: Attempt) => {
      deadline.removeEventListener('abort', onDeadline);
      // Somebody whom it started may hold the other end, and read it never.
      child.stdin?.destroy();
      resolve(attempt);
    };
    deadline.addEventListener('abort', onDeadline);
    // It may come again, when a program that became another user's cannot be killed.
    child.on('error', (error) => end(unstartable(error)));
    child.once('exit', (code, signal) => end(exited(code, signal)));
    // A program that does not read its input closes it early, which is its right.
    child.stdin?.on('error', () => {});
    child.stdin?.end(input);
  });
}

function exited(code: number | null, signal: NodeJS.Signals | null): Attempt {
  if (code === 0) return { is: 'delivered' };
  return {
    is: 'failed',
    because: code === null ? `it was killed by ${signal}` : `it exited with code ${code}`,
  };
}

function unstartable(error: unknown): Attempt {
  // Not the message: that has the arguments in it.
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
  return { is: TRANSIENT.has(code) ? 'failed' : 'refused', because: `it cannot be started (${code})` };
}
