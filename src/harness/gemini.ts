/** Gemini CLI. Lets the caller choose a conversation's id; keeps no second process off it. */
import { existsSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type {
  Adapter,
  Conversation,
  Environment,
  Invocation,
  LiveProcess,
  PaneReading,
  Place,
  Reporting,
  ReportingOrder,
} from './adapter.ts';
import { isAdministration } from './administration.ts';
import {
  commandIn,
  hasOption,
  listed,
  optionsWithout,
  optionValue,
  readCommandLine,
  scriptArgv,
  withInstead,
} from './command-line.ts';
import type { Grammar } from './command-line.ts';
import { COMMAND_LINE, conversationsAt, directoryIn, firstIn, isUuid } from './conversation.ts';
import { hookCommand } from './hook-command.ts';
import { HOOK_EVENTS, HOOK_TIMEOUT_SECONDS } from './hook-events.ts';
import { readHookReport } from './hook-report.ts';
import { filesAt, headTextOf, isObject, namesIn, objectAt, textField, wholeTextOf } from './transcript.ts';

/** Its help calls some of them lists, but all take one word at a time. */
const GRAMMAR: Grammar = {
  isYargs: true,
  valued: listed(`
    -m --model -p --prompt -i --prompt-interactive --approval-mode --session-file --session-id
    --delete-session -o --output-format --policy --admin-policy --allowed-mcp-server-names
    --allowed-tools -e --extensions --include-directories --fake-responses
    --fake-responses-non-strict --record-responses
  `),
  optional: ['-r', '--resume', '-w', '--worktree'],
};
const COMMANDS = new Set(['mcp', 'extensions', 'extension', 'skills', 'skill', 'hooks', 'hook', 'gemma']);
const NO_SESSION = listed(`
    -v --version -h --help -l --list-extensions --list-sessions --delete-session
  `);
const WHICH_CONVERSATION = ['--session-id', '--session-file', '-r', '--resume'];
const PROMPTS = ['-p', '--prompt', '-i', '--prompt-interactive'];

export const gemini: Adapter = {
  name: 'gemini',
  install: 'npm install -g @google/gemini-cli',
  headless: ['gemini', '-p', ''],
  readInvocation,
  withNewId: ([program = '', ...args], nativeId) => [program, '--session-id', nativeId, ...args],
  withResume: resuming,
  withLatest: resuming,
  resumeArgv: ([program = '', ...args], nativeId, prompt) => {
    const parts = readCommandLine(args, GRAMMAR);
    const isHeadless = prompt !== null && hasOption(parts, '-p', '--prompt');
    const dropped = [...WHICH_CONVERSATION, ...PROMPTS, ...(isHeadless ? [] : ['-o', '--output-format'])];
    // In one word, for a prompt may begin with a dash.
    const asked = prompt === null ? [] : [`${isHeadless ? '--prompt' : '--prompt-interactive'}=${prompt}`];
    return [program, ...optionsWithout(parts, dropped), '--resume', nativeId, ...asked];
  },
  marks: () => [],
  findConversations: ({ environment }, reference) =>
    [...chats(environment, reference.slice(0, SHORT_ID))].filter(({ nativeId }) =>
      nativeId.startsWith(reference),
    ),
  latestConversation: ({ environment, cwd }) => firstIn(chats(environment, ''), cwd),
  stopSignal: () => 'SIGTERM',
  nativeProgram: (path) => path,
  reporting,
  readReport: readHookReport,
  readPane,
  serves: (process) => {
    const argv = geminiArgv(process);
    const asked = argv === null ? null : readInvocation(argv).asked;
    if (asked === null || asked.is === 'none') return null;
    const nativeId = asked.is === 'resume' || asked.is === 'new' ? asked.nativeId : null;
    return { nativeId, evidence: COMMAND_LINE };
  },
  ownRecord: () => null,
  usage: async () => (await import('./usage-gemini.ts')).geminiUsage(chatPaths),
};

/** How much of a conversation's id is in the name of its file. */
const SHORT_ID = 8;

function readInvocation([, ...args]: readonly string[]): Invocation {
  const parts = readCommandLine(args, GRAMMAR);
  const isInteractive = !hasOption(parts, '-p', '--prompt');
  const isTelling = hasOption(parts, ...NO_SESSION);
  const command = commandIn(parts);
  if (isTelling || COMMANDS.has(command ?? '')) {
    const administers = isTelling || isAdministration('gemini', [command]);
    return { asked: { is: 'none' }, isInteractive, isAdministration: administers };
  }
  // An editor says later which conversation, or it is copied from a file.
  if (hasOption(parts, '--session-file', '--acp', '--experimental-acp'))
    return { asked: { is: 'open' }, isInteractive };
  if (!hasOption(parts, '-r', '--resume'))
    return { asked: { is: 'new', nativeId: optionValue(parts, '--session-id') }, isInteractive };
  const reference = (optionValue(parts, '-r', '--resume') ?? '').trim();
  if (reference === '' || reference === 'latest') return { asked: { is: 'latest' }, isInteractive };
  if (isUuid(reference)) return { asked: { is: 'resume', nativeId: reference }, isInteractive };
  // A number of its own list, which begins anew with every conversation. It knows no other names, and says so.
  const isNumber = /^\d+$/.test(reference);
  return { asked: isNumber ? { is: 'named', reference } : { is: 'open' }, isInteractive };
}

/** The same command line with this conversation, whichever it asked for. */
function resuming([program = '', ...args]: readonly string[], nativeId: string): readonly string[] {
  const words = ['--resume', nativeId];
  const replaced = withInstead(readCommandLine(args, GRAMMAR), WHICH_CONVERSATION, words);
  return [program, ...(replaced ?? [...words, ...args])];
}

const MEANING_OF_TITLE = new Map<string, PaneReading['is']>([
  ['✋', 'needs-input'],
  ['✦', 'working'],
  ['◇', 'idle'],
]);

/** The first character tells; behind it may stand what the model thinks. */
function readPane(title: string): PaneReading | null {
  const is = MEANING_OF_TITLE.get(title.slice(0, 1));
  if (is === undefined) return null;
  const waitingFor = is === 'needs-input' ? 'an answer to its question' : null;
  return { is, evidence: 'the title of its terminal', waitingFor };
}

/** A script of Node: its own command line begins behind the script. */
function geminiArgv({ argv }: LiveProcess): readonly string[] | null {
  const own = scriptArgv(argv) ?? argv;
  return /^gemini(?:\.m?js)?$/.test(basename(own[0] ?? '')) ? own : null;
}

function homeOf(environment: Environment): string {
  const home = directoryIn(environment, 'GEMINI_CLI_HOME');
  return join(home, '.gemini');
}

/** `tmp/<project>/chats/session-<time>-<beginning of the id>.jsonl`, the latest first. */
function chats(environment: Environment, shortId: string): Generator<Conversation> {
  const isWanted = (name: string) => /^session-.*\.jsonl?$/.test(name) && shortOf(name).startsWith(shortId);
  const projects = join(homeOf(environment), 'tmp');
  const paths = namesIn(projects).flatMap((name) => filesAt(join(projects, name, 'chats'), 0, isWanted));
  return conversationsAt(paths, (path) => {
    const nativeId = sessionIn(headTextOf(path) ?? '');
    return nativeId === null ? null : { nativeId, cwd: rootOf(environment, dirname(dirname(path))) };
  });
}

/** Of one conversation. */
function chatPaths({ environment }: Place, nativeId: string): readonly string[] {
  return [...chats(environment, nativeId.slice(0, SHORT_ID))]
    .filter((chat) => chat.nativeId === nativeId)
    .map(({ path }) => path);
}

/** Looked for as text: older versions wrote one object over many lines, which is not whole in what is read. */
function sessionIn(text: string): string | null {
  return /^\s*\{[^{}]*?"sessionId"\s*:\s*"([^"\\]+)"/.exec(text)?.[1] ?? null;
}

