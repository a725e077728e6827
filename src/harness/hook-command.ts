/** The command that a harness is told to run for its hooks. See src/hook/hook.sh for what it does. */

/**
 * Whatever happens to the program that hands the payload over, the harness goes on: missing, broken or failing, the
 * command succeeds and says nothing. Without a directory it reports for the run whose marks are in its environment.
 */
export function hookCommand(hookProgram: string, runDirectory: string | null): string {
  const words = [hookProgram, ...(runDirectory === null ? [] : [runDirectory])].map(shellQuoted);
  return `sh ${words.join(' ')} 2>/dev/null || :`;
}

export function shellQuoted(text: string): string {
  return /^[\w./:=@%+,-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
