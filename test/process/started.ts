/** Processes that a test started: each is remembered with its start time, and ended with the test. */
import { spawn } from 'node:child_process';
import type { ChildProcessByStdio } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { eventually, isAlive, see, signalSeen } from '../support/processes.ts';
import type { Seen } from '../support/processes.ts';

type Talking = ChildProcessByStdio<Writable, Readable, null>;

export interface Started {
  readonly child: Talking;
  readonly pid: number;
  readonly seen: Seen;
  /** Settles when it is gone and collected. */
  readonly exited: Promise<void>;
  /** The next line that it prints. */
  readonly line: () => Promise<string>;
}

const remembered: Seen[] = [];

export function start(
  program: string,
  args: readonly string[],
  options: { env?: Record<string, string>; detached?: boolean; cwd?: string } = {},
): Started {
  const child = spawn(program, [...args], {
    ...options,
    env: { PATH: process.env['PATH'] ?? '', ...options.env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  let text = '';
  child.stdout.on('data', (chunk) => (text += String(chunk)));
  // It may be gone, on purpose, before what it would have read is written.
  child.stdin.on('error', () => {});
  const line = () =>
    eventually(`a line from ${program}`, () => {
      const length = text.indexOf('\n');
      if (length === -1) return null;
      const first = text.slice(0, length);
      text = text.slice(length + 1);
      return { first };
    }).then(({ first }) => first);
  const seen = remember(child.pid ?? 0);
  return { child, pid: seen.pid, seen, exited, line };
}

/** Also for what a started process started itself. */
export function remember(pid: number): Seen {
  const seen = see(pid);
  remembered.push(seen);
  return seen;
}

/** It answers, so it executes: that no signal ended it is then more than an entry in a table. */
export async function answers({ child, line }: Started, word: string): Promise<boolean> {
  child.stdin.write(`${word}\n`);
  return (await line()) === word;
}

export async function end({ seen, exited }: Started): Promise<void> {
  signalSeen(seen, 'SIGKILL');
  await exited;
}

export async function endStarted(): Promise<void> {
  const all = remembered.splice(0);
  for (const seen of all) signalSeen(seen, 'SIGKILL');
  await eventually('everything that the test started is gone', () => !all.some(isAlive));
}
