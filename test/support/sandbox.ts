/** A state directory of a test's own, the built CLI on it, and the proof that nothing of it is left. */
import { spawn } from 'node:child_process';
import type { ChildProcess, SpawnOptions } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DatabaseSync } from '@photostructure/sqlite';
import { VERBS } from '../../src/cli/verbs.ts';
import type { SessionView } from '../../src/api/session-view.ts';
import type { SessionDetail } from '../../src/supervisor/list.ts';
import type { Reeve } from '../../src/supervisor/reeve.ts';
import { eventually, isExecuting, see, signalSeen, startedWith } from './processes.ts';
import type { Seen } from './processes.ts';

export const CLI = fileURLToPath(new URL('../../dist/reeve.cjs', import.meta.url));

/** What a finished command wrote is in the pipe already; this is only for a pipe that somebody else holds open. */
const PIPE_DRAIN_MS = 1_000;
/** A finaliser whose run is over is gone in a moment. When it is not, or a store was put back, the CLI is asked. */
const FINALISED_MS = 1_000;
const GONE_MS = 5_000;

export interface Finished {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Sandbox {
  readonly root: string;
  readonly home: string;
  readonly env: Record<string, string>;
  /** The program that all of this goes through. */
  readonly cli: string;
  /** The library on the same place, in this process; null where only the program itself will do. */
  readonly library: (<T>(question: (reeve: Reeve) => Promise<T>) => Promise<T>) | null;
  /** The same place through the program of another build. */
  through(cli: string): Sandbox;
  /** Runs the CLI to its end. */
  reeve(args: readonly string[], options?: { env?: Record<string, string>; cwd?: string }): Promise<Finished>;
  /** The same with --json, which must exit as expected and print one JSON value. */
  json<T>(args: readonly string[], expectedCode?: number): Promise<T>;
  show(session: string): Promise<SessionDetail>;
  list(): Promise<readonly SessionView[]>;
  /** Starts the CLI and does not wait for it. */
  start(args: readonly string[], options?: SpawnOptions): ChildProcess;
  /** A file that a command of the test writes a pid to, as the process that it then names. */
  pidFrom(file: string): Promise<Seen>;
  path(name: string): string;
  cleanUp(): Promise<void>;
}

/** Behind the verb, which may be of two words, and before whatever it takes. */
export function withJson(args: readonly string[]): string[] {
  const words = VERBS.some(({ name }) => name === args.slice(0, 2).join(' ')) ? 2 : 1;
  return [...args.slice(0, words), '--json', ...args.slice(words)];
}

export function createSandbox(extra: Record<string, string> = {}): Sandbox {
  const root = mkdtempSync(join(tmpdir(), 'reeve-test-'));
  const home = join(root, 'state');
  const env: Record<string, string> = {
    PATH: process.env['PATH'] ?? '',
    HOME: root,
    REEVE_HOME: home,
    ...extra,
  };
  return through({ root, home, env, seen: [], children: [] }, CLI);
}

interface Place extends Pick<Sandbox, 'root' | 'home' | 'env'> {
  readonly seen: Seen[];
  readonly children: ChildProcess[];
}

function through(place: Place, cli: string): Sandbox {
  const { root, home, env, seen, children } = place;
  const start = (args: readonly string[], options: SpawnOptions = {}) => {
    const child = spawn(process.execPath, [cli, ...args], {
      cwd: root,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
      ...options,
    });
    children.push(child);
    return child;
  };
  const reeve: Sandbox['reeve'] = (args, options = {}) =>
    finished(start(args, { cwd: options.cwd ?? root, env: { ...env, ...options.env } }));
  const json = async <T>(args: readonly string[], expectedCode = 0): Promise<T> => {
    const result = await reeve(withJson(args));
    if (result.code !== expectedCode) {
      throw new Error(`reeve ${args.join(' ')} exited ${result.code}: ${result.stdout}${result.stderr}`);
    }
    return JSON.parse(result.stdout) as T; // The caller names the shape it then compares.
  };
  // What makes its reads fail or holds it at a step is only in its own process, a path from here begins in its directory,
  // and another build is not this one.
  const mustAskCommand = () =>
    cli !== CLI ||
    ['NODE_OPTIONS', 'PGPASSFILE', 'PGSERVICEFILE', 'REEVE_CHECKPOINT'].some((name) => name in env);
  return {
    root,
    home,
    env,
    cli,
    get library() {
      return mustAskCommand() ? null : <T>(question: (reeve: Reeve) => Promise<T>) => asked(env, question);
    },
    through: (other) => through(place, other),
    reeve,
    json,
    show: (session) => (mustAskCommand() ? json(['show', session]) : shown(env, session)),
    list: () => (mustAskCommand() ? json(['ls']) : listed(env)),
    start,
    path: (name) => join(root, name),
    pidFrom: async (file) => {
      const text = await eventually(
        `a pid in ${file}`,
        () => readIfThere(join(root, file)).match(/^\d+(?=\n)/)?.[0],
      );
      const process = see(Number(text));
      seen.push(process);
      return process;
    },
    cleanUp: async () => {
      // Only a test that failed leaves one; a child that is still this process's own has not been reused.
      for (const child of children)
        if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
      await cleanUp(root, home, seen, () =>
        endAll(home, mustAskCommand() ? byCommand(json) : byLibrary(env)),
      );
    },
  };
}

/** What `show --json` prints, by the library in this process: tests ask again and again until something is so. */
export function shown(environment: Record<string, string>, session: string): Promise<SessionDetail> {
  return asked(environment, async (reeve) => {
    const detail = await reeve.show(session);
    return { ...detail, spent: await reeve.spent(detail.id) };
  });
}

/** What `ls --json` prints, likewise. */
export function listed(environment: Record<string, string>): Promise<readonly SessionView[]> {
  return asked(environment, (reeve) => reeve.list('recent'));
}

async function asked<T>(
  environment: Record<string, string>,
  question: (reeve: Reeve) => Promise<T>,
): Promise<T> {
  const { openReeve } = await import('../../src/supervisor/reeve.ts');
  // As it is now: a test may change it for what it starts next.
  const reeve = await openReeve({ environment: { ...environment } });
  try {
    return JSON.parse(JSON.stringify(await question(reeve))) as T; // The same value, as it is printed.
  } finally {
    await reeve.close();
  }
}

export function finished(child: ChildProcess): Promise<Finished> {
  let stdout = '';
  let stderr = '';
  child.stdout?.on('data', (chunk) => (stdout += String(chunk)));
  child.stderr?.on('data', (chunk) => (stderr += String(chunk)));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve({ code, signal, stdout, stderr }));
    // A process that kept the pipe open must not hang a caller, and so must not hang a test.
    child.once('exit', (code, signal) => {
      setTimeout(() => resolve({ code, signal, stdout, stderr }), PIPE_DRAIN_MS).unref();
    });
  });
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/**
 * Whether the record itself says that every run is over: then there is nothing to end, and no reason to start a program
 * after each of thousands of tests. Whatever cannot be read here, or is on record elsewhere, is asked of the CLI.
 */
