/** opencode. Chooses a conversation's id itself; keeps no second process off it. Its conversations are in one database. */
import { basename, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Activity } from '../lifecycle/harness-fact.ts';
import type {
  Adapter,
  Conversation,
  Environment,
  Invocation,
  PaneReading,
  Reported,
  Reporting,
  ReportingOrder,
} from './adapter.ts';
import { isAdministration } from './administration.ts';
import {
  behindDashes,
  commandIn,
  hasOption,
  listed,
  optionsWithout,
  optionValue,
  readCommandLine,
  withInstead,
} from './command-line.ts';
import type { Grammar } from './command-line.ts';
import { COMMAND_LINE, directoryIn } from './conversation.ts';
import { readHookReport } from './hook-report.ts';
import { behindWrapper } from './native-program.ts';
import { askDatabase } from './opencode-database.ts';
import { isObject, textField } from './transcript.ts';

const GRAMMAR: Grammar = {
  isYargs: true,
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
/** What the first message was, or went with. */
const FIRST_MESSAGE = ['--prompt', '--command', '-f', '--file', '--title'];
const ONLY_RUN = listed('--format --share --thinking --dir --variant -i --interactive');
/** As many as anybody chooses from. */
const MAX_CONVERSATIONS = 20;

export const opencode: Adapter = {
  name: 'opencode',
  install: 'npm install -g opencode-ai',
  headless: ['opencode', 'run'],
  readInvocation,
  withNewId: () => null,
  withResume: resuming,
  withLatest: resuming,
  resumeArgv,
  marks: ({ pid }) => [`OPENCODE_PID=${pid}`],
  findConversations: ({ environment }, reference) =>
    conversations(environment, 'substr(id, 1, ?) = ?', [reference.length, reference]),
  latestConversation: ({ environment, cwd }) =>
    conversations(environment, 'directory = ? and parent_id is null', [cwd])[0] ?? null,
  stopSignal: () => 'SIGTERM',
  nativeProgram: (path) => behindWrapper(path, 'opencode-ai', ['bin/opencode'], 'opencode'),
  reporting,
  readReport,
  readPane,
  serves: (process) => {
    if (!/^opencode(?:\.exe)?$/.test(basename(process.argv[0] ?? ''))) return null;
    const { asked } = readInvocation(process.argv);
    if (asked.is === 'none') return null;
    return { nativeId: asked.is === 'resume' ? asked.nativeId : null, evidence: COMMAND_LINE };
  },
  ownRecord: (process, nativeId) => (nativeId === null ? null : lastTurn(process.environment(), nativeId)),
  usage: async () =>
    (await import('./usage-opencode.ts')).opencodeUsage(({ environment }) => databasePath(environment)),
};

function readInvocation([, ...args]: readonly string[]): Invocation {
  const parts = readCommandLine(args, GRAMMAR);
  const command = commandIn(parts);
  const isInteractive = command !== 'run' || hasOption(parts, '-i', '--interactive');
  const isTelling = hasOption(parts, '-v', '--version', '-h', '--help');
  if (COMMANDS.has(command ?? '') || isTelling || hasOption(parts, '--attach')) {
    const administers = isTelling || isAdministration('opencode', [command]);
    return { asked: { is: 'none' }, isInteractive, isAdministration: administers };
  }
  if (hasOption(parts, '--fork')) return { asked: { is: 'open' }, isInteractive };
  const nativeId = optionValue(parts, '-s', '--session');
  if (nativeId !== null) return { asked: { is: 'resume', nativeId }, isInteractive };
  if (!hasOption(parts, '-c', '--continue')) return { asked: { is: 'new', nativeId: null }, isInteractive };
  const directory = optionValue(parts, '--dir') ?? (command === 'run' ? null : command);
  return { asked: directory === null ? { is: 'latest' } : { is: 'latest', directory }, isInteractive };
}

/** The same command line with this conversation, whichever it asked for. */
function resuming([program = '', ...args]: readonly string[], nativeId: string): readonly string[] {
  const words = ['--session', nativeId];
  const parts = readCommandLine(args, GRAMMAR);
  const replaced = withInstead(parts, WHICH_CONVERSATION, words);
  if (replaced !== null) return [program, ...replaced];
  if (commandIn(parts) !== 'run') return [program, ...words, ...args];
  const run = parts.findIndex((part) => part.is === 'word');
  return [program, ...parts.flatMap((part, at) => (at === run ? [...part.words, ...words] : part.words))];
}

function resumeArgv(
  [program = '', ...args]: readonly string[],
  nativeId: string,
  prompt: string | null,
): readonly string[] {
  const parts = readCommandLine(args, GRAMMAR);
  const command = commandIn(parts);
  const isHeadless = prompt !== null && command === 'run';
  const dropped = [...WHICH_CONVERSATION, ...FIRST_MESSAGE, ...(isHeadless ? [] : ONLY_RUN)];
  const options = [...optionsWithout(parts, dropped), '--session', nativeId];
  if (isHeadless) return [program, 'run', ...options, ...behindDashes([prompt])];
  // Without a command it is the directory to work in; in front of options that would take it for a value.
  const directory = command === null || command === 'run' ? [] : [command];
  // In one word, for a prompt may begin with a dash.
  return [program, ...directory, ...options, ...(prompt === null ? [] : [`--prompt=${prompt}`])];
}

/** Only the screen tells; at its end, for above may stand anything that the model wrote. */
function readPane(_title: string, screen: string): PaneReading | null {
  const lines = screen.split('\n').filter((line) => line.trim() !== '');
  const last = lines.slice(-8).join('\n');
  if (screen.includes('Permission required') && last.includes('Allow once'))
    return { is: 'needs-input', evidence: 'its screen asks', waitingFor: 'an answer to its question' };
  if (/esc (?:again to )?interrupt/.test(last))
    return { is: 'working', evidence: 'its screen says that it can be interrupted', waitingFor: null };
  if (last.includes('ctrl+p commands'))
    return { is: 'idle', evidence: 'its screen shows the prompt at rest', waitingFor: null };
  return null;
}

/** A relative one is in the directory of the data, and one in memory is in no file. */
function databasePath(environment: Environment): string {
  const data = join(directoryIn(environment, 'XDG_DATA_HOME', '.local', 'share'), 'opencode');
  const given = environment['OPENCODE_DB'] ?? '';
  return resolve(data, given === '' ? 'opencode.db' : given);
}

/** The latest first. */
function conversations(environment: Environment, where: string, values: (string | number)[]): Conversation[] {
  const rows = ask(
    environment,
    `select id, directory, time_updated from session where ${where} order by time_updated desc limit ${MAX_CONVERSATIONS}`,
    values,
  );
  const path = databasePath(environment);
  return rows.flatMap((row) => {
    const nativeId = textField(row, 'id');
    if (nativeId === null) return [];
    return [
      { nativeId, cwd: textField(row, 'directory'), path, updatedAtMs: Number(row['time_updated']) || 0 },
    ];
  });
}

/** An answer that is not complete is being worked on. One that was cut off stays so, but then nobody asks any more. */
function lastTurn(environment: Environment, nativeId: string): Activity | null {
  const [row] = ask(
    environment,
    'select data, time_updated from message where session_id = ? order by time_created desc limit 1',
    [nativeId],
  );
  const data = parsed(textField(row, 'data') ?? '');
  if (!isObject(data)) return null;
  const time = isObject(data['time']) ? data['time'] : {};
  // Behind an answer that called a tool comes another one.
  const isOver =
    data['role'] === 'assistant' && time['completed'] !== undefined && data['finish'] !== 'tool-calls';
  return {
    is: isOver ? 'idle' : 'working',
    sinceMs: Number(row?.['time_updated']) || 0,
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
  try {
    return askDatabase(databasePath(environment), sql, values);
  } catch {
    return [];
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** A plugin for this one launch, added to whatever configuration the caller gives in the same way. */
function reporting({ argv, hookProgram, runDirectory, place }: ReportingOrder): Reporting | null {
  const plugin = join(hookProgram, '..', 'opencode-plugin.mjs');
  const given = place.environment['OPENCODE_CONFIG_CONTENT'] ?? '';
  const config = given === '' ? {} : parsed(given);
  if (!isObject(config)) return null;
  const others = (Array.isArray(config['plugin']) ? (config['plugin'] as unknown[]) : []).filter(
    (each) => typeof each !== 'string' || basename(each) !== 'opencode-plugin.mjs',
  );
  return {
    argv,
    environment: {
      OPENCODE_CONFIG_CONTENT: JSON.stringify({ ...config, plugin: [...others, pathToFileURL(plugin).href] }),
      REEVE_REPORT_TO: runDirectory,
    },
    files: {},
    // It loads no plugins otherwise.
    hasHooks: !hasOption(readCommandLine(argv.slice(1), GRAMMAR), '--pure'),
  };
}

/** Subagents work in conversations of their own below the first one; theirs are not the run's. */
function readReport(payload: Readonly<Record<string, unknown>>): Reported | null {
  return textField(payload, 'parent_id') === null ? readHookReport(payload) : null;
}
