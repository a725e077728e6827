/**
 * Codex, and Every Code, which descends from it: the same command line and files under another name and home.
 * Codex chooses a thread's id itself and holds a lock on it, so it is the only one that keeps a second process off.
 */
import { basename, join } from 'node:path';
import type { Activity } from '../lifecycle/harness-fact.ts';
import type {
  Adapter,
  Conversation,
  Environment,
  Invocation,
  LiveProcess,
  Reporting,
  ReportingOrder,
} from './adapter.ts';
import { hasOption, optionsWithout, readCommandLine, wordsOf, listed } from './command-line.ts';
import type { Grammar, Part } from './command-line.ts';
import { latestFirst } from './conversation.ts';
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

/** Commands in which a model works on a thread; all others manage or print something. */
const HEADLESS = new Set(['exec', 'e', 'review']);
const COMMANDS = new Set(
  listed(`
    agents login logout mcp plugin app-server remote-control completion update doctor sandbox
    debug apply a queue archive delete unarchive cloud migrate-rollouts migrate-nfs-db
    exec-server features help mcp-server proto
  `),
);
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const THREAD_IN_NAME = /([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\.(?:lock|jsonl)$/i;

interface Dialect {
  readonly name: 'codex' | 'code';
  readonly install: string;
  readonly homeVariable: string;
  readonly homeName: string;
  readonly packageName: string;
  readonly reporting: Adapter['reporting'];
}

export const codex = adapterOf({
  name: 'codex',
  install: 'npm install -g @openai/codex',
  homeVariable: 'CODEX_HOME',
  homeName: '.codex',
  packageName: '@openai/codex',
  reporting: codexReporting,
});

/** Has no hooks that are known: its files and open locks tell the thread. */
export const everyCode = adapterOf({
  name: 'code',
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
    findConversations: ({ environment }, reference) =>
      rollouts(dialect, environment, (id) => id.startsWith(reference)).toSorted(latestFirst),
    latestConversation: ({ environment, cwd }) => latestIn(dialect, environment, cwd),
    nativeProgram: (path) => behindWrapper(path, dialect.packageName, nativePaths(dialect.name)),
    reporting: dialect.reporting,
    readReport: readHookReport,
    readPane: (title) => {
      if (title.includes('Action Required'))
        return {
          is: 'needs-input',
          evidence: 'the title of its terminal',
          waitingFor: 'an answer to its question',
        };
      if (/^[⠀-⣿]/.test(title))
        return { is: 'working', evidence: 'the title of its terminal', waitingFor: null };
      if (title === '') return null;
      return { is: 'idle', evidence: 'the title of its terminal', waitingFor: null };
    },
    serves: (process) => servedBy(dialect, process),
    ownRecord: (process) => ownRecord(dialect, process),
  };
}

function nativePaths(name: string): string[] {
  const machine = process.arch === 'arm64' ? 'aarch64' : 'x86_64';
  const triple = process.platform === 'darwin' ? `${machine}-apple-darwin` : `${machine}-unknown-linux-musl`;
  return [`vendor/${triple}/bin/${name}`, `vendor/${triple}/${name}/${name}`];
}

function readInvocation([, ...args]: readonly string[]): Invocation {
  const parts = readCommandLine(args, GRAMMAR);
  const [command = '', ...rest] = wordsOf(parts);
  const isHeadless = HEADLESS.has(command);
  const isInteractive = !isHeadless;
  if (COMMANDS.has(command) || hasOption(parts, '-V', '--version', '-h', '--help'))
    return { asked: { is: 'none' }, isInteractive };
  const [verb, reference] = isHeadless ? [rest[0], rest[1]] : [command, rest[0]];
  if (verb === 'fork') return { asked: { is: 'open' }, isInteractive };
  if (verb !== 'resume') return { asked: { is: 'new', nativeId: null }, isInteractive };
  if (hasOption(parts, '--last')) return { asked: { is: 'latest' }, isInteractive };
  // A name that Codex does not know starts a new thread without a word, so only an id is taken for a promise.
  const isId = reference !== undefined && UUID.test(reference);
  return { asked: isId ? { is: 'resume', nativeId: reference } : { is: 'open' }, isInteractive };
}

/** `resume --last PROMPT` becomes `resume ID PROMPT`. */
function withLatest([program = '', ...args]: readonly string[], nativeId: string): readonly string[] {
  const parts = readCommandLine(args, GRAMMAR);
  const resume = parts.find((part) => part.is === 'word' && part.text === 'resume');
  return [
    program,
    ...parts.flatMap((part) => {
      if (part === resume) return [...part.words, nativeId];
      return part.is === 'option' && part.name === '--last' ? [] : part.words;
    }),
  ];
}

/** `exec PROMPT` becomes `exec resume ID PROMPT`, and a bare PROMPT `resume ID PROMPT`. */
function withResume([program = '', ...args]: readonly string[], nativeId: string): readonly string[] {
  const parts = readCommandLine(args, GRAMMAR);
  const first = parts.find((part) => part.is === 'word');
  const isHeadless = first?.is === 'word' && HEADLESS.has(first.text);
  if (!isHeadless)
    return [program, 'resume', ...optionsWithout(parts, []), nativeId, ...lastWords(wordsOf(parts))];
  return [
    program,
    'exec',
    'resume',
    ...optionsWithout(parts, []),
    nativeId,
    ...lastWords(wordsOf(parts).slice(1)),
  ];
}

function lastWords(words: readonly string[]): readonly string[] {
  return words.length === 0 ? [] : ['--', ...words];
}

function resumeArgv(
  [program = '', ...args]: readonly string[],
  nativeId: string,
  prompt: string | null,
): readonly string[] {
  const parts: readonly Part[] = readCommandLine(args, GRAMMAR);
  const isHeadless = prompt !== null && HEADLESS.has(wordsOf(parts)[0] ?? '');
  const dropped = ['--last', '--all', '--worktree', ...(isHeadless ? [] : ONLY_HEADLESS)];
  const options = optionsWithout(parts, dropped);
  const command = isHeadless ? ['exec', 'resume'] : ['resume'];
  return [program, ...command, ...options, nativeId, ...(prompt === null ? [] : ['--', prompt])];
}

const ONLY_HEADLESS = listed(`
    --json --output-schema -o --output-last-message --color --skip-git-repo-check --ephemeral
    --dangerously-bypass-hook-trust --ignore-user-config --ignore-rules
  `);

function homeOf(dialect: Dialect, environment: Environment): string {
  return environment[dialect.homeVariable] ?? join(environment['HOME'] ?? '/', dialect.homeName);
}

/** `sessions/YYYY/MM/DD/rollout-<time>-<thread>.jsonl` */
function rolloutPaths(dialect: Dialect, environment: Environment, isWanted: (id: string) => boolean) {
  return filesAt(join(homeOf(dialect, environment), 'sessions'), 3, (name) => {
    const id = THREAD_IN_NAME.exec(name)?.[1];
    return id !== undefined && name.startsWith('rollout-') && isWanted(id);
  });
}

function rollouts(
  dialect: Dialect,
  environment: Environment,
  isWanted: (id: string) => boolean,
): Conversation[] {
  return rolloutPaths(dialect, environment, isWanted).map(conversationAt);
}

function conversationAt(path: string): Conversation {
  const meta = headOf(path).find((line) => line['type'] === 'session_meta')?.['payload'];
  return {
    nativeId: THREAD_IN_NAME.exec(path)?.[1] ?? '',
    cwd: isObject(meta) ? textField(meta, 'cwd') : null,
    path,
    updatedAtMs: changedAtMs(path),
  };
}

/** The newest rollouts are looked into first: each look reads a file. */
function latestIn(dialect: Dialect, environment: Environment, cwd: string): Conversation | null {
  const newestFirst = rolloutPaths(dialect, environment, () => true).toSorted(
    (a, b) => changedAtMs(b) - changedAtMs(a),
  );
  for (const path of newestFirst) {
    const conversation = conversationAt(path);
    if (conversation.cwd === cwd) return conversation;
  }
  return null;
}

function servedBy(dialect: Dialect, process: LiveProcess) {
  const [program = ''] = process.argv;
  const isIt = process.name === dialect.name || basename(program) === dialect.name;
  if (!isIt) return null;
  const { asked } = readInvocation(process.argv);
  // An app-server works on threads too, for others.
  const isServer = wordsOf(readCommandLine(process.argv.slice(1), GRAMMAR))[0] === 'app-server';
  if (asked.is === 'none' && !isServer) return null;
  const home = homeOf(dialect, process.environment());
  const held = process
    .openFiles()
    .filter((path) => path.startsWith(`${home}/`))
    .map((path) => THREAD_IN_NAME.exec(path)?.[1])
    .find((id) => id !== undefined);
  if (held !== undefined) return { nativeId: held, evidence: 'the lock or transcript that it holds open' };
  if (dialect.name === 'code' && !isEveryCode(process, home)) return null;
  return { nativeId: asked.is === 'resume' ? asked.nativeId : null, evidence: 'its command line' };
}

/** `code` is also the name of an editor: without a file of Every Code open, nothing says that it is this one. */
function isEveryCode(process: LiveProcess, home: string): boolean {
  return process.openFiles().some((path) => path.startsWith(`${home}/`));
}

/** As Codex calls the file from which overrides on the command line would have come. */
const OVERRIDES_FILE = '/<session-flags>/config.toml';

/** Overrides for this one launch, with the trust without which Codex skips them, or asks about them. */
function codexReporting({
  argv: [program = '', ...args],
  hookProgram,
  runDirectory,
}: ReportingOrder): Reporting {
  const handler = {
    type: 'command',
    command: hookCommand(hookProgram, runDirectory),
    timeout: HOOK_TIMEOUT_SECONDS,
  };
  const { type, command, timeout } = handler;
  const entry = `{type=${JSON.stringify(type)},command=${JSON.stringify(command)},timeout=${timeout}}`;
  const hooks = HOOK_EVENTS.codex.map((event) => `hooks.${event}=[{hooks=[${entry}]}]`);
  const trusted = HOOK_EVENTS.codex
    .map((event) =>
      trustOf(OVERRIDES_FILE, { event, handler, group: 0, index: 0, matcher: undefined, isFollowed: false }),
    )
    .map(({ key, hash }) => `${JSON.stringify(key)}={trusted_hash=${JSON.stringify(hash)}}`);
  // As one table: a name with a dot in it is not understood any other way.
  const overrides = [...hooks, `hooks.state={${trusted.join(',')}}`].flatMap((override) => ['-c', override]);
  return { argv: [program, ...overrides, ...args], environment: {}, files: {}, hasHooks: true };
}

/** The last event of a turn in a thread's transcript tells whether another one is under way. */
function ownRecord(dialect: Dialect, process: LiveProcess): Activity | null {
  const home = homeOf(dialect, process.environment());
  const open = process.openFiles().filter((path) => path.startsWith(`${home}/`) && THREAD_IN_NAME.test(path));
  const rollout = open.find((path) => path.endsWith('.jsonl'));
  if (rollout === undefined) {
    const lock = open.find((path) => path.endsWith('.lock'));
    if (lock === undefined) return null;
    return {
      is: 'idle',
      sinceMs: changedAtMs(lock),
      evidence: 'it holds a thread without any turn',
      waitingFor: null,
    };
  }
  const last = tailOf(rollout).findLast((line) => line['type'] === 'event_msg' && turnEvent(line) !== null);
  const event = last === undefined ? null : turnEvent(last);
  if (event === null) return null;
  const sinceMs = Date.parse(textField(last, 'timestamp') ?? '') || changedAtMs(rollout);
  const is = event === 'task_started' ? 'working' : 'idle';
  return { is, sinceMs, evidence: `${event} in its transcript`, waitingFor: null };
}

function turnEvent({ payload }: JsonObject): string | null {
  const type = isObject(payload) ? textField(payload, 'type') : null;
  return type !== null && ['task_started', 'task_complete', 'turn_aborted'].includes(type) ? type : null;
}
