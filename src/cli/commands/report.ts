/** What a run reports from inside: `submit` and `usage add`; and looking at what was submitted. */
import { createReadStream } from 'node:fs';
import { ReeveError } from '../../api/errors.ts';
import type { SubmissionView } from '../../api/submission-view.ts';
import { clock } from '../../api/time-words.ts';
import { MAX_SUBMISSION_BYTES } from '../../lifecycle/submission.ts';
import type { AddUsageRequest } from '../../supervisor/add-usage.ts';
import { textOf } from '../../supervisor/submit.ts';
import type { Submitted } from '../../supervisor/submit.ts';
import { LEFT, linesOf, outputWidth, printLines } from '../output.ts';
import type { OutputOptions } from '../output.ts';
import { painted, span } from '../render/line.ts';
import { dim } from '../render/style.ts';
import { openPatiently } from '../with-reeve.ts';

interface SubmitOptions extends OutputOptions {
  readonly data?: string;
  readonly key?: string;
}

export async function submit(options: SubmitOptions): Promise<number> {
  if (options.data === undefined) {
    throw new ReeveError('usage', '`submit` needs --data: a file, or - for standard input.', {
      hint: 'See: reeve submit --help',
    });
  }
  const data = textOf(await readBytes(options.data));
  const reeve = await openPatiently();
  try {
    const submitted = await reeve.submit({ data, key: options.key });
    printLines(options, submitted, [submitted.accepted ? acceptedWords(submitted) : LEFT]);
    return 0;
  } finally {
    await reeve.close();
  }
}

function acceptedWords({ id, again }: Submitted): string {
  return again ? `${id} was accepted before.` : `${id} is accepted.`;
}

/** No further than it takes to see that it is too large: it may have no end. */
async function readBytes(file: string): Promise<Buffer> {
  const source = file === '-' ? process.stdin : createReadStream(file);
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of source) {
      chunks.push(Buffer.from(chunk as Buffer));
      bytes += chunks.at(-1)?.length ?? 0;
      if (bytes > MAX_SUBMISSION_BYTES) break;
    }
  } catch (error) {
    throw new ReeveError('usage', `${JSON.stringify(file)} cannot be read: ${String(error)}.`, {
      cause: error,
    });
  }
  return Buffer.concat(chunks);
}

export async function submitLs(
  session: string | undefined,
  options: OutputOptions & { refused?: boolean },
): Promise<number> {
  const reeve = await openPatiently();
  try {
    const found = await reeve.submissions({ session, refused: options.refused });
    const lines = found.submissions.map((each) => painted([span(lineOf(each))], outputWidth()));
    const text =
      lines.length === 0
        ? [dim(options.refused === true ? NONE_REFUSED : NONE)]
        : [...lines, ...(found.isCut ? ['… and earlier ones.'] : [])];
    printLines(options, found, text);
    return 0;
  } finally {
    await reeve.close();
  }
}

const NONE = 'No submissions yet. From inside a run: reeve submit --data FILE';
const NONE_REFUSED = 'No submission came too late.';

function lineOf({ at, id, session, run, bytes, because }: SubmissionView): string {
  const verdict = because === null ? 'accepted' : `refused: ${because}`;
  return [clock(Date.parse(at)), id, session ?? '-', run, `${bytes} bytes`, verdict].join('  ');
}

export async function submitShow(id: string, options: OutputOptions): Promise<number> {
  const reeve = await openPatiently();
  try {
    const found = await reeve.submission(id);
    // A file gets every byte; a terminal must not be steered by what an agent wrote.
    if (options.json === true || process.stdout.isTTY) printLines(options, found, linesOf(found.data));
    else process.stdout.write(found.data);
    return 0;
  } finally {
    await reeve.close();
  }
}

type UsageFlags = OutputOptions & Partial<AddUsageRequest>;

export async function usageAdd({ json, model, ...spent }: UsageFlags): Promise<number> {
  if (model === undefined) {
    throw new ReeveError('usage', '`usage add` needs --model: the model that was used.', {
      hint: 'See: reeve usage add --help',
    });
  }
  const reeve = await openPatiently();
  try {
    const added = await reeve.addUsage({ ...spent, model });
    printLines({ json }, added, added.accepted ? (added.again ? ['It was counted before.'] : []) : [LEFT]);
    return 0;
  } finally {
    await reeve.close();
  }
}
