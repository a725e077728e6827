/**
 * Sessions in panes of a tmux server of our own, apart from the user's and from their configuration.
 *
 * Our server lives on a socket that only we use. It starts with the first session and ends with the last. A session
 * has one window with one pane, always addressed as exactly that (`=name:0.0`), whatever a person who attached did
 * beside it. What tmux says is one sign among others: a server whose socket was deleted is `gone` for every client and
 * works on, so whether a session lives is proven by its processes, not here.
 */
import { randomUUID } from 'node:crypto';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { ReeveError } from '../api/errors.ts';
import { askTmux, attachEnvironment, clientArguments } from './tmux-client.ts';
import type { TmuxAnswer, TmuxClient } from './tmux-client.ts';
import { orderText, terminalName } from './tmux-order.ts';
import type { PaneOrder } from './tmux-order.ts';

export type { TmuxAnswer } from './tmux-client.ts';
export type { PaneOrder } from './tmux-order.ts';

interface Pane {
  readonly pid: number;
  /** Empty until a program in the pane sets one. */
  readonly title: string;
  readonly isDead: boolean;
  /** Somebody scrolls back or selects text. */
  readonly isInMode: boolean;
  readonly attachedClients: number;
  /** Whether the program asked for bracketed pastes. Known from tmux 3.7 on. */
  readonly bracketedPaste: 'on' | 'off' | 'unknown';
}

interface Picture {
  readonly screen: string;
  readonly columns: number;
  readonly rows: number;
}

export interface StartedPane {
  readonly pid: number;
  /** What tmux tells programs of its panes. Of these only TERM is in the pane's own environment. */
  readonly environment: { readonly TERM: string; readonly TMUX: string; readonly TMUX_PANE: string };
}

/** `refused`: the name is taken, and what has it was not touched. */
type StartAnswer = TmuxAnswer<StartedPane> | { readonly is: 'refused' };

export type Key =
  | 'Enter'
  | 'Escape'
  | 'Tab'
  | 'BTab'
  | 'Space'
  | 'BSpace'
  | 'Up'
  | 'Down'
  | 'Left'
  | 'Right'
  | 'C-c'
  | 'C-d';

export interface Tmux {
  readonly socket: string;
  server(): Promise<TmuxAnswer<{ readonly pid: number }>>;
  /** A detached session of exactly this name. Of an `unknown` start it is not known whether the session came to be. */
  start(order: PaneOrder): Promise<StartAnswer>;
  pane(name: string): Promise<TmuxAnswer<Pane>>;
  /** The screen as text, with up to so many lines of what has scrolled off it. */
  capture(name: string, historyLines: number): Promise<TmuxAnswer<string>>;
  /** The screen with the escape sequences of its colours, and how large it is, at one moment. */
  picture(name: string): Promise<TmuxAnswer<Picture>>;
  /** As one piece, or not at all. Answered when it is on its way to the program, not when that has read it. */
  paste(name: string, text: string): Promise<TmuxAnswer<true>>;
  press(name: string, key: Key): Promise<TmuxAnswer<true>>;
  /** Ends exactly this session; its program gets a SIGHUP. */
  end(name: string): Promise<TmuxAnswer<true>>;
  /** Ends the server, with every session in it. */
  endServer(): Promise<TmuxAnswer<true>>;
  /** To be spawned with this environment, since in a pane of the user's own tmux TMUX would forbid it. */
  attachCommand(name: string): {
    readonly argv: readonly string[];
    readonly environment: Readonly<Record<string, string>>;
  };
}

/** Far more than an answer takes on a busy machine, and little enough to wait for a stopped server. */
const LIMIT_MS = 3_000;
/** `sun_path` has 108 bytes on Linux and 104 on macOS, with the final NUL. */
const MAX_SOCKET_BYTES = process.platform === 'darwin' ? 103 : 107;
/**
 * A server that ends with its last session leaves unread whoever knocks meanwhile, and never one it has let in: the
 * order was not carried out. Only a server that is killed or crashes right then could have begun.
 */
const LEFT_UNREAD = 'server exited unexpectedly';
/** Each time another last session would have to end in the same few milliseconds. */
const START_ATTEMPTS = 3;
/** tmux holds a paste in memory until the program reads it. */
const MAX_PASTE_BYTES = 4 * 1024 * 1024;

