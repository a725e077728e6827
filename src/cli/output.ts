/** One JSON value on stdout, or text for people; diagnostics always on stderr. */
import {
  ERRORS,
  Interrupted,
  isTooManyFiles,
  MORE_FILES,
  ReeveError,
  TOO_MANY_FILES,
} from '../api/errors.ts';
import { asFileFailure } from './file-failure.ts';
import { printableJson, printableLine } from './printable.ts';
import { errorDim, errorRed } from './render/style.ts';

export interface OutputOptions {
  readonly json?: boolean | undefined;
}

/** What stands in a line stays in it, whoever wrote it: a line break inside of one is made visible. */
export function printLines(options: OutputOptions, value: unknown, lines: readonly string[]): void {
  if (options.json === true) printJson(value);
  else if (lines.length > 0) process.stdout.write(`${lines.map(printableLine).join('\n')}\n`);
}

/** For a text in which nothing is from others. */
export function print(options: OutputOptions, value: unknown, text: string): void {
  printLines(options, value, linesOf(text));
}

/** Of a text that may have lines: one laid out already, or one of others that stands on lines of its own. */
export function linesOf(text: string): readonly string[] {
  return text === '' ? [] : text.split('\n');
}

export function printJson(value: unknown, indent = 2): void {
  process.stdout.write(`${printableJson(JSON.stringify(value, null, indent))}\n`);
}

/** What is not read on a terminal is not cut, nor is it on one that does not say how wide it is. */
const UNLIMITED_WIDTH = 10_000;

export function outputWidth(): number {
  return process.stdout.isTTY && process.stdout.columns > 0 ? process.stdout.columns : UNLIMITED_WIDTH;
}

export function say(...lines: readonly string[]): void {
  diagnostics().write(`reeve: ${lines.map(printableLine).join('\n')}\n`);
}

/** Of what a run wrote where nobody with the store could be asked. */
export const LEFT = 'Left for the run’s keeper to hand in.';

let listening: NodeJS.WriteStream | undefined;

/** Made with the first word for it, which most commands do not have. That nobody listens to it is no error. */
function diagnostics(): NodeJS.WriteStream {
  listening ??= process.stderr.on('error', () => {});
  return listening;
}

/** Tells the error, and returns the exit code that belongs to it. */
export function printError(options: OutputOptions, error: unknown): number {
  const known = knownError(error);
  if (options.json === true) {
    const { code, message, hint, details } = known;
    const value = { error: { code, message, ...(hint === undefined ? {} : { hint }), details } };
    printJson(value);
  } else {
    const { message, hint } = known;
    const lines = [`${errorRed('reeve:')} ${message}`, ...(hint === undefined ? [] : [errorDim(hint)])];
    diagnostics().write(`${lines.map(printableLine).join('\n')}\n`);
  }
  if (!(error instanceof ReeveError) && process.env['REEVE_DEBUG'] !== undefined) console.error(error);
  return known instanceof Interrupted ? known.exitCode : ERRORS[known.code].exitCode;
}

function knownError(error: unknown): ReeveError {
  const known = error instanceof ReeveError ? error : null;
  // Whatever was to be opened, and however its reader says that it could not be.
  const isOfFiles = isTooManyFiles(error) || isTooManyFiles(known?.cause);
  if (isOfFiles && known?.message.includes(TOO_MANY_FILES) !== true) {
    return new ReeveError(known?.code ?? 'failed', `This command cannot open a file: ${TOO_MANY_FILES}.`, {
      hint: MORE_FILES,
      cause: error,
    });
  }
  return (
    known ??
    asFileFailure(error) ??
    new ReeveError('failed', error instanceof Error ? error.message : String(error), { cause: error })
  );
}
