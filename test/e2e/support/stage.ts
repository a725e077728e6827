/**
 * One real harness under the built CLI, as a person has it: the harness's name on the PATH, a home and a state directory
 * of their own, and a model that does what the prompt says. What is left over at the end fails the test.
 */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { SessionView } from '../../../src/api/session-view.ts';
import type { SessionDetail } from '../../../src/supervisor/list.ts';
import { eventually, isAlive, see, signalSeen, startedWith } from '../../support/processes.ts';
import type { Seen } from '../../support/processes.ts';
import { finished, listed, shown, withJson } from '../../support/sandbox.ts';
import type { Finished } from '../../support/sandbox.ts';
import { furnishHome, HARNESS_NAMES } from './harness-home.ts';
import type { HarnessHome, HarnessName } from './harness-home.ts';
import { installed } from './home/home.ts';
import { startModelServer } from './model-server.ts';
import type { ModelServer } from './model-server.ts';

/** REEVE_E2E_CLI points at a copy, where the package is being built anew while tests run. */
export const CLI = resolve(
  process.env['REEVE_E2E_CLI'] ?? fileURLToPath(new URL('../../../dist/reeve.cjs', import.meta.url)),
);

const PACKAGES: Readonly<Record<HarnessName, string>> = {
  claude: '@anthropic-ai/claude-code',
  codex: '@openai/codex',
  gemini: '@google/gemini-cli',
  opencode: 'opencode-ai',
};

/** With titles that say the version, for what a test says is said of that. */
export const HARNESSES: readonly (readonly [title: string, name: HarnessName])[] = HARNESS_NAMES.map(
  (name) => {
    // Every package has one.
    const { version } = JSON.parse(readFileSync(installed(PACKAGES[name], 'package.json'), 'utf8')) as {
      version: string;
    };
    return [`${name} ${version}`, name];
  },
);

interface Story {
  readonly session: string;
  readonly sentences: readonly { readonly at: string; readonly run: string | null; readonly text: string }[];
  readonly doubt: string | null;
}

export interface Refusal {
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly details: Readonly<Record<string, unknown>>;
  };
}

export interface Stage {
  readonly harness: HarnessHome;
  readonly model: ModelServer;
  readonly reeveHome: string;
  readonly env: Readonly<Record<string, string>>;
  /** A path in the directory where the harness works. */
  path(name: string): string;
  /** The command line by which a person starts the harness. */
  command(prompt: string): readonly string[];
  /** Runs the CLI to its end, with these variables besides. */
  reeve(args: readonly string[], more?: Readonly<Record<string, string>>): Promise<Finished>;
  /** The same with --json, which must exit as expected and print one JSON value. */
  json<T>(args: readonly string[], expectedCode?: number): Promise<T>;
  /** `reeve run --detach` of the harness with this prompt. */
  run(session: string, prompt: string): Promise<SessionView>;
  show(session: string): Promise<SessionDetail>;
  list(): Promise<readonly SessionView[]>;
  why(session: string): Promise<Story>;
  /** What `why` says, as one text. */
  told(session: string): Promise<string>;
  /** All sessions, once the first of them reports that it works. */
  seenWorking(): Promise<readonly SessionView[]>;
  /** Waits for the end of the session's run. */
  over(session: string): Promise<SessionDetail>;
  log(session: string): Promise<string>;
  /** What the harness told the model of the conversation when it last asked: the prompts, oldest first. */
  promptsKnown(): readonly string[];
  /** Starts a harness without Reeve, as the shell of a person would. */
  startDirectly(args: readonly string[]): Direct;
  /** The same without anything between it and the test. */
  startProgram(args: readonly string[]): Direct;
  /** Any other program. */
  start(program: string, args: readonly string[]): Direct;
  /** A process by its pid, proven to be one of this stage. */
  own(pid: number | null): Seen;
  /** All living processes of this stage in whose command line all these words stand. */
  running(...words: readonly string[]): Seen[];
  /** Hooks for all sessions, in the harness's own settings. */
  installHooks(): Promise<void>;
  close(): Promise<void>;
}

interface Direct {
  readonly child: ChildProcess;
  readonly over: Promise<Finished>;
}

