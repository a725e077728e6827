/** The log of a detached run on our screen, with a last line that says how to leave. */
import type { SessionView } from '../../api/session-view.ts';
import type { Reeve } from '../../supervisor/reeve.ts';
import { painted, span } from '../render/line.ts';
import { bold, dim } from '../render/style.ts';
import type { Key } from './keys.ts';
import { LogText } from './log-text.ts';
import type { Terminal } from './terminal.ts';

const ESC = '\u001B';
const LEAVING: ReadonlySet<string> = new Set(['q', 'escape', 'ctrl-c']);

/** Until it is left, also when the run has ended: its last words are what one came for. */
export async function followOnScreen(
  reeve: Reeve,
  session: SessionView,
  terminal: Terminal,
  ended: AbortSignal,
): Promise<void> {
  const before = terminal.user;
  try {
    while (await followUntilStale(reeve, session, terminal, ended));
  } finally {
    terminal.user = before;
    terminal.write(`${ESC}[?7l`);
    terminal.wipe();
  }
}

/** True when the screen has changed and all is to be shown anew, false when it was left. */
async function followUntilStale(
  reeve: Reeve,
  { name, run }: SessionView,
  terminal: Terminal,
  ended: AbortSignal,
): Promise<boolean> {
  const over = new AbortController();
  let isStale = false;
  const left = new Promise<void>((resolve) => {
    over.signal.addEventListener('abort', () => resolve());
    terminal.user = {
      pressed: (keys) => keys.some(isLeaving) && over.abort(),
      stale: () => {
        isStale = true;
        over.abort();
      },
    };
  });
  const signal = AbortSignal.any([over.signal, ended]);
  ended.addEventListener('abort', () => over.abort(), { signal: over.signal });
  const { rows } = terminal.size;
  // Lines wrap here, and what scrolls leaves the last line alone.
  terminal.wipe();
  terminal.write(`${ESC}[?7h${ESC}[1;${Math.max(1, rows - 1)}r${ESC}[H`);
  lastLine(terminal, `following ${name}, run ${run.id}`);
  const text = new LogText();
  for await (const chunk of reeve.logs(run.id, { follow: true, lines: rows, signal })) {
    terminal.write(text.push(chunk));
  }
  if (!signal.aborted) lastLine(terminal, `${name} has ended, run ${run.id}`);
  await left;
  return isStale && !ended.aborted;
}

function isLeaving(key: Key): boolean {
  return LEAVING.has(key.is === 'named' ? key.name : key.text);
}

function lastLine(terminal: Terminal, text: string): void {
  const { columns, rows } = terminal.size;
  const line = painted([span('q', bold), span(' goes back   ', dim), span(text, dim)], columns);
  terminal.write(`${ESC}7${ESC}[${rows};1H${ESC}[0m${ESC}[2K${line}${ESC}8`);
}
