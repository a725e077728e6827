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
 * Whether this process is in the session of a terminal and yet has none, neither to read nor to write, as under nohup:
 * then the end of that terminal is not meant for it. That nohup had the signal ignored Node undoes at its start.
 * As it was when it was asked for first: at the end of the terminal nothing tells any more.
 */
export function isKeptFromTerminal(): boolean {
  wasKept ??= hasControllingTerminal() && ![0, 1, 2].some((descriptor) => isatty(descriptor));
  return wasKept;
}

let wasKept: boolean | null = null;

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
