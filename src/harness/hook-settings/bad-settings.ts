import { ReeveError } from '../../api/errors.ts';

/** `sentence` says what and why, `hint` what to do next. The file it is about has not been touched. */
export function badSettings(sentence: string, hint: string, cause?: unknown): ReeveError {
  return new ReeveError('bad_settings', sentence, { hint, ...(cause === undefined ? {} : { cause }) });
}