export function openTmux(socket: string, limitMs = LIMIT_MS): Tmux {
  if (!socket.startsWith('/') || Buffer.byteLength(socket) > MAX_SOCKET_BYTES) {
    throw new ReeveError('tmux_missing', `${socket} cannot be the socket of a tmux server.`, {
      hint: `It must be an absolute path of at most ${MAX_SOCKET_BYTES} bytes: choose a shorter REEVE_HOME.`,
    });
  }
  const client: TmuxClient = { program: findTmux(), socket, limitMs };
  const ask = (...args: string[]) => askTmux(client, args);
  return {
    socket,
    server: async () => parsed(await ask('display-message', '-p', '#{pid}'), parseServer),
    start: (order) => start(client, order),
    pane: async (name) => parsed(await ask(...paneQuestion(name)), parsePane),
    capture: async (name, historyLines) =>
      ask('capture-pane', '-p', '-t', paneTarget(name), '-S', `-${Math.max(0, Math.trunc(historyLines))}`),
    picture: async (name) => parsed(await ask(...pictureQuestion(name)), parsePicture),
    paste: (name, text) => paste(client, name, text),
    press: async (name, key) =>
      done(await ask(...leaveMode(name), ';', 'send-keys', '-t', paneTarget(name), key)),
    end: async (name) => done(await ask('kill-session', '-t', sessionTarget(name))),
    endServer: async () => done(await ask('kill-server')),
    attachCommand: (name) => ({
      argv: [client.program, ...clientArguments(socket), 'attach-session', '-E', '-t', sessionTarget(name)],
      environment: attachEnvironment(),
    }),
  };
}

