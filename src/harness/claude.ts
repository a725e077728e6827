/** Claude Code. Lets the caller choose a conversation's id; keeps no second process off it, and forks its transcript. */
import { basename, join, resolve } from 'node:path';
import type { Activity } from '../lifecycle/harness-fact.ts';
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
  Served,
} from './adapter.ts';
import { isAdministration } from './administration.ts';
import { conversationsCalled } from './claude-named.ts';
import {
  behindDashes,
  hasOption,
  listed,
  optionsWithout,
  optionValue,
  readCommandLine,
  scriptArgv,
  withInstead,
  wordsOf,
} from './command-line.ts';
import type { Grammar } from './command-line.ts';
import { COMMAND_LINE, conversationsAt, directoryIn, isUuid } from './conversation.ts';
import { hookCommand } from './hook-command.ts';
import { HOOK_EVENTS, HOOK_TIMEOUT_SECONDS } from './hook-events.ts';
import { readHookReport } from './hook-report.ts';
import { behindWrapper } from './native-program.ts';
import { filesAt, firstText, headOf, isObject, objectAt, tailOf, textField } from './transcript.ts';
import type { JsonObject } from './transcript.ts';

/** As `claude --help` has them, and the hidden ones that take a word which could else be taken for a prompt. */
const GRAMMAR: Grammar = {
  valued: listed(`
    --agent --agents --append-system-prompt --append-system-prompt-file --autocompact
    --debug-file --effort --environment --fallback-model --input-format --json-schema
    --max-budget-usd --max-turns --model --name -n --output-format --permission-mode
    --permission-prompt-tool --permission-prompts --plugin-dir --plugin-url
    --remote-control-session-name-prefix --session-id --setting-sources --settings --system-prompt
    --system-prompt-file --system-prompt-snapshot
    --advisor --agent-color --agent-id --agent-name --agent-type --append-subagent-system-prompt
    --append-subagent-system-prompt-file --fast-mode --managed-settings --max-thinking-tokens
    --messaging-socket-path --parent-session-id --plan-mode-instructions --plugin-dir-no-mcp
    --prefill --prefill-b64 --resume-drops-turn --resume-session-at --rewind-files --sdk-url
    --task-budget --team-name --teammate-mode --thinking --thinking-display --workload
  `),
  optional: listed(`
    -r --resume -d --debug -w --worktree --cloud --remote --from-pr --teleport --remote-control
    --rc --prompt-suggestions
  `),
  variadic: listed(`
    --add-dir --allowedTools --allowed-tools --disallowedTools --disallowed-tools --betas --file
    --mcp-config --tools --channels --dangerously-load-development-channels
  `),
};

/** Commands that serve no conversation of their own. With `--print` there are none, and the word is the prompt. */
const COMMANDS = new Set(
  listed(`
    agents attach auth auto-mode doctor gateway help import install kill logs mcp plugin plugins
    project purge remote-control respawn rm setup-token stop ultrareview update upgrade
  `),
);
const TELLING = listed('-v --version -h --help');
const NO_SESSION = [...TELLING, ...listed('--cloud --remote --environment --desktop')];
/** Options that choose among conversations which only Claude knows. */
const CHOSEN_BY_CLAUDE = ['--from-pr', '--teleport'];
/** Which conversation, and from which of its messages on. */
const WHICH_CONVERSATION = listed(`
    --session-id -r --resume -c --continue --fork-session --from-pr --teleport
    --resume-session-at --resume-drops-turn --rewind-files
  `);
/** Options that mean something only together with `--print`. */
const ONLY_HEADLESS = listed(`
    -p --print --output-format --input-format --include-partial-messages --include-hook-events
    --forward-subagent-text --max-turns --max-budget-usd --json-schema --no-session-persistence
    --replay-user-messages --permission-prompt-tool --permission-prompts
  `);
/** With these Claude runs no hooks, whoever asks for them. */
const WITHOUT_HOOKS = ['--bare', '--safe-mode'];

