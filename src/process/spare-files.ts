/** Whether this process may open as many more files as the start of a keeper takes. */
import { closeSync, openSync } from 'node:fs';
import { isTooManyFiles, MORE_FILES, ReeveError, TOO_MANY_FILES } from '../api/errors.ts';

/** The keeper's log, its two channels, and what Node and the store open besides meanwhile; measured, and some more. */
const FILES = 12;

/** It proves nothing for later, but a limit that is too low is found before anybody is ended for the start. */
export function requireSpareFiles(): void {
  const opened: number[] = [];
  try {
    while (opened.length < FILES) opened.push(openSync('/dev/null', 'r'));
  } catch (error) {
    if (!isTooManyFiles(error)) return;
    throw new ReeveError('keeper_unavailable', `The keeper could not be started: ${TOO_MANY_FILES}.`, {
      hint: `Nothing was changed. ${MORE_FILES}`,
      cause: error,
    });
  } finally {
    for (const file of opened) closeSync(file);
  }
}