function hasOnlyEnded(home: string): boolean {
  if (!existsSync(home)) return true;
  try {
    const database = new DatabaseSync(join(home, 'reeve.db'), { readOnly: true });
    try {
      const { all, ended } = database
        .prepare("select count(*) as [all], sum(state = 'ended') as ended from runs")
        .get() as { all: number; ended: number | null }; // As the query names them.
      return all > 0 && all === ended;
    } finally {
      database.close();
    }
  } catch {
    return false;
  }
}

async function cleanUp(
  root: string,
  home: string,
  seen: readonly Seen[],
  endLiving: () => Promise<void>,
): Promise<void> {
  const problems: string[] = [];
  const left = () => startedWith(`REEVE_HOME=${home}`).filter(({ pid }) => pid !== process.pid);
  // Keepers become finalisers for a moment; everything that carries this state directory's name must then be gone.
  // Twice, for in the middle of an exec a process shows no environment.
  const gone = (limitMs: number) =>
    eventually(
      'nothing of the test is left',
      () => left().length === 0 && left().length === 0,
      limitMs,
    ).catch(() => false);
  if (!(hasOnlyEnded(home) && (await gone(FINALISED_MS))))
    await endLiving().catch((error: unknown) => problems.push(String(error)));
  if (!(await gone(GONE_MS))) {
    problems.push(
      `The test left processes behind: ${left()
        .map(({ pid }) => pid)
        .join(', ')}`,
    );
  }
  for (const process of [...left(), ...seen]) signalSeen(process, 'SIGKILL');
  rmSync(root, { recursive: true, force: true });
  if (problems.length > 0) throw new Error(problems.join('\n'));
}

interface Ender {
  readonly living: () => Promise<readonly SessionView[]>;
  readonly kill: (session: string) => Promise<unknown>;
}

function byCommand(json: Sandbox['json']): Ender {
  return { living: () => json(['ls', '--live']), kill: (session) => json(['kill', session]) };
}

function byLibrary(environment: Record<string, string>): Ender {
  return {
    living: () => asked(environment, (reeve) => reeve.list('live')),
    kill: (session) => asked(environment, (reeve) => reeve.stop(session, { graceMs: 0 })),
  };
}

async function endAll(home: string, { living, kill }: Ender): Promise<void> {
  for (const { id, run } of await living()) {
    // One of another state directory with the same store is ended from there.
    const isOwn = run.logPath === null || run.logPath.startsWith(`${home}/`);
    // Of one whose command is gone, the keeper may be alive.
    const mayLive = run.liveness === 'alive' || isExecuting(run.keeperPid ?? 0);
    if (mayLive && isOwn) await kill(id);
  }
}
