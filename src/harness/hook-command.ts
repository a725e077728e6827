/** The command that a harness is told to run for its hooks. See src/hook/hook.sh for what it does. */

/**
 * The program is read into a copy of the shell that the harness starts anyway, which saves a second one at each hook.
 * Whatever happens to it, the harness goes on: where it is missing or broken the payload is read all the same, and the
 * command succeeds (a shell that finds a mistake in what it reads exits 2, which to some harnesses means: do not stop).
 * Without a directory it reports for the run whose marks are in its environment.
 */
export function hookCommand(hookProgram: string, runDirectory: string | null): string {
  const program = shellQuoted(hookProgram);
  const place = runDirectory === null ? '' : `REEVE_REPORT_TO=${shellQuoted(runDirectory)}; `;
  return `${place}( [ -r ${program} ] && . ${program} ) 2>/dev/null || cat >/dev/null; :`;
}

function shellQuoted(text: string): string {
  return /^[\w./:=@%+,-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