export const claude: Adapter = {
  name: 'claude',
  install: 'npm install -g @anthropic-ai/claude-code',
  headless: ['claude', '-p'],
  readInvocation,
  withNewId: ([program = '', ...args], nativeId) => [program, '--session-id', nativeId, ...args],
  withResume: resuming,
  withLatest: resuming,
  resumeArgv,
  marks: ({ pid }) => [`CLAUDE_PID=${pid}`],
  findConversations: ({ environment }, reference) => [
    ...transcripts(filesAt(projectsIn(environment), 1, (name) => name.startsWith(reference))),
  ],
  latestConversation: ({ environment, cwd }) => {
    const project = join(projectsIn(environment), projectName(cwd));
    return transcripts(filesAt(project, 0, () => true)).next().value ?? null;
  },
  conversationsCalled: ({ environment, cwd }, reference) =>
    conversationsCalled(join(projectsIn(environment), projectName(cwd)), cwd, reference),
  stopSignal: () => 'SIGTERM',
  nativeProgram: (path) => behindWrapper(path, '@anthropic-ai/claude-code', ['claude']),
  reporting,
  readReport: readHookReport,
  readPane,
  serves,
  ownRecord,
  usage: async () => (await import('./usage-claude.ts')).claudeUsage(projectsIn, projectName),
};

function readInvocation([, ...args]: readonly string[]): Invocation {
  const parts = readCommandLine(args, GRAMMAR);
  const isInteractive = !hasOption(parts, '-p', '--print');
  const words = wordsOf(parts);
  const isCommand = isInteractive && COMMANDS.has(words[0] ?? '');
  if (hasOption(parts, ...NO_SESSION) || isCommand) {
    const administers = hasOption(parts, ...TELLING) || (isCommand && isAdministration('claude', words));
    return { asked: { is: 'none' }, isInteractive, isAdministration: administers };
  }
  const chosen = optionValue(parts, '--session-id');
  if (hasOption(parts, '--fork-session')) {
    const asked = chosen === null ? ({ is: 'open' } as const) : ({ is: 'new', nativeId: chosen } as const);
    return { asked, isInteractive };
  }
  if (hasOption(parts, '-r', '--resume')) {
    const reference = (optionValue(parts, '-r', '--resume') ?? '').trim();
    if (reference === '') return { asked: { is: 'open' }, isInteractive };
    const asked = isUuid(reference)
      ? ({ is: 'resume', nativeId: reference } as const)
      : ({ is: 'named', reference } as const);
    return { asked, isInteractive };
  }
  if (hasOption(parts, '-c', '--continue')) return { asked: { is: 'latest' }, isInteractive };
  if (hasOption(parts, ...CHOSEN_BY_CLAUDE)) return { asked: { is: 'open' }, isInteractive };
  return { asked: { is: 'new', nativeId: chosen }, isInteractive };
}

/** The same command line with this conversation, whichever it asked for. */
function resuming([program = '', ...args]: readonly string[], nativeId: string): readonly string[] {
  const parts = readCommandLine(args, GRAMMAR);
  const options = optionsWithout(parts, WHICH_CONVERSATION);
  return [program, ...options, '--resume', nativeId, ...behindDashes(wordsOf(parts))];
}

function resumeArgv(
  [program = '', ...args]: readonly string[],
  nativeId: string,
  prompt: string | null,
): readonly string[] {
  const parts = readCommandLine(args, GRAMMAR);
  const isHeadless = prompt !== null && hasOption(parts, '-p', '--print');
  const dropped = [...WHICH_CONVERSATION, '--prefill', '--prefill-b64', ...(isHeadless ? [] : ONLY_HEADLESS)];
  const options = optionsWithout(parts, dropped);
  return [program, ...options, '--resume', nativeId, ...behindDashes(promptWords(prompt, isHeadless))];
}

/** Even behind `--` a word that is a command's name is the command, and only with a space behind it a prompt. */
function promptWords(prompt: string | null, isHeadless: boolean): readonly string[] {
  if (prompt === null) return [];
  return [!isHeadless && COMMANDS.has(prompt) ? `${prompt} ` : prompt];
}

function configDirectory(environment: Environment): string {
  return directoryIn(environment, 'CLAUDE_CONFIG_DIR', '.claude');
}

function projectsIn(environment: Environment): string {
  return join(configDirectory(environment), 'projects');
}

/** Claude names a project's directory after the path of the project. */
function projectName(cwd: string): string {
  return cwd.replaceAll(/[^A-Za-z0-9]/g, '-');
}

/** `<id>.jsonl`. A first prompt may be larger than what is read of the beginning; the end says the directory too. */
function transcripts(paths: readonly string[]): Generator<Conversation> {
  return conversationsAt(paths, (path) => {
    const nativeId = basename(path, '.jsonl');
    if (!path.endsWith('.jsonl') || !isUuid(nativeId)) return null;
    return { nativeId, cwd: firstText(headOf(path), 'cwd') ?? firstText(tailOf(path), 'cwd') };
  });
}