function shortOf(name: string): string {
  return /-([\w]+)\.jsonl?$/.exec(name)?.[1] ?? '';
}

/** In the project's directory, and in the list of all projects. */
function rootOf(environment: Environment, project: string): string | null {
  const root = wholeTextOf(join(project, '.project_root'))?.trim() ?? '';
  if (root !== '') return root;
  const projects = objectAt(join(homeOf(environment), 'projects.json'))?.['projects'];
  if (!isObject(projects)) return null;
  const slug = basename(project);
  return Object.keys(projects).find((cwd) => textField(projects, cwd) === slug) ?? null;
}

/**
 * Settings of the system, which Gemini reads besides those of the user and the project. It takes them only from a place
 * that nobody but root can write to, so this works for root alone; others have `reeve hooks install gemini`.
 */
function reporting({ argv, hookProgram, runDirectory, place }: ReportingOrder): Reporting {
  // It starts itself once more otherwise, and the first of the two processes would be the one that is known.
  const once = { GEMINI_CLI_NO_RELAUNCH: 'true' };
  const given = place.environment['GEMINI_CLI_SYSTEM_SETTINGS_PATH'] ?? '';
  const isOurs = basename(given) === SETTINGS_FILE;
  // Those of the machine's owner must not be put out of force by ours.
  const hasOthers = given === '' ? SYSTEM_DIRECTORIES.some((path) => existsSync(path)) : !isOurs;
  if (hasOthers || !isSafe(runDirectory)) return { argv, environment: once, files: {}, hasHooks: false };
  const command = hookCommand(hookProgram, runDirectory);
  const hook = { type: 'command', name: 'reeve', command, timeout: HOOK_TIMEOUT_SECONDS * 1000 };
  const hooks = Object.fromEntries(HOOK_EVENTS.gemini.map((event) => [event, [{ hooks: [hook] }]]));
  return {
    argv,
    environment: { ...once, GEMINI_CLI_SYSTEM_SETTINGS_PATH: join(runDirectory, SETTINGS_FILE) },
    files: { [SETTINGS_FILE]: JSON.stringify({ hooks }) },
    hasHooks: true,
  };
}

const SETTINGS_FILE = 'reeve-gemini-settings.json';
const SYSTEM_DIRECTORIES = ['/etc/gemini-cli', '/Library/Application Support/GeminiCli'];

function isSafe(directory: string): boolean {
  try {
    for (let path = directory; ; path = dirname(path)) {
      const { uid, mode } = statSync(path);
      if (uid !== 0 || (mode & 0o022) !== 0) return false;
      if (path === dirname(path)) return true;
    }
  } catch {
    return false;
  }
}
