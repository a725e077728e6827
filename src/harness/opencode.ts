/** opencode. Chooses a conversation's id itself; keeps no second process off it. Its conversations are in one database. */
import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import type { Activity } from '../lifecycle/harness-fact.ts';
import type {
  Adapter,
  Conversation,
  Environment,
  Invocation,
  Reported,
  Reporting,
  ReportingOrder,
} from './adapter.ts';
import { hasOption, optionsWithout, optionValue, readCommandLine, wordsOf, listed } from './command-line.ts';
import type { Grammar, Part } from './command-line.ts';
import { readHookReport } from './hook-report.ts';
import { behindWrapper } from './native-program.ts';
import { isObject, textField } from './transcript.ts';

const GRAMMAR: Grammar = {
  valued: listed(`
    --log-level --port --hostname --mdns-domain -m --model -s --session --prompt --agent
    --replay-limit --command --format --title --attach -p --password -u --username --dir
    --variant
  `),
  variadic: ['--cors', '-f', '--file'],
};
const COMMANDS = new Set(
  listed(`
    completion acp mcp attach debug providers auth agent upgrade uninstall serve web models
    stats export import github pr session plugin plug db
  `),
);
const WHICH_CONVERSATION = ['-s', '--session', '-c', '--continue', '--fork'];
const ONLY_HEADLESS = [
  '--format',
  '--command',
  '-f',
  '--file',
  '--title',
  '--share',
  '--thinking',
  '--dir',
  '--variant',
];
/** Another process writes the database meanwhile; a reader waits for it at most this long. */
const BUSY_MS = 1_000;
/** As many as anybody chooses from. */
const MAX_CONVERSATIONS = 20;

export const opencode: Adapter = {
  name: 'opencode',
  install: 'npm install -g opencode-ai',
  headless: ['opencode', 'run'],
  readInvocation,
  withNewId: () => null,
  withResume: ([program = '', ...args], nativeId) =>
    args[0] === 'run'
      ? [program, 'run', '--session', nativeId, ...args.slice(1)]
      : [program, '--session', nativeId, ...args],
  marks: ({ pid }) => [`OPENCODE_PID=${pid}`],
  withLatest: ([program = '', ...args], nativeId) => [
    program,
    ...readCommandLine(args, GRAMMAR).flatMap((part) =>
      isContinue(part) ? ['--session', nativeId] : part.words,
    ),
  ],
  resumeArgv: ([program = '', ...args], nativeId, prompt) => {
    const parts = readCommandLine(args, GRAMMAR);
    const isHeadless = prompt !== null && wordsOf(parts)[0] === 'run';
    const dropped = [...WHICH_CONVERSATION, '--prompt', ...(isHeadless ? [] : ONLY_HEADLESS)];
    const options = optionsWithout(parts, dropped);
    if (isHeadless) return [program, 'run', ...options, '--session', nativeId, '--', prompt];
    return [program, ...options, '--session', nativeId, ...(prompt === null ? [] : ['--prompt', prompt])];
  },
  findConversations: ({ environment }, reference) =>
    conversations(environment, 'substr(id, 1, ?) = ?', [reference.length, reference]),
  latestConversation: ({ environment, cwd }) =>
    conversations(environment, 'directory = ? and parent_id is null', [cwd])[0] ?? null,
  nativeProgram: (path) => behindWrapper(path, 'opencode-ai', ['bin/opencode'], 'opencode'),
  reporting,
  readReport,
  readPane: (_title, screen) => {
    const last = screen.trimEnd().split('\n').slice(-6).join('\n');
    if (/Permission required|Allow once/.test(screen))
      return { is: 'needs-input', evidence: 'its screen asks', waitingFor: 'an answer to its question' };
    if (last.includes('esc interrupt') || last.includes('esc again to interrupt'))
      return { is: 'working', evidence: 'its screen says that it can be interrupted', waitingFor: null };
    if (last.includes('ctrl+p commands'))
      return { is: 'idle', evidence: 'its screen shows the prompt at rest', waitingFor: null };
    return null;
  },
  serves: (process) => {
    if (process.name !== 'opencode' && basename(process.argv[0] ?? '') !== 'opencode') return null;
    const { asked } = readInvocation(process.argv);
    if (asked.is === 'none') return null;
    return { nativeId: asked.is === 'resume' ? asked.nativeId : null, evidence: 'its command line' };
  },
  ownRecord: (process, nativeId) => (nativeId === null ? null : lastTurn(process.environment(), nativeId)),
};

