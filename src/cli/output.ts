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
import { asText, printable, printableJson } from './printable.ts';
import { errorDim, errorRed } from './render/style.ts';

export interface OutputOptions {
  readonly json?: boolean | undefined;
}

export function print(options: OutputOptions, value: unknown, text: string): void {
  if (options.json === true) printJson(value);
  else if (text !== '') process.stdout.write(`${printable(text)}\n`);
}

export function printJson(value: unknown, indent = 2): void {
  process.stdout.write(`${printableJson(JSON.stringify(value, null, indent))}\n`);
}

/** What is not read on a terminal is not cut, nor is it on one that does not say how wide it is. */
const UNLIMITED_WIDTH = 10_000;

export function outputWidth(): number {
  return process.stdout.isTTY && process.stdout.columns > 0 ? process.stdout.columns : UNLIMITED_WIDTH;
}

export function say(text: string): void {
  diagnostics().write(`reeve: ${printable(text)}\n`);
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
    diagnostics().write(`${errorRed('reeve:')} ${asText(known.message)}\n`);
    if (known.hint !== undefined) diagnostics().write(`${errorDim(asText(known.hint))}\n`);
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
