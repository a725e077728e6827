import { readFileSync } from 'node:fs';

/**
 * Whether this process is in the foreground group of its terminal: then Ctrl-C and Ctrl-\ reach the harness, which is
 * in the same group, directly from the terminal, and forwarding them would deliver them twice.
 */
export function isInTerminalForeground(): boolean {
  try {
    const stat = readFileSync('/proc/self/stat', 'latin1');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    // pgrp is field 5 and tpgid field 8, counted from 1 with the pid; the state, field 3, is the first one here.
    return fields[5 - 3] === fields[8 - 3];
  } catch {
    // No /proc: whoever has a terminal for input is taken to be in its foreground.
    return process.stdin.isTTY;
  }
}
