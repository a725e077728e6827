/** Claude Code. Lets the caller choose a conversation's id; keeps no second process off it, and forks its transcript. */
import { readFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { parse } from 'jsonc-parser';
import type {
  Adapter,
  Conversation,
  Environment,
  Invocation,
  Place,
  Reporting,
  ReportingOrder,
} from './adapter.ts';
import { hasOption, optionsWithout, optionValue, readCommandLine, wordsOf, listed } from './command-line.ts';
import type { Grammar } from './command-line.ts';
import { latestFirst } from './conversation.ts';
import { hookCommand } from './hook-command.ts';
import { HOOK_EVENTS, HOOK_TIMEOUT_SECONDS } from './hook-events.ts';
import { readHookReport } from './hook-report.ts';
import { behindWrapper } from './native-program.ts';
import { changedAtMs, filesAt, headOf, isObject, namesIn, textField } from './transcript.ts';
import type { JsonObject } from './transcript.ts';

const GRAMMAR: Grammar = {
  valued: listed(`
    --agent --agents --append-system-prompt --append-system-prompt-file --autocompact
    --debug-file --effort --environment --fallback-model --input-format --json-schema
    --max-budget-usd --max-turns --model --name -n --output-format --permission-mode
    --permission-prompt-tool --remote-control-session-name-prefix --session-id --setting-sources
    --settings --system-prompt --system-prompt-file
  `),
  optional: listed(`
    -r --resume -d --debug -w --worktree --cloud --from-pr --teleport --remote-control --tmux
  `),
  variadic: listed(`
    --add-dir --allowedTools --allowed-tools --disallowedTools --disallowed-tools --betas --file
    --mcp-config --plugin-dir --tools
  `),
};

/** Commands that serve no conversation of their own. */
const COMMANDS = new Set(
  listed(`
    agents attach auth auto-mode config doctor gateway install logs mcp plugin plugins project
    remote-control rm setup-token stop ultrareview update upgrade
  `),
);
const NO_SESSION = ['-v', '--version', '-h', '--help', '--cloud', '--desktop', '--teleport'];
const WHICH_CONVERSATION = ['--session-id', '-r', '--resume', '-c', '--continue', '--fork-session'];
/** Options that mean something only together with `--print`. */
const ONLY_HEADLESS = listed(`
    -p --print --output-format --input-format --include-partial-messages --max-turns
    --max-budget-usd --json-schema --fallback-model --no-session-persistence --verbose
    --replay-user-messages --permission-prompt-tool
  `);

export const claude: Adapter = {
  name: 'claude',
  install: 'npm install -g @anthropic-ai/claude-code',
  headless: ['claude', '-p'],
  readInvocation,
  withNewId: ([program = '', ...args], nativeId) => [program, '--session-id', nativeId, ...args],
  withResume: ([program = '', ...args], nativeId) => [program, '--resume', nativeId, ...args],
  marks: ({ pid }) => [`CLAUDE_PID=${pid}`],
  withLatest: ([program = '', ...args], nativeId) => [
    program,
    ...readCommandLine(args, GRAMMAR).flatMap((part) =>
      part.is === 'option' && (part.name === '-c' || part.name === '--continue')
        ? ['--resume', nativeId]
        : part.words,
    ),
  ],
  resumeArgv: ([program = '', ...args], nativeId, prompt) => {
    const parts = readCommandLine(args, GRAMMAR);
    const isHeadless = prompt !== null && hasOption(parts, '-p', '--print');
    const options = optionsWithout(parts, [...WHICH_CONVERSATION, ...(isHeadless ? [] : ONLY_HEADLESS)]);
    return [program, ...options, '--resume', nativeId, ...(prompt === null ? [] : ['--', prompt])];
  },
  findConversations: (place, reference) =>
    transcripts(place.environment, (id) => id.startsWith(reference)).toSorted(latestFirst),
  latestConversation: ({ environment, cwd }) =>
    conversationsIn(
      namesIn(projectDirectory(environment, cwd)).map((name) =>
        join(projectDirectory(environment, cwd), name),
      ),
    ).toSorted(latestFirst)[0] ?? null,
  nativeProgram: (path) => behindWrapper(path, '@anthropic-ai/claude-code', ['claude']),
  reporting,
  readReport: readHookReport,
  readPane: (title, screen) => {
    const last = screen.trimEnd().split('\n').slice(-14).join('\n');
    if (last.includes('Do you want to proceed?'))
      return { is: 'needs-input', evidence: 'its screen asks', waitingFor: 'an answer to its question' };
    if (last.includes('esc to interrupt') || /^[◐◑]/.test(title))
      return { is: 'working', evidence: 'its screen says that it can be interrupted', waitingFor: null };
    if (last.includes('? for shortcuts'))
      return { is: 'idle', evidence: 'its screen shows the prompt at rest', waitingFor: null };
    return null;
  },
  serves: (process) => {
    if (!isClaude(process.name, process.argv)) return null;
    const { asked } = readInvocation(process.argv);
    if (asked.is === 'none') return null;
    const record = registryEntry(process.environment(), process.pid, process.startTime);
    const known = textField(record ?? undefined, 'sessionId');
    if (known !== null) return { nativeId: known, evidence: "Claude's own list of live processes" };
    const nativeId = asked.is === 'resume' || asked.is === 'new' ? asked.nativeId : null;
    return { nativeId, evidence: 'its command line' };
  },
  ownRecord: (process) => {
    const record = registryEntry(process.environment(), process.pid, process.startTime);
    const status = textField(record ?? undefined, 'status');
    const since = record?.['statusUpdatedAt'];
    const is = status === null ? undefined : REGISTRY_STATUS[status];
    if (is === undefined || typeof since !== 'number') return null;
    const waitingFor =
      is === 'needs-input' ? (textField(record ?? undefined, 'waitingFor') ?? 'an answer') : null;
    return { is, sinceMs: since, evidence: "Claude's own list of live processes", waitingFor };
  },
};

const REGISTRY_STATUS: Readonly<Record<string, 'working' | 'idle' | 'needs-input'>> = {
  busy: 'working',
  idle: 'idle',
  waiting: 'needs-input',
};

function readInvocation([, ...args]: readonly string[]): Invocation {
  const parts = readCommandLine(args, GRAMMAR);
  const isInteractive = !hasOption(parts, '-p', '--print');
  const [first = ''] = wordsOf(parts);
  if (hasOption(parts, ...NO_SESSION) || COMMANDS.has(first)) return { asked: { is: 'none' }, isInteractive };
  const chosen = optionValue(parts, '--session-id');
  if (hasOption(parts, '--fork-session')) {
    const asked = chosen === null ? ({ is: 'open' } as const) : ({ is: 'new', nativeId: chosen } as const);
    return { asked, isInteractive };
  }
  if (hasOption(parts, '-r', '--resume')) {
    const nativeId = optionValue(parts, '-r', '--resume');
    const isId = nativeId !== null && /^[0-9a-f-]{36}$/i.test(nativeId);
    return { asked: isId ? { is: 'resume', nativeId } : { is: 'open' }, isInteractive };
  }
  if (hasOption(parts, '-c', '--continue')) return { asked: { is: 'latest' }, isInteractive };
  return { asked: { is: 'new', nativeId: chosen }, isInteractive };
}

function isClaude(name: string, argv: readonly string[]): boolean {
  const [program = '', script = ''] = argv;
  return (
    name === 'claude' ||
    basename(program) === 'claude' ||
    (basename(program) === 'node' && /\/claude-code\/cli\.(?:m?js|cjs)$/.test(script))
  );
}

function configDirectory(environment: Environment): string {
  return environment['CLAUDE_CONFIG_DIR'] ?? join(environment['HOME'] ?? '/', '.claude');
}

/** Claude names a project's directory after the path of the project. */
function projectDirectory(environment: Environment, cwd: string): string {
  return join(configDirectory(environment), 'projects', cwd.replaceAll(/[^A-Za-z0-9]/g, '-'));
}

function transcripts(environment: Environment, isWanted: (id: string) => boolean): Conversation[] {
  return conversationsIn(filesAt(join(configDirectory(environment), 'projects'), 1, isWanted));
}

function conversationsIn(paths: readonly string[]): Conversation[] {
  return paths
    .filter((path) => path.endsWith('.jsonl'))
    .map((path) => ({
      nativeId: basename(path, '.jsonl'),
      cwd:
        headOf(path)
          .map((line) => textField(line, 'cwd'))
          .find((cwd) => cwd !== null) ?? null,
      path,
      updatedAtMs: changedAtMs(path),
    }));
}

/** One file a live process. Undocumented, so only ever one sign among others; a reused pid has another start time. */
function registryEntry(environment: Environment, pid: number, startTime: string): JsonObject | null {
  try {
    const path = join(configDirectory(environment), 'sessions', `${pid}.json`);
    const record: unknown = JSON.parse(readFileSync(path, 'utf8'));
    return isObject(record) && record['procStart'] === startTime ? record : null;
  } catch {
    return null;
  }
}

/** Settings for this one launch; those that the caller gave are kept, with the hooks added. */
function reporting({
  argv: [program = '', ...args],
  hookProgram,
  runDirectory,
  place,
}: ReportingOrder): Reporting | null {
  const parts = readCommandLine(args, GRAMMAR);
  const given = optionValue(parts, '--settings');
  const settings = given === null ? {} : settingsFrom(given, place);
  if (settings === null) return null;
  const hook = {
    type: 'command',
    command: hookCommand(hookProgram, runDirectory),
    timeout: HOOK_TIMEOUT_SECONDS,
  };
  const hooks: Record<string, unknown> = isObject(settings['hooks']) ? { ...settings['hooks'] } : {};
  for (const event of HOOK_EVENTS.claude) {
    const others = hooks[event];
    hooks[event] = [...(Array.isArray(others) ? (others as unknown[]) : []), { hooks: [hook] }];
  }
  const kept = given === null ? args : withoutSettings(args);
  const text = JSON.stringify({ ...settings, hooks });
  return { argv: [program, '--settings', text, ...kept], environment: {}, files: {}, hasHooks: true };
}

function withoutSettings(args: readonly string[]): readonly string[] {
  return readCommandLine(args, GRAMMAR).flatMap((part) =>
    part.is === 'option' && part.name === '--settings' ? [] : part.words,
  );
}

/** A file or the JSON itself, as `--settings` takes it; null when neither can be read. */
function settingsFrom(given: string, place: Place): JsonObject | null {
  try {
    const text = given.trimStart().startsWith('{') ? given : readFileSync(resolve(place.cwd, given), 'utf8');
    const settings: unknown = parse(text);
    return isObject(settings) ? settings : null;
  } catch {
    return null;
  }
}
