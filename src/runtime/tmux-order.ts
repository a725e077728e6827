/** The commands that start a session, as text for tmux to read: settings, session and log in one indivisible order. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';

export interface PaneOrder {
  readonly name: string;
  readonly cwd: string;
  /** Executed as it is, without a shell. */
  readonly argv: readonly string[];
  /** Nothing else is in the pane's environment but TERM. */
  readonly environment: Readonly<Record<string, string>>;
  readonly columns: number;
  readonly rows: number;
  /** Gets everything that is written to the pane, from the first byte on. */
  readonly logPath: string | null;
}

const HISTORY_LINES = 20_000;
/** Of a lone ESC: long enough for the rest of a key's sequence to come, too short to be felt. */
const ESCAPE_MS = 10;

const SETTINGS = [
  ['-s', 'exit-empty', 'on'],
  ['-s', 'escape-time', String(ESCAPE_MS)],
  ['-g', 'destroy-unattached', 'off'],
  ['-g', 'history-limit', String(HISTORY_LINES)],
  ['-g', 'base-index', '0'],
  ['-g', 'status', 'off'],
  ['-g', 'set-titles', 'off'],
  ['-g', 'mouse', 'on'],
  ['-g', 'update-environment', ''],
  ['-gw', 'pane-base-index', '0'],
  ['-gw', 'remain-on-exit', 'off'],
  ['-gw', 'automatic-rename', 'off'],
  ['-gw', 'allow-rename', 'off'],
].map((words) => ['set-option', ...words]);

/** Who attaches may scroll and leave. Splitting, killing and new windows are not offered: one session is one pane. */
const KEYS = [
  ['unbind-key', '-q', '-a', '-T', 'prefix'],
  ...['MouseDown3Pane', 'M-MouseDown3Pane'].map((menu) => ['unbind-key', '-q', '-T', 'root', menu]),
  ['bind-key', 'C-b', 'send-prefix'],
  ['bind-key', 'd', 'detach-client'],
  ['bind-key', '[', 'copy-mode'],
  ['bind-key', 'PPage', 'copy-mode', '-u'],
];

const START_REPORT = '#{pane_pid} #{pane_id} #{pid} #{session_id} #{socket_path}';

/**
 * Inside braces: of an order cut short nothing is done, and where one command fails the rest is not done. tmux reads
 * nothing from the pane before it is through with the order, so the log and the empty title come before any output.
 */
export function orderText(order: PaneOrder, terminal: string): string {
  const pane = `=${order.name}:0.0`;
  const commands = [
    ...SETTINGS,
    ['set-option', '-s', 'default-terminal', terminal],
    ...KEYS,
    [...newSession(order), '--', ...program(order, terminal)],
    ['select-pane', '-t', pane, '-T', ''],
    ...(order.logPath === null ? [] : [['pipe-pane', '-O', '-t', pane, logCommand(order.logPath)]]),
  ];
  return `if-shell -F 1 { ${commands.map((words) => words.map(quoted).join(' ')).join(' ; ')} }\n`;
}

function newSession({ name, cwd, columns, rows }: PaneOrder): string[] {
  const size = ['-x', String(columns), '-y', String(rows)];
  return ['new-session', '-d', '-s', name, '-c', literal(cwd), ...size, '-P', '-F', START_REPORT];
}

/** Newer programs know it; where the system does not, they would refuse to start. */
export function terminalName(directories: readonly string[] = terminfoDirectories()): string {
  const best = 'tmux-256color';
  // By the first letter, or on macOS by its code.
  const isKnown = directories.some((directory) =>
    ['t', '74'].some((letter) => existsSync(join(directory, letter, best))),
  );
  return isKnown ? best : 'screen-256color';
}

function terminfoDirectories(): string[] {
  return ['/etc/terminfo', '/lib/terminfo', '/usr/lib/terminfo', '/usr/share/terminfo'];
}

/** By way of env, which becomes the program: tmux would add the server's environment, and give one word to a shell. */
function program({ argv, environment }: PaneOrder, terminal: string): string[] {
  const assignments = Object.entries({ TERM: terminal, ...environment });
  const isTakenWrong =
    argv[0] === undefined || argv[0].includes('=') || assignments.some(([name]) => !/^\w+$/.test(name));
  if (isTakenWrong) throw new Error(`env would not understand this: ${argv[0]}`);
  return ['/usr/bin/env', '-i', ...assignments.map(([name, value]) => `${name}=${value}`), ...argv];
}

/** For tmux, which also expands the command as a format and as a time, where `#` and `%` have a meaning. */
function logCommand(path: string): string {
  const inShell = path.replaceAll(
    /['#%]/g,
    (character) => `'"$(printf '\\${octal(character.charCodeAt(0))}')"'`,
  );
  return `umask 077; exec cat >> '${inShell}'`;
}

/** As a format: there is no escape for `#` that holds in front of every character, but it has a number. */
function literal(text: string): string {
  return text.replaceAll('#', '#{a:35}');
}

/** As a word of tmux's command language: every byte that could mean anything there is written as a number. */
function quoted(word: string): string {
  if (word.includes('\0')) throw new Error('A word of a command cannot contain NUL.');
  const bytes = [...Buffer.from(word)].map((byte) => {
    const character = String.fromCharCode(byte);
    return /[A-Za-z0-9_./:=,+-]/.test(character) ? character : `\\${octal(byte)}`;
  });
  return `"${bytes.join('')}"`;
}

function octal(byte: number): string {
  return byte.toString(8).padStart(3, '0');
}
