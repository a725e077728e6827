/**
 * What a run writes while nobody who has the store can be asked: a file in the run's spool, beside its harness's reports,
 * which whoever looks next takes in as if the run had written it then.
 *
 *   left → taken in → removed           by any reader, while the run is live
 *   left → taken in → removed → ended   by whoever ends the run, after its tree is gone
 *   left → moved to the late ones       by the writer, who finds the spool closed
 *
 * A file appears whole, by rename. Its name is made of its content, so the same write is there once. To end a run, its
 * spool is closed first and then read. A writer looks whether it is closed after its file is there: either it is not, and
 * the file is read, or the writer moves it to the late ones, which every look reads. None is left where nobody looks.
 *
 * Names begin with a dot: readers of reports alone, as those of an older Reeve, leave them as they are.
 */
import { createHash } from 'node:crypto';
import { VERDICTS } from '../lifecycle/review.ts';
import type { Verdict } from '../lifecycle/review.ts';
import { MAX_SUBMISSION_BYTES } from '../lifecycle/submission.ts';
import { TOKEN_KINDS, tokensFrom } from '../lifecycle/usage.ts';
import type { Tokens } from '../lifecycle/usage.ts';

export type RunWrite =
  | { readonly write: 'heartbeat' }
  | { readonly write: 'submission'; readonly data: string; readonly key: string }
  | { readonly write: 'usage'; readonly model: string; readonly key: string; readonly tokens: Tokens }
  | {
      readonly write: 'review';
      readonly review: string;
      readonly verdict: Verdict;
      readonly body: string;
    };

export interface SpooledWrite {
  readonly run: string;
  readonly token: string;
  readonly what: RunWrite;
}

/** The largest submission in JSON at its worst, six bytes for one, and room around it. */
export const MAX_WRITE_BYTES = 6 * MAX_SUBMISSION_BYTES + 16 * 1024;

export const WRITE = '.write-';
/** While it is written. */
export const UNFINISHED = '.new-';
/** What could not be accepted for another reason than being late. */
export const REFUSED = '.refused-';
/** The run is about to end. */
export const CLOSED = '.closed';

export function writeName(what: RunWrite): string {
  return `${WRITE}${createHash('sha256').update(JSON.stringify(what)).digest('hex').slice(0, 32)}`;
}

/** Null for what no Reeve has written. */
export function parseWrite(text: string): SpooledWrite | null {
  let fields: Record<string, unknown>;
  try {
    fields = fieldsOf(JSON.parse(text));
  } catch {
    return null;
  }
  const { run, token } = fields;
  const what = readWhat(fieldsOf(fields['what']));
  return typeof run === 'string' && typeof token === 'string' && what !== null ? { run, token, what } : null;
}

function readWhat(fields: Record<string, unknown>): RunWrite | null {
  const { write, data, key, model, review, body } = fields;
  if (write === 'heartbeat') return { write };
  if (write === 'submission' && typeof data === 'string' && typeof key === 'string') {
    return { write, data, key };
  }
  if (write === 'usage' && typeof model === 'string' && typeof key === 'string') {
    const counts = fieldsOf(fields['tokens']);
    const isWhole = TOKEN_KINDS.every((kind) => typeof counts[kind] === 'number');
    return isWhole ? { write, model, key, tokens: tokensFrom((kind) => Number(counts[kind])) } : null;
  }
  const verdict = VERDICTS.find((each) => each === fields['verdict']);
  if (write === 'review' && typeof review === 'string' && typeof body === 'string' && verdict !== undefined) {
    return { write, review, verdict, body };
  }
  return null;
}

function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? Object.fromEntries(Object.entries(value)) : {};
}