/** The last line says what the keys do; above it may stand anything that the model wrote. */
function readPane(title: string, screen: string): PaneReading | null {
  const lines = screen.trimEnd().split('\n').slice(-14);
  const last = lines.at(-1) ?? '';
  const isQuestion = lines.some((line) => /^\s*(?:Do you want|Would you like) .*\?\s*$/.test(line));
  if (isQuestion && last.includes('Esc to cancel'))
    return { is: 'needs-input', evidence: 'its screen asks', waitingFor: 'an answer to its question' };
  if (last.includes('esc to interrupt'))
    return { is: 'working', evidence: 'its screen says that it can be interrupted', waitingFor: null };
  if (/^[◐◑]/.test(title)) return { is: 'working', evidence: 'the title of its terminal', waitingFor: null };
  if (/\? for shortcuts|shift\+tab to cycle/.test(last))
    return { is: 'idle', evidence: 'its screen shows the prompt at rest', waitingFor: null };
  return null;
}

function serves(process: LiveProcess): Served | null {
  const argv = claudeArgv(process);
  const asked = argv === null ? null : readInvocation(argv).asked;
  if (asked === null || asked.is === 'none') return null;
  const known = textField(registryEntry(process), 'sessionId');
  if (known !== null) return { nativeId: known, evidence: REGISTRY };
  const nativeId = asked.is === 'resume' || asked.is === 'new' ? asked.nativeId : null;
  return { nativeId, evidence: COMMAND_LINE };
}

/** By its arguments, not its name: Claude starts itself under other names too, as a search program for one. */
function claudeArgv({ argv }: LiveProcess): readonly string[] | null {
  if (/^claude(?:\.exe)?$/.test(basename(argv[0] ?? ''))) return argv;
  const script = scriptArgv(argv);
  return /(?:^|\/)(?:claude|claude-code\/cli\.[cm]?js)$/.test(script?.[0] ?? '') ? script : null;
}

const REGISTRY = "Claude's own list of live processes";
const REGISTRY_STATUS = new Map<string, Activity['is']>([
  ['busy', 'working'],
  ['idle', 'idle'],
  ['waiting', 'needs-input'],
]);

/** One file a live process. Undocumented, so only ever one sign among others; a reused pid has another start time. */
function registryEntry(process: LiveProcess): JsonObject | null {
  const sessions = join(configDirectory(process.environment()), 'sessions');
  const record = objectAt(join(sessions, `${process.pid}.json`));
  return record?.['procStart'] === process.startTime ? record : null;
}

function ownRecord(process: LiveProcess): Activity | null {
  const record = registryEntry(process);
  const is = REGISTRY_STATUS.get(textField(record, 'status') ?? '');
  const sinceMs = record?.['statusUpdatedAt'];
  if (is === undefined || typeof sinceMs !== 'number') return null;
  const waitingFor = is === 'needs-input' ? (textField(record, 'waitingFor') ?? 'an answer') : null;
  return { is, sinceMs, evidence: REGISTRY, waitingFor };
}

/** Settings for this one launch; those that the caller gave are kept, with the hooks added. */
function reporting({ argv, hookProgram, runDirectory, place }: ReportingOrder): Reporting | null {
  const [program = '', ...args] = argv;
  const parts = readCommandLine(args, GRAMMAR);
  if (hasOption(parts, ...WITHOUT_HOOKS)) return { argv, environment: {}, files: {}, hasHooks: false };
  const given = optionValue(parts, '--settings');
  const settings = given === null ? {} : settingsFrom(given, place);
  if (settings === null) return null;
  const command = hookCommand(hookProgram, runDirectory);
  const hook = { type: 'command', command, timeout: HOOK_TIMEOUT_SECONDS };
  const hooks: Record<string, unknown> = isObject(settings['hooks']) ? { ...settings['hooks'] } : {};
  for (const event of HOOK_EVENTS.claude) {
    const others = hooks[event];
    hooks[event] = [...(Array.isArray(others) ? (others as unknown[]) : []), { hooks: [hook] }];
  }
  const ours = ['--settings', JSON.stringify({ ...settings, hooks })];
  const added = withInstead(parts, ['--settings'], ours) ?? [...ours, ...args];
  return { argv: [program, ...added], environment: {}, files: {}, hasHooks: true };
}

/** A file or the JSON itself, as `--settings` takes it; null when neither can be read. */
function settingsFrom(given: string, { cwd }: Place): JsonObject | null {
  if (!given.trimStart().startsWith('{')) return objectAt(resolve(cwd, given));
  try {
    const settings: unknown = JSON.parse(given);
    return isObject(settings) ? settings : null;
  } catch {
    return null;
  }
}
