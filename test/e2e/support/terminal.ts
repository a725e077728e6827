/** A harness in a tmux server of its own, which ends with it. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually, isAlive, see } from '../../support/processes.ts';
import type { HarnessHome } from './harness-home.ts';

export interface Terminal {
  /** The first process of the pane: the harness itself. */
  readonly pid: number;
  /** What can be seen, without trailing blanks. */
  pane(): string;
  title(): string;
  /** Types one line and sends it off. */
  type(line: string): Promise<void>;
  key(name: string): void;
  /** Hangs up the terminal and waits until the harness is gone. */
  close(): Promise<void>;
}

/** Gemini and Codex take an Enter right behind other keys for part of something pasted, and send nothing off. */
const PASTE_PAUSE_MS = 300;

/** Several terminals of one home each have a server. */
let opened = 0;

const COLUMNS = '120';
const LINES = '40';

export function openTerminal(harness: HarnessHome, args: readonly string[]): Terminal {
  const socket = join(harness.temporary, `tmux-${opened++}`);
  // The server takes its environment from the client that starts it, and hands it on; so the harness has only its own.
  const tmux = (...words: readonly string[]) =>
    execFileSync('tmux', ['-S', socket, '-f', '/dev/null', ...words], {
      env: harness.env,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    }).trimEnd();
  // A harness that ends at once leaves its last words in the pane.
  const keep = ['set-option', '-g', 'remain-on-exit', 'on'];
  const start = [
    'new-session',
    '-d',
    '-P',
    '-F',
    '#{pane_pid}',
    '-x',
    COLUMNS,
    '-y',
    LINES,
    '-c',
    harness.work,
  ];
  const pid = Number(tmux('start-server', ';', ...keep, ';', ...start, '--', ...harness.program, ...args));
  const started = see(pid);
  const pane = () => tmux('capture-pane', '-p');
  return {
    pid,
    pane,
    title: () => tmux('display-message', '-p', '#{pane_title}'),
    type: async (line) => {
      tmux('send-keys', '-l', line);
      await eventually(`${harness.name} shows what was typed`, () => pane().includes(line.slice(0, 20)));
      await sleep(PASTE_PAUSE_MS);
      tmux('send-keys', 'Enter');
    },
    key: (name) => void tmux('send-keys', name),
    close: async () => {
      tmux('kill-server');
      await eventually(`${harness.name} is gone with its terminal`, () => !isAlive(started));
    },
  };
}
