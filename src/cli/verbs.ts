/**
 * The verbs, their flags and what they do, as a table: parsing, help and completion all read it. A verb's code is
 * loaded only when it is called; and there is no parser library to load before it, for a start is mostly loading.
 */
import { isLimit, ON_EXCEEDED } from '../lifecycle/session-budget.ts';
import { DAEMON_VERBS } from './daemon-verbs.ts';
import { directory, JSON_FLAG, seconds } from './flag-values.ts';
import { InvalidValue } from './parse.ts';
import type { Verb } from './parse.ts';
import { NOTIFY_VERBS } from './notify-verbs.ts';
import { REPORT_VERBS } from './report-verbs.ts';
import { REVIEW_VERBS } from './review-verbs.ts';
import { SETTLE } from './settle-verb.ts';
import { UNINSTALL } from './uninstall-verb.ts';
import type { HookTarget, ShimName } from '../supervisor/harness-settings.ts';

const SESSION = { name: 'session', says: 'a name, an id, or a unique beginning of an id' } as const;
function count(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new InvalidValue('it takes a whole number');
}

const MULTIPLES: Readonly<Record<string, number>> = { '': 1, k: 1_000, m: 1_000_000 };

function tokens(text: string): number {
  const [, number = '', letter = ''] = /^(\d[\d_]*(?:\.\d+(?=[kKmM]))?)([kKmM]?)$/.exec(text) ?? [];
  const value = Math.round(Number(number.replaceAll('_', '')) * (MULTIPLES[letter.toLowerCase()] ?? 0));
  if (number !== '' && isLimit('tokens', value)) return value;
  throw new InvalidValue('it takes a number of tokens above 0, as in 500k, 2M or 1000000');
}

function limit(kind: 'cost' | 'minutes'): (text: string) => number {
  return (text) => {
    if (/^\d+(\.\d+)?$/.test(text) && isLimit(kind, Number(text))) return Number(text);
    throw new InvalidValue('it takes a number above 0');
  };
}

const BUDGET_FLAGS = [
  {
    name: 'max-tokens',
    value: 'COUNT',
    read: tokens,
    says: 'what the session and all below it may spend, as in 2M, 500k',
  },
  { name: 'max-cost', value: 'AMOUNT', read: limit('cost'), says: 'the same in money, by the known prices' },
  {
    name: 'max-minutes',
    value: 'MINUTES',
    read: limit('minutes'),
    says: 'the same in time; while the machine sleeps none is spent',
  },
  {
    name: 'on-budget',
    value: 'WHAT',
    choices: ON_EXCEEDED,
    says: 'when a limit is reached: end the run, or ask a person',
  },
] as const;

const START_FLAGS = [
  { name: 'cwd', value: 'DIR', read: directory, says: 'the directory to run in' },
  { name: 'detach', short: 'd', says: 'return once it executes; its output goes to a log' },
  { name: 'tmux', short: 't', says: 'in a tmux pane of its own, to be joined and left' },
  {
    name: 'on-live',
    value: 'WHAT',
    choices: ['refuse', 'attach', 'retire'],
    says: 'when the session has a live owner: refuse (default), attach or retire',
  },
  { name: 'force', says: 'the same as --on-live retire' },
  {
    name: 'unmanaged',
    says: 'with --on-live retire: also end a process of the same conversation that Reeve did not start',
  },
  {
    name: 'harness',
    value: 'NAME',
    choices: ['claude', 'codex', 'gemini', 'opencode', 'code', 'command'],
    says: 'what the program is (default: told by its name)',
  },
  {
    name: 'grace',
    value: 'SECONDS',
    read: seconds,
    says: 'between asking the old owner to end and killing it (10)',
  },
  ...BUDGET_FLAGS,
  JSON_FLAG,
] as const;

const ASSUME_GONE = {
  name: 'assume-gone',
  says: 'record it as lost, on your word, where nothing can be proven',
} as const;

/** The others are the command's own. */
const START_EXITS = [
  { code: 1, when: 'the command exited 0, but began another conversation than the one it was asked for' },
  { code: 7, when: 'nobody knows how the command ended' },
  { code: 8, when: 'the run was ended at its budget' },
] as const;
const STOP_EXITS = [{ code: 4, when: 'another run owns the session by now' }] as const;

