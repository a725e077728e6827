/** Gemini CLI. Lets the caller choose a conversation's id; keeps no second process off it. */
import { readFileSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type {
  Adapter,
  Conversation,
  Environment,
  Invocation,
  LiveProcess,
  Reporting,
  ReportingOrder,
} from './adapter.ts';
import { hasOption, optionsWithout, optionValue, readCommandLine, wordsOf, listed } from './command-line.ts';
import type { Grammar } from './command-line.ts';
import { latestFirst } from './conversation.ts';
import { hookCommand } from './hook-command.ts';
import { HOOK_EVENTS, HOOK_TIMEOUT_SECONDS } from './hook-events.ts';
import { readHookReport } from './hook-report.ts';
import { changedAtMs, filesAt, headOf, namesIn, textField } from './transcript.ts';

const GRAMMAR: Grammar = {
  valued: listed(`
    -m --model -p --prompt -i --prompt-interactive --approval-mode --session-file --session-id
    --delete-session -o --output-format
  `),
  optional: ['-r', '--resume', '-w', '--worktree'],
  variadic: listed(`
    --policy --admin-policy --allowed-mcp-server-names --allowed-tools -e --extensions
    --include-directories
  `),
};
const COMMANDS = new Set(['mcp', 'extensions', 'extension', 'skills', 'skill', 'hooks', 'hook', 'gemma']);
const NO_SESSION = [
  '-v',
  '--version',
  '-h',
  '--help',
  '-l',
  '--list-extensions',
  '--list-sessions',
  '--delete-session',
];
const WHICH_CONVERSATION = ['--session-id', '--session-file', '-r', '--resume'];
const PROMPTS = ['-p', '--prompt', '-i', '--prompt-interactive'];
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export const gemini: Adapter = {
  name: 'gemini',
  install: 'npm install -g @google/gemini-cli',
  headless: ['gemini', '-p', ''],
  readInvocation,
  withNewId: ([program = '', ...args], nativeId) => [program, '--session-id', nativeId, ...args],
  withResume: ([program = '', ...args], nativeId) => [program, '--resume', nativeId, ...args],
  marks: () => [],
  withLatest: ([program = '', ...args], nativeId) => [
    program,
    ...readCommandLine(args, GRAMMAR).flatMap((part) =>
      part.is === 'option' && (part.name === '-r' || part.name === '--resume')
        ? ['--resume', nativeId]
        : part.words,
    ),
  ],
  resumeArgv: ([program = '', ...args], nativeId, prompt) => {
    const parts = readCommandLine(args, GRAMMAR);
    const isHeadless = prompt !== null && hasOption(parts, '-p', '--prompt');
    const dropped = [...WHICH_CONVERSATION, ...PROMPTS, ...(isHeadless ? [] : ['-o', '--output-format'])];
    const asked = prompt === null ? [] : [isHeadless ? '--prompt' : '--prompt-interactive', prompt];
    return [program, ...optionsWithout(parts, dropped), '--resume', nativeId, ...asked];
  },
  findConversations: ({ environment }, reference) =>
    chats(environment, reference.slice(0, SHORT_ID))
      .filter(({ nativeId }) => nativeId.startsWith(reference))
      .toSorted(latestFirst),
  latestConversation: ({ environment, cwd }) =>
    chats(environment, '')
      .toSorted(latestFirst)
      .find((chat) => chat.cwd === cwd) ?? null,
  nativeProgram: (path) => path,
  reporting,
  readReport: readHookReport,
  readPane: (title) => {
    if (title.includes('✋'))
      return {
        is: 'needs-input',
        evidence: 'the title of its terminal',
        waitingFor: 'an answer to its question',
      };
    if (title.includes('✦'))
      return { is: 'working', evidence: 'the title of its terminal', waitingFor: null };
    if (title.includes('◇')) return { is: 'idle', evidence: 'the title of its terminal', waitingFor: null };
    return null;
  },
  serves: (process) => {
    const argv = geminiArgv(process);
    if (argv === null) return null;
    const { asked } = readInvocation(argv);
    if (asked.is === 'none') return null;
    const nativeId = asked.is === 'resume' || asked.is === 'new' ? asked.nativeId : null;
    return { nativeId, evidence: 'its command line' };
  },
  ownRecord: () => null,
};

/** How much of a conversation's id is in the name of its file. */
const SHORT_ID = 8;

function readInvocation([, ...args]: readonly string[]): Invocation {
  const parts = readCommandLine(args, GRAMMAR);
  const isInteractive = !hasOption(parts, '-p', '--prompt');
  if (hasOption(parts, ...NO_SESSION) || COMMANDS.has(wordsOf(parts)[0] ?? ''))
    return { asked: { is: 'none' }, isInteractive };
  if (hasOption(parts, '--session-file')) return { asked: { is: 'open' }, isInteractive };
  if (!hasOption(parts, '-r', '--resume'))
    return { asked: { is: 'new', nativeId: optionValue(parts, '--session-id') }, isInteractive };
  const reference = optionValue(parts, '-r', '--resume') ?? 'latest';
  if (reference === 'latest') return { asked: { is: 'latest' }, isInteractive };
  return {
    asked: UUID.test(reference) ? { is: 'resume', nativeId: reference } : { is: 'open' },
    isInteractive,
  };
}

/** A script of Node: its own command line begins behind the script. */
function geminiArgv({ argv }: LiveProcess): readonly string[] | null {
  const at = argv.findIndex((word, index) => index < 6 && /^gemini(?:\.m?js)?$/.test(basename(word)));
  if (at === -1 || (at > 0 && !/^(?:node|bun)/.test(basename(argv[0] ?? '')))) return null;
  return argv.slice(at);
}

function homeOf(environment: Environment): string {
  return join(environment['GEMINI_CLI_HOME'] ?? environment['HOME'] ?? '/', '.gemini');
}

/** `tmp/<project>/chats/session-<time>-<beginning of the id>.jsonl` */
function chats(environment: Environment, shortId: string): Conversation[] {
  const isWanted = (name: string) => /^session-.*\.jsonl?$/.test(name) && shortOf(name).startsWith(shortId);
  const projects = join(homeOf(environment), 'tmp');
  return namesIn(projects)
    .flatMap((project) => filesAt(join(projects, project, 'chats'), 0, isWanted))
    .flatMap((path) => {
      const nativeId = headOf(path)
        .map((line) => textField(line, 'sessionId'))
        .find((id) => id !== null);
      if (nativeId === undefined || nativeId === null) return [];
      return [{ nativeId, cwd: rootOf(dirname(dirname(path))), path, updatedAtMs: changedAtMs(path) }];
    });
}

function shortOf(name: string): string {
  return /-([0-9a-f]+)\.jsonl?$/i.exec(name)?.[1] ?? '';
}

function rootOf(project: string): string | null {
  try {
    return readFileSync(join(project, '.project_root'), 'utf8').trim();
  } catch {
    return null;
  }
}

/**
 * Settings of the system, which Gemini reads besides those of the user and the project. It takes them only from a place
 * that nobody but root can write to, so this works for root alone; others have `reeve hooks install gemini`.
 */
function reporting({ argv, hookProgram, runDirectory, place }: ReportingOrder): Reporting {
  // It starts itself once more otherwise, and the first of the two processes would be the one that is known.
  const once = { GEMINI_CLI_NO_RELAUNCH: 'true' };
  const given = place.environment['GEMINI_CLI_SYSTEM_SETTINGS_PATH'] ?? '';
  const isOthers = given !== '' && basename(given) !== SETTINGS_FILE;
  if (isOthers || !isSafe(runDirectory)) return { argv, environment: once, files: {}, hasHooks: false };
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

function isSafe(directory: string): boolean {
  for (let path = directory; ; path = dirname(path)) {
    const status = statSync(path, { throwIfNoEntry: false });
    if (status === undefined || status.uid !== 0 || (status.mode & 0o022) !== 0) return false;
    if (path === dirname(path)) return true;
  }
}
