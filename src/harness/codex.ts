/**
 * Codex, and Every Code, which descends from it: the same command line and files under another name and home.
 * Codex chooses a thread's id itself and holds a lock on it, so it is the only one that keeps a second process off.
 */
import { realpathSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import type { Activity } from '../lifecycle/harness-fact.ts';
import type {
  Adapter,
  Conversation,
  Environment,
  Invocation,
  LiveProcess,
  PaneReading,
  Reporting,
  ReportingOrder,
  Served,
} from './adapter.ts';
import { isAdministration } from './administration.ts';
import {
  behindDashes,
  commandIn,
  hasOption,
  listed,
  optionsWithout,
  optionValues,
  readCommandLine,
} from './command-line.ts';
import type { Grammar, Part } from './command-line.ts';
import { COMMAND_LINE, conversationsAt, directoryIn, firstIn, isUuid } from './conversation.ts';
import { hookCommand } from './hook-command.ts';
import { HOOK_EVENTS, HOOK_TIMEOUT_SECONDS } from './hook-events.ts';
import { readHookReport } from './hook-report.ts';
import { behindWrapper } from './native-program.ts';
import { trustOf } from './hook-settings/codex-trust.ts';
import { changedAtMs, filesAt, headOf, isObject, tailOf, textField } from './transcript.ts';
import type { JsonObject } from './transcript.ts';

const GRAMMAR: Grammar = {
  valued: listed(`
    -c --config --enable --disable --remote --remote-auth-token-env -m --model --local-provider
    -p --profile -s --sandbox -a --ask-for-approval -C --cd --add-dir --thread-source
    --cyber-access-program --output-schema --color -o --output-last-message --base --commit
    --title
  `),
  variadic: ['-i', '--image'],
};

/** Commands in which a model works on a thread without a terminal. */
const HEADLESS = new Set(['exec', 'e', 'review']);
/** Commands that manage or print something. */
const COMMANDS = new Set(
  listed(`
    agents login logout mcp plugin app-server remote-control completion update doctor sandbox
    debug apply a queue archive delete unarchive cloud migrate-rollouts migrate-nfs-db
    exec-server features help mcp-server proto
  `),
);
/** What `exec` does instead of beginning a thread. */
const EXEC_VERBS = new Set(['resume', 'fork', 'review', 'help']);
const IMAGES = ['-i', '--image'];
const WHICH_THREAD = ['--last', '--all', '--include-non-interactive'];
const ONLY_REVIEW = ['--uncommitted', '--base', '--commit', '--title'];
const ONLY_HEADLESS = listed(`
    --json --output-schema -o --output-last-message --color --skip-git-repo-check --ephemeral
    --ignore-user-config --ignore-rules --thread-source --cyber-access-program
  `);
const THREAD_IN_NAME = /([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.(?:lock|jsonl)$/i;

interface Dialect {
  readonly name: 'codex' | 'code';
  /** Of its own file, as it runs; those of older versions say the machine. */
  readonly program: RegExp;
  readonly install: string;
  readonly homeVariable: string;
  readonly homeName: string;
  readonly packageName: string;
  readonly reporting: Adapter['reporting'];
}

export const codex = adapterOf({
  name: 'codex',
  program: /^codex(?:-(?:x86_64|aarch64)-.+)?$/,
  install: 'npm install -g @openai/codex',
  homeVariable: 'CODEX_HOME',
  homeName: '.codex',
  packageName: '@openai/codex',
  reporting: codexReporting,
});

/** Has no hooks that are known: its files and open locks tell the thread. */
export const everyCode = adapterOf({
  name: 'code',
  program: /^coder?(?:-(?:x86_64|aarch64)-.+)?$/,
  install: 'npm install -g @just-every/code',
  homeVariable: 'CODE_HOME',
  homeName: '.code',
  packageName: '@just-every/code',
  reporting: () => null,
});

function adapterOf(dialect: Dialect): Adapter {
  return {
    name: dialect.name,
    install: dialect.install,
    headless: [dialect.name, 'exec'],
    readInvocation,
    withNewId: () => null,
    withLatest,
    withResume,
    marks: ({ nativeId }) => (nativeId === null ? [] : [`CODEX_THREAD_ID=${nativeId}`]),
    resumeArgv,
    findConversations: ({ environment }, reference) => [
      ...rollouts(dialect, environment, (id) => id.startsWith(reference)),
    ],
    latestConversation: ({ environment, cwd }) =>
      firstIn(
        rollouts(dialect, environment, () => true),
        cwd,
      ),
    // Its screen takes an interrupt for a key; without one, it alone makes it write that the turn was aborted.
    stopSignal: (argv) => (readInvocation(argv).isInteractive ? 'SIGTERM' : 'SIGINT'),
    nativeProgram: (path) => behindWrapper(path, dialect.packageName, nativePaths(dialect.name)),
    reporting: dialect.reporting,
    readReport: readHookReport,
    readPane,
    serves: (process) => servedBy(dialect, process),
    ownRecord: (process, nativeId) => ownRecord(dialect, process, nativeId),
    usage: async () =>
      (await import('./usage-codex-files.ts')).codexUsage((environment) => homeOf(dialect, environment)),
  };
}

function nativePaths(name: string): string[] {
  const machine = process.arch === 'arm64' ? 'aarch64' : 'x86_64';
  const triple = process.platform === 'darwin' ? `${machine}-apple-darwin` : `${machine}-unknown-linux-musl`;
  return [`vendor/${triple}/bin/${name}`, `vendor/${triple}/${name}/${name}`];
}

/** A command line in the places in which Codex takes options: not each of them knows all. */
interface Line {
  /** In front of any command. */
  readonly before: readonly Part[];
  readonly command: string | null;
  /** Behind the command. */
  readonly options: readonly Part[];
  /** `resume` or the like, of `exec` or alone. */
  readonly verb: string | null;
  /** Behind that. */
  readonly after: readonly Part[];
  readonly words: readonly string[];
}

function readLine(args: readonly string[]): Line {
  const places: Part[][] = [[], [], []];
  const words: string[] = [];
  let command: string | null = null;
  let verb: string | null = null;
  for (const part of readCommandLine(args, GRAMMAR)) {
    const isText = part.is === 'word' && (part.isBehindDashes || words.length > 0);
    if (part.is === 'option') places[verb !== null ? 2 : command !== null ? 1 : 0]?.push(part);
    else if (!isText && command === null && isCommand(part.text)) {
      command = part.text;
      if (!HEADLESS.has(command)) verb = command;
    } else if (!isText && verb === null && isExec(command) && EXEC_VERBS.has(part.text)) verb = part.text;
    else words.push(part.text);
  }
  const [before = [], options = [], after = []] = places;
  return { before, command, options, verb, after, words };
}

function isCommand(word: string): boolean {
  return COMMANDS.has(word) || HEADLESS.has(word) || word === 'resume' || word === 'fork';
}

function isExec(command: string | null): boolean {
  return command === 'exec' || command === 'e';
}

function readInvocation([, ...args]: readonly string[]): Invocation {
  const { before, command, options, verb, after, words } = readLine(args);
  const all = [...before, ...options, ...after];
  const isInteractive = !HEADLESS.has(command ?? '');
  const isManaging = COMMANDS.has(command ?? '') || verb === 'help';
  const isTelling = verb === 'help' || hasOption(all, '-V', '--version', '-h', '--help');
  if (isManaging || isTelling) {
    const administers = isTelling || isAdministration('codex', [command, ...words]);
    return { asked: { is: 'none' }, isInteractive, isAdministration: administers };
  }
  if (verb === 'fork') return { asked: { is: 'open' }, isInteractive };
  if (verb !== 'resume') return { asked: { is: 'new', nativeId: null }, isInteractive };
  if (hasOption(after, '--last')) {
    // The latest of all directories, or of another one, is not the latest here.
    const isElsewhere = hasOption(all, '--all', '-C', '--cd');
    return { asked: { is: isElsewhere ? 'open' : 'latest' }, isInteractive };
  }
  // A name that Codex does not know starts a new thread without a word, so only an id is taken for a promise.
  const [reference] = words;
  return { asked: isUuid(reference) ? { is: 'resume', nativeId: reference } : { is: 'open' }, isInteractive };
}

/** `resume --last PROMPT` becomes `resume ID PROMPT`. */
function withLatest([program = '', ...args]: readonly string[], nativeId: string): readonly string[] {
  const { before, command, options, after, words } = readLine(args);
  const exec = isExec(command) ? ['exec', ...optionsWithout(options, [])] : [];
  const start = [program, ...optionsWithout(before, []), ...exec, 'resume', nativeId];
  return [...start, ...optionsWithout(after, WHICH_THREAD), ...behindDashes(words)];
}

/**
 * `exec PROMPT` becomes `exec resume ID PROMPT`, and a bare PROMPT `resume ID PROMPT`. Options stay in front of `resume`,
 * for `exec resume` knows only some of those of `exec`; but images go behind the id, else they would take it for one.
 */
function withResume([program = '', ...args]: readonly string[], nativeId: string): readonly string[] {
  const { before, command, options, after, words } = readLine(args);
  const behind = [...options, ...after];
  const kept = [
    ...optionsWithout(before, IMAGES),
    ...(HEADLESS.has(command ?? '') ? ['exec'] : []),
    ...optionsWithout(behind, [...IMAGES, ...ONLY_REVIEW]),
  ];
  const images = optionValues([...before, ...behind], IMAGES).flatMap((image) => ['-i', image]);
  return [program, ...kept, 'resume', nativeId, ...images, ...behindDashes(words)];
}

function resumeArgv(
  [program = '', ...args]: readonly string[],
  nativeId: string,
  prompt: string | null,
): readonly string[] {
  const { before, command, options, after } = readLine(args);
  const isHeadless = prompt !== null && HEADLESS.has(command ?? '');
  const dropped = [...WHICH_THREAD, ...IMAGES, ...ONLY_REVIEW, '--worktree'];
  const kept = optionsWithout([...options, ...after], [...dropped, ...(isHeadless ? [] : ONLY_HEADLESS)]);
  const start = [program, ...optionsWithout(before, dropped), ...(isHeadless ? ['exec'] : []), ...kept];
  return [...start, 'resume', nativeId, ...behindDashes(prompt === null ? [] : [prompt])];
}

function homeOf(dialect: Dialect, environment: Environment): string {
  return resolve(directoryIn(environment, dialect.homeVariable, dialect.homeName));
}

/** `sessions/YYYY/MM/DD/rollout-<time>-<thread>.jsonl` */
function rollouts(
  dialect: Dialect,
  environment: Environment,
  isWanted: (id: string) => boolean,
): Generator<Conversation> {
  const paths = filesAt(join(homeOf(dialect, environment), 'sessions'), 3, (name) => {
    const id = THREAD_IN_NAME.exec(name)?.[1];
    return id !== undefined && name.startsWith('rollout-') && name.endsWith('.jsonl') && isWanted(id);
  });
  return conversationsAt(paths, (path) => {
    const meta = headOf(path).find((line) => line['type'] === 'session_meta')?.['payload'];
    const cwd = isObject(meta) ? textField(meta, 'cwd') : null;
    return { nativeId: THREAD_IN_NAME.exec(path)?.[1] ?? '', cwd };
  });
}

/** The title tells, once Codex has set it; before, it is whatever it was, so the prompt must be on the screen too. */
function readPane(title: string, screen: string): PaneReading | null {
  const evidence = 'the title of its terminal';
  if (/^\[ [!.] \] Action Required/.test(title))
    return { is: 'needs-input', evidence, waitingFor: 'an answer to its question' };
  if (/^[⠀-⣿]/.test(title)) return { is: 'working', evidence, waitingFor: null };
  const lines = screen.trimEnd().split('\n').slice(-14);
  if (lines.some((line) => /^› \d+\. /.test(line)))
    return { is: 'needs-input', evidence: 'its screen asks', waitingFor: 'an answer to its question' };
  const isPrompting = screen.trim() === '' || lines.some((line) => line.startsWith('›'));
  return title === '' || !isPrompting ? null : { is: 'idle', evidence, waitingFor: null };
}

/** By its arguments, not its name: Codex starts itself under other names too, as a sandbox for one. */
function servedBy(dialect: Dialect, process: LiveProcess): Served | null {
  if (!dialect.program.test(basename(process.argv[0] ?? ''))) return null;
  const { asked } = readInvocation(process.argv);
  // An app-server works on threads too, for others.
  const isServer = commandIn(readCommandLine(process.argv.slice(1), GRAMMAR)) === 'app-server';
  if (asked.is === 'none' && !isServer) return null;
  const open = openIn(dialect, process);
  const wanted = asked.is === 'resume' ? asked.nativeId : null;
  const held = threadAmong(open, wanted);
  if (held !== null) return { nativeId: held, evidence: 'the lock or transcript that it holds open' };
  // `code` is also the name of an editor: without a file of Every Code open, nothing says that it is this one.
  if (dialect.name === 'code' && open.length === 0) return null;
  return { nativeId: wanted, evidence: COMMAND_LINE };
}

/** What it holds open of its own files, by their real paths, which its home need not be named by. */
function openIn(dialect: Dialect, process: LiveProcess): readonly string[] {
  const home = homeOf(dialect, process.environment());
  const homes = [home, realPath(home)];
  return process.openFiles().filter((path) => homes.some((each) => path.startsWith(`${each}/`)));
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

/** The one that was asked for; else the first one begun, for those of subagents come later, and ids are in order. */
function threadAmong(paths: readonly string[], wanted: string | null): string | null {
  const ids = paths.flatMap((path) => THREAD_IN_NAME.exec(path)?.[1] ?? []);
  return ids.find((id) => id === wanted) ?? ids.toSorted()[0] ?? null;
}

/** As Codex calls the file from which overrides on the command line would have come. */
const OVERRIDES_FILE = '/<session-flags>/config.toml';

/** Overrides for this one launch, with the trust without which Codex skips them, or asks about them. */
function codexReporting({ argv, hookProgram, runDirectory }: ReportingOrder): Reporting {
  const [program = '', ...args] = argv;
  if (hasOwnHooks(args)) return { argv, environment: {}, files: {}, hasHooks: false };
  const command = hookCommand(hookProgram, runDirectory);
  const handler = { type: 'command', command, timeout: HOOK_TIMEOUT_SECONDS };
  const entry = `{type="command",command=${tomlString(command)},timeout=${handler.timeout}}`;
  const hooks = HOOK_EVENTS.codex.map((event) => `hooks.${event}=[{hooks=[${entry}]}]`);
  const trusted = HOOK_EVENTS.codex
    .map((event) =>
      trustOf(OVERRIDES_FILE, { event, handler, group: 0, index: 0, matcher: undefined, isFollowed: false }),
    )
    .map(({ key, hash }) => `${tomlString(key)}={trusted_hash=${tomlString(hash)}}`);
  // As one table: a name with a dot in it is not understood any other way.
  const overrides = [...hooks, `hooks.state={${trusted.join(',')}}`].flatMap((override) => ['-c', override]);
  return { argv: [program, ...overrides, ...args], environment: {}, files: {}, hasHooks: true };
}

/** The caller's overrides of hooks would take the place of some of ours; then a turn might begin and never end. */
function hasOwnHooks(args: readonly string[]): boolean {
  const parts = readCommandLine(args, GRAMMAR);
  return (
    optionValues(parts, ['-c', '--config']).some((override) => /^\s*(?:features\.)?hooks\b/.test(override)) ||
    optionValues(parts, ['--disable']).includes('hooks')
  );
}

/** The same as in JSON, but for one character that TOML does not let stand there. */
function tomlString(text: string): string {
  return JSON.stringify(text).replaceAll('\u007F', String.raw`\u007f`);
}

/** The last event of a turn in a thread's transcript tells whether another one is under way. */
function ownRecord(dialect: Dialect, process: LiveProcess, nativeId: string | null): Activity | null {
  const open = openIn(dialect, process);
  const thread = threadAmong(open, nativeId);
  const files = open.filter((path) => thread !== null && THREAD_IN_NAME.exec(path)?.[1] === thread);
  const rollout = files.find((path) => path.endsWith('.jsonl'));
  if (rollout === undefined) {
    const [lock] = files;
    if (lock === undefined) return null;
    const evidence = 'it holds a thread without any turn';
    return { is: 'idle', sinceMs: changedAtMs(lock) ?? 0, evidence, waitingFor: null };
  }
  const last = tailOf(rollout).findLast((line) => line['type'] === 'event_msg' && turnEvent(line) !== null);
  const event = last === undefined ? null : turnEvent(last);
  if (event === null) return null;
  const sinceMs = Date.parse(textField(last, 'timestamp') ?? '') || (changedAtMs(rollout) ?? 0);
  const is = event === 'task_started' ? 'working' : 'idle';
  return { is, sinceMs, evidence: `${event} in its transcript`, waitingFor: null };
}

function turnEvent({ payload }: JsonObject): string | null {
  const type = isObject(payload) ? textField(payload, 'type') : null;
  return type !== null && ['task_started', 'task_complete', 'turn_aborted'].includes(type) ? type : null;
}