export async function openStage(name: HarnessName): Promise<Stage> {
  const directory = mkdtempSync(join(tmpdir(), `reeve-${name}-`));
  const reeveHome = join(mkdtempSync(join(placeForState(name), '.reeve-e2e-')), 'state');
  const model = await startModelServer();
  const harness = furnishHome(name, directory, model.url);
  const env = environmentOf(harness, reeveHome);
  const children: ChildProcess[] = [];
  const start = (program: string, args: readonly string[], environment = env): Direct => {
    const child = spawn(program, args, {
      cwd: harness.work,
      env: environment,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    children.push(child);
    return { child, over: finished(child) };
  };
  const reeve: Stage['reeve'] = (args, more = {}) =>
    start(process.execPath, [CLI, ...args], { ...env, ...more }).over;
  const json = async <T>(args: readonly string[], expectedCode = 0): Promise<T> => {
    const result = await reeve(withJson(args));
    if (result.code !== expectedCode) {
      throw new Error(`reeve ${args.join(' ')} exited ${result.code}: ${result.stdout}${result.stderr}`);
    }
    return JSON.parse(result.stdout) as T; // The caller names the shape it then compares.
  };
  const living = () => processesOf(harness.home, reeveHome);
  const show = (session: string) => shown(env, session);
  const why = (session: string) => json<Story>(['why', session]);
  const command = (prompt: string) => [name, ...harness.headless(prompt)];
  const stage: Stage = {
    harness,
    model,
    reeveHome,
    env,
    path: (file) => join(harness.work, file),
    command,
    reeve,
    json,
    run: (session, prompt) => json(['run', '--detach', '-s', session, '--', ...command(prompt)]),
    show,
    list: () => listed(env),
    why,
    told: async (session) => (await why(session)).sentences.map(({ text }) => text).join('\n'),
    seenWorking: async () => {
      let seen: readonly SessionView[] = [];
      const isWorking = async () => {
        seen = await listed(env);
        return seen[0]?.status === 'working' && seen[0].activity !== null;
      };
      await eventually('a report that it works', isWorking, 5_000).catch((cause: unknown) => {
        throw new Error(`No report that it works came; what was seen: ${JSON.stringify(seen)}`, { cause });
      });
      return seen;
    },
    over: async (session) => {
      await reeve(['attach', session]);
      return eventually(`${session} has ended`, async () => {
        const detail = await show(session);
        return detail.run.state === 'ended' && detail;
      });
    },
    log: async (session) => (await json<{ text: string }>(['logs', session])).text,
    promptsKnown: () =>
      (model.requests.findLast(({ isConversation }) => isConversation)?.prompts ?? []).map(withoutQuotes),
    startDirectly: (args) => {
      const [program, ...first] = harness.wrapper ?? harness.program;
      return start(program, [...first, ...args]);
    },
    startProgram: (args) => {
      const [program, ...first] = harness.program;
      return start(program, [...first, ...args], harness.env);
    },
    start: (program, args) => start(program, args),
    own: (pid) => {
      const found = living().find((each) => each.pid === pid);
      if (found === undefined) throw new Error(`Process ${pid} is none of this test's.`);
      return found;
    },
    running: (...words) => living().filter(({ pid }) => hasWords(pid, words)),
    installHooks: async () => void (await json(['hooks', 'install', name])),
    close: () => closeStage({ directory, reeveHome, model, children, json, living }),
  };
  if (name === 'gemini' && !isRoot()) await stage.installHooks();
  return stage;
}

function isRoot(): boolean {
  return process.getuid?.() === 0;
}

/** Gemini takes hooks for one launch only from below a directory that nobody but root can write to. */
function placeForState(name: HarnessName): string {
  return name === 'gemini' && isRoot() ? homedir() : tmpdir();
}

function environmentOf(harness: HarnessHome, reeveHome: string): Record<string, string> {
  // Reeve has to see to this itself.
  const { GEMINI_CLI_NO_RELAUNCH: _, ...env } = harness.env;
  return { ...env, PATH: `${installed('.bin')}:${env['PATH'] ?? ''}`, REEVE_HOME: reeveHome };
}

/** Everything that a stage starts inherits its home, whoever starts it; only a keeper's title covers its environment. */
function processesOf(home: string, reeveHome: string): Seen[] {
  return [...startedWith(`HOME=${home}`), ...keepersOf(reeveHome)];
}

/** By the files of this state directory that they hold open. */
function keepersOf(reeveHome: string): Seen[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => Number.isInteger(pid) && wordsOfProcess(pid)[0]?.startsWith('reeve-keeper ') === true)
    .flatMap((pid) => {
      try {
        const seen = see(pid);
        const open = readdirSync(`/proc/${pid}/fd`).map((file) => readlinkSync(`/proc/${pid}/fd/${file}`));
        return open.some((path) => path.startsWith(`${reeveHome}/`)) ? [seen] : [];
      } catch {
        return []; // Gone meanwhile.
      }
    });
}

export function wordsOfProcess(pid: number): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').slice(0, -1);
  } catch {
    return [];
  }
}