const ACTION = {
  name: 'action',
  says: 'install, remove or status',
  choices: ['install', 'remove', 'status'],
} as const;
type Action = (typeof ACTION)['choices'][number];
const HOOK_TARGETS = ['claude', 'codex', 'gemini', 'opencode'] as const;
const SHIM_NAMES = [...HOOK_TARGETS, 'code'] as const;

const run = () => import('./commands/run.ts');
const look = () => import('./commands/look.ts');
const end = () => import('./commands/end.ts');

export const VERBS: readonly Verb[] = [
  {
    name: 'run',
    group: 'Starting',
    says: 'start a command as a session’s owner',
    arguments: [],
    takesCommand: true,
    flags: [
      {
        name: 'session',
        short: 's',
        value: 'NAME',
        says: 'the session (default: named after directory and command)',
      },
      ...START_FLAGS,
    ],
    exits: START_EXITS,
    execute: async ({ command, flags }) => (await run()).run(command, flags),
  },
  {
    name: 'resume',
    group: 'Starting',
    says: 'go on with a session, or with a conversation that a harness has on file',
    arguments: [
      { name: 'session', says: 'a name, an id, a harness’s own id, or a unique beginning of an id' },
    ],
    takesCommand: true,
    flags: [{ name: 'prompt', short: 'p', value: 'TEXT', says: 'what to tell the harness' }, ...START_FLAGS],
    exits: START_EXITS,
    execute: async ({ words: [session = ''], command, flags }) =>
      (await run()).resume(session, command, flags),
  },
  {
    name: 'child run',
    group: 'Children',
    says: 'from inside a run: start a run that belongs to it',
    arguments: [],
    takesCommand: true,
    flags: [
      {
        name: 'session',
        short: 's',
        value: 'NAME',
        says: 'its session (default: named after directory and command)',
      },
      {
        name: 'on-parent-end',
        value: 'WHAT',
        choices: ['cancel', 'adopt', 'detach'],
        says: 'when its parent ends: cancel it (default), hand it to the next run of the session, or let it go',
      },
      {
        name: 'adopt-within',
        value: 'SECONDS',
        read: seconds,
        says: 'how long it waits for that next run (600)',
      },
      { name: 'subject', value: 'TEXT', says: 'what it is about: a pull request, a task' },
      { name: 'revision', value: 'TEXT', says: 'which state of that: a commit' },
      ...START_FLAGS,
    ],
    exits: START_EXITS,
    execute: async ({ command, flags }) => (await run()).childRun(command, flags),
  },
  {
    name: 'child ls',
    group: 'Children',
    says: 'what runs started: the tree, its policies and its cost',
    arguments: [{ ...SESSION, optional: true }],
    flags: [JSON_FLAG],
    execute: async ({ words: [session], flags }) =>
      (await import('./commands/child.ts')).childLs(session, flags),
  },
  {
    name: 'ls',
    group: 'Looking',
    says: 'the live sessions, and those that ended lately',
    arguments: [],
    flags: [
      { name: 'all', short: 'a', says: 'all of them' },
      { name: 'live', says: 'only the live ones', excludes: 'all' },
      JSON_FLAG,
    ],
    execute: async ({ flags }) => (await look()).ls(flags),
  },
  {
    name: 'top',
    group: 'Looking',
    says: 'show the sessions live; attach, stop and resume them with single keys',
    arguments: [],
    flags: [JSON_FLAG],
    execute: async ({ flags }) => (await import('./commands/top.ts')).top(flags),
  },
  {
    name: 'show',
    group: 'Looking',
    says: 'everything about one session',
    arguments: [SESSION],
    flags: [JSON_FLAG],
    execute: async ({ words: [session = ''], flags }) => (await look()).show(session, flags),
  },
  {
    name: 'why',
    group: 'Looking',
    says: 'who started it, who took over, what ended it, on what evidence',
    arguments: [SESSION],
    flags: [JSON_FLAG],
    execute: async ({ words: [session = ''], flags }) => (await look()).why(session, flags),
  },
  {
    name: 'usage',
    group: 'Looking',
    says: 'what was spent, by session, run, model, day or harness, and what it cost',
    arguments: [{ ...SESSION, optional: true }],
    flags: [
      {
        name: 'by',
        value: 'WHAT',
        choices: ['run', 'session', 'model', 'day', 'harness'],
        says: 'run, session, model, day or harness (default: session; of one session, run)',
      },
      { name: 'since', value: 'WHEN', says: 'how long ago (24h, 7d), a day (2026-11-01), or a time' },
      { name: 'tree', says: 'of one session: also what its runs started', excludes: 'by' },
      { name: 'all', short: 'a', says: 'every row' },
      JSON_FLAG,
    ],
    execute: async ({ words: [session], flags }) =>
      (await import('./commands/usage.ts')).usage(session, flags),
  },
  {
    name: 'logs',
    group: 'Looking',
    says: 'what a detached run wrote',
    arguments: [SESSION],
    flags: [
      { name: 'follow', short: 'f', says: 'go on until it ends' },
      { name: 'lines', short: 'n', value: 'COUNT', read: count, says: 'only the last lines' },
      { name: 'screen', says: 'of a session in tmux: what its screen shows', excludes: 'follow' },
      { name: 'raw', says: 'on a terminal too: every byte, also what moves the cursor' },
      JSON_FLAG,
    ],
    execute: async ({ words: [session = ''], flags }) => (await look()).logs(session, flags),
  },
  {
    name: 'attach',
    group: 'Looking',
    says: 'join a session in tmux, or follow the output of another; leaving leaves it running',
    arguments: [SESSION],
    flags: [JSON_FLAG],
    execute: async ({ words: [session = ''], flags }) => (await look()).attach(session, flags),
  },
  {
    name: 'send',
    group: 'Talking',
    says: 'type a message into a session in tmux; done when the harness has taken it',
    arguments: [SESSION, { name: 'text', says: 'the message, or - to read it from standard input' }],
    flags: [
      { name: 'queue', short: 'q', says: 'wait until it is idle, instead of being refused' },
      JSON_FLAG,
    ],
    execute: async ({ words: [session = '', text = ''], flags }) =>
      (await import('./commands/send.ts')).send(session, text, flags),
  },
  {
    name: 'stop',
    group: 'Ending',
    says: 'ask a run to end, kill it after a grace, and prove it gone',
    arguments: [SESSION],
    flags: [
      { name: 'grace', value: 'SECONDS', read: seconds, says: 'how long to wait before killing (10)' },
      ASSUME_GONE,
      JSON_FLAG,
    ],
    exits: STOP_EXITS,
    execute: async ({ words: [session = ''], flags }) => (await end()).stop(session, flags),
  },
  {
    name: 'kill',
    group: 'Ending',
    says: 'kill a run at once, and prove it gone',
    arguments: [SESSION],
    flags: [ASSUME_GONE, JSON_FLAG],
    exits: STOP_EXITS,
    execute: async ({ words: [session = ''], flags }) => (await end()).stop(session, { ...flags, grace: 0 }),
  },
  {
    name: 'rm',
    group: 'Ending',
    says: 'forget ended sessions, their events and logs',
    arguments: [{ ...SESSION, many: true }],
    flags: [JSON_FLAG],
    execute: async ({ words, flags }) => (await end()).rm(words, flags),
  },
  SETTLE,
  ...REVIEW_VERBS,
  {
    name: 'budget',
    group: 'Budgets',
    says: 'what may be spent, and what is spent of it; of all live sessions, or of one',
    arguments: [{ ...SESSION, optional: true }],
    flags: [JSON_FLAG],
    execute: async ({ words: [session], flags }) =>
      (await import('./commands/budget.ts')).budget(session, flags),
  },
  {
    name: 'budget set',
    group: 'Budgets',
    says: 'change what a session may spend; what was spent stays spent',
    arguments: [SESSION],
    flags: [...BUDGET_FLAGS, { name: 'none', says: 'remove the session’s own limits' }, JSON_FLAG],
    execute: async ({ words: [session = ''], flags }) =>
      (await import('./commands/budget.ts')).budgetSet(session, flags),
  },
  {
    name: 'scan',
    group: 'Other owners',
    says: 'live harnesses on this machine, whoever started them, and what dead ones left behind',
    arguments: [],
    flags: [JSON_FLAG],
    execute: async ({ flags }) => (await import('./commands/scan.ts')).scan(flags),
  },
  {
    name: 'adopt',
    group: 'Other owners',
    says: 'supervise a harness that is running already, without restarting it',
    arguments: [{ name: 'pid', says: 'its process id' }],
    flags: [
      { name: 'session', short: 's', value: 'NAME', says: 'the session it becomes the owner of' },
      JSON_FLAG,
    ],
    execute: async ({ words: [pid = ''], flags }) => (await import('./commands/scan.ts')).adopt(pid, flags),
  },
  {
    name: 'hooks',
    group: 'Other owners',
    says: 'put Reeve’s hooks into a harness’s own settings, take them out, or look for them',
    arguments: [
      ACTION,
      { name: 'harness', says: HOOK_TARGETS.join(', '), choices: HOOK_TARGETS, many: true },
    ],
    flags: [JSON_FLAG],
    exits: [{ code: 1, action: 'status', when: 'the hooks of one of them are not all installed' }],
    // The choices above let nothing else through.
    execute: async ({ words: [action, ...targets], flags }) =>
      (await import('./commands/settings.ts')).hooks(action as Action, targets as HookTarget[], flags),
  },
  {
    name: 'shim',
    group: 'Other owners',
    says: 'wrappers for PATH, so that a plain `claude --resume ID` is claimed too',
    arguments: [ACTION, { name: 'harness', says: SHIM_NAMES.join(', '), choices: SHIM_NAMES, many: true }],
    flags: [
      {
        name: 'dir',
        value: 'DIR',
        read: directory,
        says: 'where they are (default: shims in the state directory)',
      },
      JSON_FLAG,
    ],
    exits: [
      { code: 1, action: 'status', when: 'one of them is not installed, or not what a shell finds first' },
    ],
    execute: async ({ words: [action, ...names], flags }) =>
      (await import('./commands/settings.ts')).shim(action as Action, names as ShimName[], flags),
  },
  {
    name: 'heartbeat',
    group: 'Ending',
    says: 'from inside a run: say that it is at work (only from the current run)',
    arguments: [],
    flags: [JSON_FLAG],
    execute: async ({ flags }) => (await end()).heartbeat(flags),
  },
  ...REPORT_VERBS,
  ...NOTIFY_VERBS,
  ...DAEMON_VERBS,
  {
    name: 'doctor',
    group: 'Reeve itself',
    says: 'check whether this machine can keep Reeve’s promises',
    arguments: [],
    flags: [JSON_FLAG],
    exits: [
      { code: 1, when: 'something is bad' },
      { code: 2, when: 'what is bad is a configuration or a variable that cannot be used' },
    ],
    execute: async ({ flags }) => (await import('./commands/doctor.ts')).doctor(flags),
  },
  {
    name: 'paths',
    group: 'Reeve itself',
    says: 'where the state is',
    arguments: [],
    flags: [JSON_FLAG],
    execute: async ({ flags }) => (await look()).paths(flags),
  },
  UNINSTALL,
  {
    name: 'demo',
    group: 'Reeve itself',
    says: 'a guided run of the real thing, on a throw-away state directory',
    arguments: [],
    flags: [JSON_FLAG],
    exits: [{ code: 1, when: 'a step did not hold' }],
    execute: async ({ flags }) => (await import('./commands/demo.ts')).demo(flags),
  },
  {
    name: 'completion',
    group: 'Reeve itself',
    says: 'print a completion script for bash, zsh or fish',
    arguments: [
      {
        name: 'shell',
        says: 'bash, zsh or fish; words is what their scripts ask',
        choices: ['bash', 'zsh', 'fish', 'words'],
      },
      {
        name: 'word',
        says: 'with words: those behind `reeve`, the last one to be completed',
        many: true,
        optional: true,
      },
    ],
    flags: [JSON_FLAG],
    execute: async ({ words, flags }) =>
      (await import('./commands/completion.ts')).completion(VERBS, words, flags),
  },
];