/** As a shell would find it. */
export function findTmux(path = process.env['PATH'] ?? ''): string {
  const found = path
    .split(delimiter)
    .filter((directory) => directory.startsWith('/'))
    .map((directory) => join(directory, 'tmux'))
    .find(isExecutable);
  if (found !== undefined) return found;
  throw new ReeveError(
    'tmux_missing',
    'tmux was not found, and a session in a terminal of its own needs it.',
    {
      hint: 'Install version 3.2 or newer (for example: apt-get install tmux, or brew install tmux), then try again.',
    },
  );
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * The order goes in through standard input. The server keeps the arguments of the client that it came from for all
 * the world to see (ps), and takes no more than 16 KB of them.
 */
async function start(client: TmuxClient, order: PaneOrder): Promise<StartAnswer> {
  checkName(order.name);
  const terminal = terminalName();
  const text = orderText(order, terminal);
  for (let attempt = 1; ; attempt += 1) {
    const answer = await askTmux(client, ['start-server', ';', 'source-file', '-'], text);
    const complaint = answer.is === 'unknown' ? answer.because : '';
    if (complaint.startsWith('duplicate session: ')) return { is: 'refused' };
    if (complaint !== LEFT_UNREAD || attempt === START_ATTEMPTS)
      return parsed(answer, (report) => parseStarted(report, terminal));
  }
}

/**
 * In two steps, so that a text cut short by the death of this process is never pasted. Line ends arrive as LF (-r):
 * inside brackets every program takes that for a line break, and without brackets it is Ctrl-J, which most input boxes
 * take for one too, where CR would submit each line. Brackets are left out by tmux while the pane is in a mode.
 */
async function paste(client: TmuxClient, name: string, text: string): Promise<TmuxAnswer<true>> {
  checkName(name);
  const safe = withoutControls(text);
  if (Buffer.byteLength(safe) > MAX_PASTE_BYTES) {
    throw new ReeveError('usage', `A text of more than ${MAX_PASTE_BYTES} bytes cannot be pasted.`, {
      hint: 'Write it to a file, and tell the session where that is.',
    });
  }
  // tmux makes no buffer of nothing.
  if (safe === '') return done(await askTmux(client, paneQuestion(name)));
  const buffer = `reeve-${randomUUID()}`;
  const loaded = await askTmux(client, ['load-buffer', '-b', buffer, '-'], safe);
  if (loaded.is !== 'answered') return loaded;
  const pasteBuffer = ['paste-buffer', '-p', '-r', '-d', '-b', buffer, '-t', paneTarget(name)];
  const pasted = await askTmux(client, [...leaveMode(name), ';', ...pasteBuffer]);
  if (pasted.is === 'gone') await askTmux(client, ['delete-buffer', '-b', buffer]);
  return done(pasted);
}

/** An ESC [201~ inside the text would end the paste early, and the rest would be typed: nothing but text gets in. */
function withoutControls(text: string): string {
  // oxlint-disable-next-line no-control-regex -- these are what it is about
  return text.replaceAll(/\r\n?/g, '\n').replaceAll(/[\u0000-\u0008\u000B-\u001F\u007F-\u009F]/g, '');
}

function leaveMode(name: string): string[] {
  return ['copy-mode', '-q', '-t', paneTarget(name)];
}

/** Not display-message: of a session that is not there it prints empty values, and succeeds. */
function paneQuestion(name: string): string[] {
  const facts = ['pane_pid', 'pane_dead', 'pane_in_mode', 'session_attached', 'bracket_paste_flag'];
  // Separated by what numbers have not in them; the title, which may contain anything, is last.
  const format = `${facts.map((fact) => `#{${fact}}`).join(',')},#{pane_title}`;
  return ['list-panes', '-t', `${sessionTarget(name)}:0`, '-f', '#{==:#{pane_index},0}', '-F', format];
}

function parsePane(text: string): Pane | null {
  const [, pid, dead, mode, attached, bracketed, title = ''] =
    /^([1-9]\d*),([01]),(\d+),(\d+),([01]?),(.*)\n$/s.exec(text) ?? [];
  if (pid === undefined) return null;
  return {
    pid: Number(pid),
    title,
    isDead: dead === '1',
    isInMode: mode !== '0',
    attachedClients: Number(attached),
    bracketedPaste: bracketed === '' ? 'unknown' : bracketed === '1' ? 'on' : 'off',
  };
}

/** The size in a line of its own, then the screen. */
function pictureQuestion(name: string): string[] {
  const size = ['list-panes', '-t', `${sessionTarget(name)}:0`, '-F', '#{pane_width},#{pane_height}'];
  return [...size, ';', 'capture-pane', '-e', '-p', '-t', paneTarget(name)];
}

function parsePicture(text: string): Picture | null {
  const [, columns, rows, screen = ''] = /^(\d+),(\d+)\n(.*)$/s.exec(text) ?? [];
  return columns === undefined ? null : { screen, columns: Number(columns), rows: Number(rows) };
}

function parseServer(text: string): { pid: number } | null {
  const [pid] = /^[1-9]\d*(?=\n$)/.exec(text) ?? [];
  return pid === undefined ? null : { pid: Number(pid) };
}

/** What START_REPORT of the order prints. */
function parseStarted(text: string, terminal: string): StartedPane | null {
  const [, pid, pane, server, session, socket] = /^([1-9]\d*) (%\d+) (\d+) \$(\d+) (.+)\n$/s.exec(text) ?? [];
  if (pid === undefined || pane === undefined) return null;
  return {
    pid: Number(pid),
    environment: { TERM: terminal, TMUX: `${socket},${server},${session}`, TMUX_PANE: pane },
  };
}

function parsed<T>(answer: TmuxAnswer<string>, parse: (text: string) => T | null): TmuxAnswer<T> {
  if (answer.is !== 'answered') return answer;
  const value = parse(answer.value);
  return value === null
    ? { is: 'unknown', because: `tmux gave an answer that makes no sense: ${answer.value.slice(0, 200)}` }
    : { is: 'answered', value };
}

function done(answer: TmuxAnswer<string>): TmuxAnswer<true> {
  return answer.is === 'answered' ? { is: 'answered', value: true } : answer;
}

/** With `=`, or tmux would also take the beginning of a name, and a pattern. */
function sessionTarget(name: string): string {
  checkName(name);
  return `=${name}`;
}

function paneTarget(name: string): string {
  return `${sessionTarget(name)}:0.0`;
}

/** tmux gives `.` and `:` a meaning in targets, and silently changes names that have them. */
function checkName(name: string): void {
  if (!/^[A-Za-z0-9_][A-Za-z0-9_-]{0,99}$/.test(name))
    throw new ReeveError('bad_name', `${JSON.stringify(name)} cannot be the name of a tmux session.`);
}