function hasWords(pid: number, words: readonly string[]): boolean {
  const line = wordsOfProcess(pid);
  return words.every((word) => line.includes(word));
}

interface Closing {
  readonly directory: string;
  readonly reeveHome: string;
  readonly model: ModelServer;
  readonly children: readonly ChildProcess[];
  readonly json: Stage['json'];
  readonly living: () => Seen[];
}

async function closeStage({ directory, reeveHome, model, children, json, living }: Closing): Promise<void> {
  const problems: string[] = [];
  try {
    for (const { name, run } of await json<SessionView[]>(['ls', '--live'])) {
      if (run.liveness === 'alive') await json(['kill', name]);
    }
  } catch (error) {
    problems.push(String(error));
  }
  // A child that is still this process's own has not been reused.
  for (const child of children)
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
  // Twice, for in the middle of an exec a process shows no environment.
  await eventually(
    'nothing of the test is left',
    () => living().length === 0 && living().length === 0,
    5_000,
  ).catch(() => {
    problems.push(
      `The test left processes behind: ${living()
        .map(({ pid }) => `${pid} (${wordsOfProcess(pid).join(' ')})`)
        .join(', ')}`,
    );
  });
  const killed = living();
  for (const process of killed) signalSeen(process, 'SIGKILL');
  await eventually('what was left is dead', () => !killed.some(isAlive), 5_000).catch(() => {});
  await model.close();
  for (const path of [directory, dirname(reeveHome)]) {
    rmSync(path, { recursive: true, force: true, maxRetries: 5 });
  }
  if (problems.length > 0) throw new Error(problems.join('\n'));
}

/** A tool that runs until the test lets it go; the model hears of it only then. */
export function gate(stage: Stage, name: string): { readonly command: string; open(): void } {
  const file = stage.path(`${name}.open`);
  return {
    command: `until [ -e ${file} ]; do sleep 0.05; done`,
    open: () => writeFileSync(file, ''),
  };
}

export interface SleepingTool {
  readonly command: string;
  /** Both processes, once they are there: one in the tool's own session, one that left it. */
  asleep(): Promise<readonly Seen[]>;
}

let used = 0;

/** A tool that never ends, with a child that no signal to its group or session reaches. */
export function sleepingTool(stage: Stage): SleepingTool {
  // Nobody else sleeps for exactly so long, so by this they are found again.
  const seconds = [1, 2].map(() => String(3_600_000_000 + process.pid * 1000 + (used += 1)));
  return {
    command: `setsid sleep ${seconds[0]} & sleep ${seconds[1]}`,
    asleep: () =>
      eventually(
        'both processes of the tool',
        () => {
          const sleepers = seconds.flatMap((each) => stage.running('sleep', each));
          return sleepers.length === 2 && sleepers;
        },
        60_000,
      ),
  };
}

/** opencode puts them around words of its command line that have spaces. */
function withoutQuotes(prompt: string): string {
  return prompt.replace(/^"(.*)"$/su, '$1');
}

/** Each harness prints it with its first event, under a name of its own. */
export function nativeIdIn(output: string): string {
  const id = /"(?:session_id|thread_id|sessionID)":"([^"]+)"/u.exec(output)?.[1];
  if (id === undefined) throw new Error(`There is no session id in: ${output}`);
  return id;
}
