import { readFileSync } from 'node:fs';
import { isatty } from 'node:tty';

/**
 * Whether this process is in the foreground group of its terminal: then Ctrl-C and Ctrl-\ reach the harness, which is
 * in the same group, directly from the terminal, and forwarding them would deliver them twice.
 */
export function isInTerminalForeground(): boolean {
  const fields = statFields();
  // No /proc: whoever has a terminal for input is taken to be in its foreground.
  return fields === null ? process.stdin.isTTY : fields.group === fields.foregroundGroup;
}

/**
 * How this process is tied to a terminal:
 *   none    not at all;
 *   kept    in the session of one, which none of its descriptors leads to, as under nohup: then the end of that terminal
 *           is not meant for it. That nohup had the signal ignored Node undoes at its start;
 *   apart   descriptors lead to one that is not its session's, or on a system without /proc to any;
 *   own     descriptors lead to one, and its session has one.
 */
export type TerminalTie = 'none' | 'kept' | 'apart' | 'own';

/** As it is now: once the terminal was closed, nothing tells any more what it was. */
export function tieToTerminal(): TerminalTie {
  const isOnOne = [0, 1, 2].some((descriptor) => isatty(descriptor));
  if (hasControllingTerminal()) return isOnOne ? 'own' : 'kept';
  return isOnOne ? 'apart' : 'none';
}

/** False as soon as the terminal was closed. */
export function hasControllingTerminal(): boolean {
  return (statFields()?.terminal ?? '0') !== '0';
}

/** pgrp is field 5, tty_nr field 7 and tpgid field 8, counted from 1 with the pid; the state, field 3, is the first here. */
function statFields() {
  try {
    const stat = readFileSync('/proc/self/stat', 'latin1');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return { group: fields[5 - 3], terminal: fields[7 - 3], foregroundGroup: fields[8 - 3] };
  } catch {
    return null;
  }
}
