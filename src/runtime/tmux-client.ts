/** Asks our tmux server: one client process for each question, with a limit, and an answer that keeps its doubts. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';

export type TmuxAnswer<T> =
  | { readonly is: 'answered'; readonly value: T }
  /** tmux says so: there is no server on the socket, or no such session in it. */
  | { readonly is: 'gone' }
  /** Slow, stopped, not executable, or an error that proves nothing. What was asked for may still happen. */
  | { readonly is: 'unknown'; readonly because: string };

export interface TmuxClient {
  readonly program: string;
  readonly socket: string;
  readonly limitMs: number;
}

/** The longest answer is a screen with its whole history: 20000 lines of 200 columns, in up to four bytes each. */
const MAX_ANSWER_BYTES = 32 * 1024 * 1024;
/** For a person who reads it. */
const MAX_COMPLAINT_LENGTH = 500;

/** -u: UTF-8 whatever LANG says. No configuration but ours, which comes with each start. */
export function clientArguments(socket: string): string[] {
  return ['-u', '-S', socket, '-f', '/dev/null'];
}

export function askTmux(
  { program, socket, limitMs }: TmuxClient,
  args: readonly string[],
  input = '',
): Promise<TmuxAnswer<string>> {
  return new Promise((resolve) => {
    const unknown = (because: string) => resolve({ is: 'unknown', because });
    const child = spawn(program, [...clientArguments(socket), ...args], {
      // The first client becomes the server: it must hold no directory, and know nothing of who happened to start it.
      cwd: '/',
      env: serverEnvironment(),
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    const output = { stdout: [] as Buffer[], stderr: [] as Buffer[], bytes: 0 };
    const giveUp = (because: string) => {
      unknown(because);
      abandon(child);
    };
    const timer = setTimeout(() => giveUp(`tmux gave no answer within ${limitMs} ms`), limitMs);
    for (const name of ['stdout', 'stderr'] as const) {
      child[name].on('data', (chunk: Buffer) => {
        output[name].push(chunk);
        output.bytes += chunk.length;
        if (output.bytes > MAX_ANSWER_BYTES) giveUp(`tmux answered with more than ${MAX_ANSWER_BYTES} bytes`);
      });
    }
    child.once('error', (error) => {
      clearTimeout(timer);
      unknown(`tmux could not be executed: ${error.message}`);
    });
    child.once('close', (code) => {
      clearTimeout(timer);
      const [stdout, stderr] = [output.stdout, output.stderr].map((chunks) =>
        Buffer.concat(chunks).toString(),
      );
      resolve(answerOf(code, stdout ?? '', (stderr ?? '').trim(), socket));
    });
    // A client that ended without reading everything has said why, or its exit says that it did not work.
    child.stdin.on('error', () => {});
    child.stdin.end(input);
  });
}

/** Only the client is ended, which this process started and has not collected yet. The server is left alone. */
function abandon(child: ChildProcess): void {
  child.kill('SIGKILL');
  for (const stream of child.stdio) stream?.destroy();
  child.unref();
}

function answerOf(code: number | null, stdout: string, stderr: string, socket: string): TmuxAnswer<string> {
  if (code === 0) return { is: 'answered', value: stdout };
  if (code !== null && saysGone(stderr, socket)) return { is: 'gone' };
  const complaint = (stderr || stdout).slice(0, MAX_COMPLAINT_LENGTH);
  return {
    is: 'unknown',
    because: complaint || `tmux ended ${code === null ? 'by a signal' : `with ${code}`}`,
  };
}

/** The words of tmux 3.3 to 3.5, which it does not translate. Permission denied, for one, proves nothing. */
function saysGone(stderr: string, socket: string): boolean {
  return (
    stderr === `no server running on ${socket}` ||
    stderr === `error connecting to ${socket} (No such file or directory)` ||
    stderr === `error connecting to ${socket} (Connection refused)` ||
    /^can't find (session|window|pane): [^\n]*$/.test(stderr)
  );
}

const SERVER_VARIABLES = new Set(['PATH', 'HOME', 'TERM', 'LANG', 'TMPDIR', 'SHELL']);

/** Marks of the caller's own session, and secrets, would stay in the server as long as it lives. TMUX goes with them. */
function serverEnvironment(): Record<string, string> {
  return environmentOf((name) => SERVER_VARIABLES.has(name) || name.startsWith('LC_'));
}

/** COLORTERM is how a terminal says that it knows more colours than its TERM. */
export function attachEnvironment(): Record<string, string> {
  return environmentOf(
    (name) => SERVER_VARIABLES.has(name) || name.startsWith('LC_') || name === 'COLORTERM',
  );
}

function environmentOf(isPassed: (name: string) => boolean): Record<string, string> {
  return Object.fromEntries(
    Object.entries(process.env).filter(
      (entry): entry is [string, string] => entry[1] !== undefined && isPassed(entry[0]),
    ),
  );
}