function isContinue(part: Part): boolean {
  return part.is === 'option' && (part.name === '-c' || part.name === '--continue');
}

function readInvocation([, ...args]: readonly string[]): Invocation {
  const parts = readCommandLine(args, GRAMMAR);
  const [command = ''] = wordsOf(parts);
  const isInteractive = command !== 'run';
  if (COMMANDS.has(command) || hasOption(parts, '-v', '--version', '-h', '--help', '--attach'))
    return { asked: { is: 'none' }, isInteractive };
  if (hasOption(parts, '--fork')) return { asked: { is: 'open' }, isInteractive };
  const nativeId = optionValue(parts, '-s', '--session');
  if (nativeId !== null) return { asked: { is: 'resume', nativeId }, isInteractive };
  if (hasOption(parts, '-c', '--continue')) return { asked: { is: 'latest' }, isInteractive };
  return { asked: { is: 'new', nativeId: null }, isInteractive };
}

function databasePath(environment: Environment): string {
  const data = environment['XDG_DATA_HOME'] ?? join(environment['HOME'] ?? '/', '.local', 'share');
  return environment['OPENCODE_DB'] ?? join(data, 'opencode', 'opencode.db');
}

/** The latest first. */
function conversations(environment: Environment, where: string, values: (string | number)[]): Conversation[] {
  const rows = ask(
    environment,
    `select id, directory, time_updated from session where ${where} order by time_updated desc limit ${MAX_CONVERSATIONS}`,
    values,
  );
  return rows.map((row) => ({
    nativeId: String(row['id']),
    cwd: String(row['directory']),
    path: databasePath(environment),
    updatedAtMs: Number(row['time_updated']),
  }));
}

/** An answer that is not complete is being worked on. One that was cut off stays so, but then nobody asks any more. */
function lastTurn(environment: Environment, nativeId: string): Activity | null {
  const [row] = ask(
    environment,
    'select data, time_updated from message where session_id = ? order by time_created desc limit 1',
    [nativeId],
  );
  const data: unknown = row === undefined ? null : JSON.parse(String(row['data']));
  if (!isObject(data)) return null;
  const time = isObject(data['time']) ? data['time'] : {};
  const isOver = data['role'] === 'assistant' && time['completed'] !== undefined;
  return {
    is: isOver ? 'idle' : 'working',
    sinceMs: Number(row?.['time_updated']),
    evidence: 'the last message in its database',
    waitingFor: null,
  };
}

/** No rows when there is no database, or none that can be understood: what is not known is not said. */
function ask(
  environment: Environment,
  sql: string,
  values: (string | number)[],
): Readonly<Record<string, unknown>>[] {
  const path = databasePath(environment);
  if (!existsSync(path)) return [];
  try {
    const database = new DatabaseSync(path, { readOnly: true });
    try {
      database.exec(`pragma busy_timeout = ${BUSY_MS}`);
      return database.prepare(sql).all(...values);
    } finally {
      database.close();
    }
  } catch {
    return [];
  }
}

/** A plugin for this one launch, added to whatever configuration the caller gives in the same way. */
function reporting({ argv, hookProgram, runDirectory, place }: ReportingOrder): Reporting | null {
  const plugin = join(hookProgram, '..', 'opencode-plugin.mjs');
  const given = place.environment['OPENCODE_CONFIG_CONTENT'] ?? '';
  let config: unknown;
  try {
    config = given === '' ? {} : JSON.parse(given);
  } catch {
    return null;
  }
  if (!isObject(config)) return null;
  const others = (Array.isArray(config['plugin']) ? (config['plugin'] as unknown[]) : []).filter(
    (each) => typeof each !== 'string' || basename(each) !== 'opencode-plugin.mjs',
  );
  return {
    argv,
    environment: {
      OPENCODE_CONFIG_CONTENT: JSON.stringify({ ...config, plugin: [...others, `file://${plugin}`] }),
      REEVE_REPORT_TO: runDirectory,
    },
    files: {},
    hasHooks: true,
  };
}

/** Subagents work in conversations of their own below the first one; theirs are not the run's. */
function readReport(payload: Readonly<Record<string, unknown>>): Reported | null {
  return textField(payload, 'parent_id') === null ? readHookReport(payload) : null;
}
