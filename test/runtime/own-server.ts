/** tmux servers of a test's own: each on a socket in a directory of its own, ended and proven gone after the test. */
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { vi } from 'vitest';
import { openTmux } from '../../src/runtime/tmux.ts';
import type { PaneOrder, StartedPane, Tmux, TmuxAnswer } from '../../src/runtime/tmux.ts';
import { eventually, isAlive, see, signalSeen } from '../support/processes.ts';
import type { Seen } from '../support/processes.ts';

const TMUX = execFileSync('sh', ['-c', 'command -v tmux'], { encoding: 'utf8' }).trim();
/** Only turns a hang into a failure: what is expected to answer is given all the time it needs. */
const PATIENT_MS = 30_000;

let directory = '';
let servers = new Map<string, Seen>();

export function prepare(): void {
  directory = mkdtempSync(join(tmpdir(), 'reeve-tmux-'));
  servers = new Map();
}

/** Fails when a server of the test is still there after it was told to end. */
export async function cleanUp(): Promise<void> {
  vi.unstubAllEnvs();
  // A test that failed may have left them stopped, or started one that nobody was told of.
  for (const seen of servers.values()) signalSeen(seen, 'SIGCONT');
  const pid = Number(raw(path('socket'), 'display-message', '-p', '#{pid}'));
  if (pid > 0) remember(path('socket'), pid);
  for (const [socket, seen] of servers) {
    raw(socket, 'kill-server');
    await eventually('the tmux server of the test is gone', () => !isAlive(seen));
  }
  rmSync(directory, { recursive: true, force: true });
}

export function path(name: string): string {
  return join(directory, name);
}

export function open(limitMs = PATIENT_MS): Tmux {
  return openTmux(path('socket'), limitMs);
}

/** tmux itself, past the code under test. */
export function raw(socket: string, ...args: string[]): string {
  const { TMUX: _, ...env } = process.env;
  const { stdout } = spawnSync(TMUX, ['-u', '-S', socket, '-f', '/dev/null', ...args], {
    encoding: 'utf8',
    env,
    cwd: '/',
  });
  return stdout;
}

export function valueOf<T>(answer: TmuxAnswer<T> | { readonly is: 'refused' }): T {
  if (answer.is === 'answered') return answer.value;
  throw new Error(`tmux did not answer: ${JSON.stringify(answer)}`);
}

export function orderOf(name: string, argv: readonly string[], more: Partial<PaneOrder> = {}): PaneOrder {
  const environment = { PATH: process.env['PATH'] ?? '' };
  return { name, cwd: directory, argv, environment, columns: 80, rows: 24, logPath: null, ...more };
}

export async function start(
  tmux: Tmux,
  name: string,
  argv: readonly string[] = ['cat'],
  more: Partial<PaneOrder> = {},
): Promise<StartedPane> {
  const started = valueOf(await tmux.start(orderOf(name, argv, more)));
  remember(tmux.socket, valueOf(await tmux.server()).pid);
  return started;
}

export function remember(socket: string, serverPid: number): Seen {
  const seen = see(serverPid);
  servers.set(socket, seen);
  return seen;
}

export function serverOf(tmux: Tmux): Seen {
  const seen = servers.get(tmux.socket);
  if (seen === undefined) throw new Error('The test has started no server.');
  return seen;
}

/** A program that says nothing but `ready`, and writes down every byte that the terminal gives it. */
export async function startRecorder(tmux: Tmux, name: string, bracketed: 'on' | 'off'): Promise<string> {
  const file = path(`${name}.bytes`);
  const program = `
    system 'stty', 'raw', '-echo';
    open F, '>', $ARGV[0] or die;
    $| = 1;
    print $ARGV[1] eq 'on' ? "\\e[?2004hready" : 'ready';
    syswrite F, $bytes while sysread STDIN, $bytes, 65536;`;
  await start(tmux, name, ['perl', '-e', program, file, bracketed]);
  await eventually('the recorder is ready', async () =>
    valueOf(await tmux.capture(name, 0)).includes('ready'),
  );
  return file;
}

/** Waits for as many bytes as are expected, and gives all there are. */
export async function recorded(file: string, bytes: number): Promise<string> {
  return eventually(`${bytes} bytes in ${file}`, () => {
    const read = readFileSync(file);
    return read.length >= bytes && read.toString();
  });
}

export async function contentOf(file: string, isWhole: (text: string) => boolean): Promise<string> {
  return eventually(`the content of ${file}`, () => {
    try {
      const text = readFileSync(file, 'utf8');
      return isWhole(text) && text;
    } catch {
      return null;
    }
  });
}

/** A tmux that misbehaves, found before the real one by what is opened here. */
export function openFake(script: string, limitMs = PATIENT_MS): Tmux {
  const bin = path('bin');
  mkdirSync(bin);
  writeFileSync(join(bin, 'tmux'), `#!/bin/sh\n${script.replaceAll('REAL_TMUX', TMUX)}\n`);
  chmodSync(join(bin, 'tmux'), 0o755);
  vi.stubEnv('PATH', `${bin}:${process.env['PATH']}`);
  return open(limitMs);
}
