/** `review trigger|ls|show|submit|cancel|watch`. */
import { withReeve } from '../with-reeve.ts';
import { createReadStream } from 'node:fs';
import { ReeveError } from '../../api/errors.ts';
import type { ReviewDetailView, TriggeredView, TriggerView } from '../../api/http-views.ts';
import type { Verdict } from '../../lifecycle/review.ts';
import type { HarnessName } from '../../supervisor/reeve.ts';
import type { WatchTold } from '../../supervisor/review-watch.ts';
import { MAX_REVIEW_BYTES } from '../../supervisor/review-limits.ts';
import { loadWholeProgram } from '../../supervisor/own-program.ts';
import { goOnAnew } from '../go-on-anew.ts';
import { LEFT, linesOf, outputWidth, printLines, printJson, say } from '../output.ts';
import type { OutputOptions } from '../output.ts';
import { renderReviews, statusOf } from '../render/reviews.ts';
import { bold, dim } from '../render/style.ts';
import { splitCommand } from '../split-command.ts';

interface HowOptions extends OutputOptions {
  readonly worker?: string;
  readonly reviewer?: string;
  readonly harness?: HarnessName;
  readonly cwd?: string;
  readonly grace?: number;
}

export interface TriggerOptions extends HowOptions {
  readonly pr?: readonly string[];
  readonly repo?: string;
  readonly again?: boolean;
  readonly assumeGone?: boolean;
}

export async function trigger(options: TriggerOptions): Promise<number> {
  const pullRequests = (options.pr ?? []).map(pullRequestOf);
  return withReeve(async (reeve) => {
    const { repo, again, assumeGone } = options;
    const result = await reeve.reviews.trigger({ ...howOf(options), pullRequests, repo, again, assumeGone });
    printLines(options, result, renderTrigger(result));
    return 0;
  });
}

/** The last = parts them: a key may have one, a commit has none. */
function pullRequestOf(text: string): { pr: string; head: string } {
  const at = text.lastIndexOf('=');
  if (at > 0) return { pr: text.slice(0, at), head: text.slice(at + 1) };
  throw usage('--pr takes a key and a head, as in --pr 17=$(git rev-parse HEAD)');
}

function howOf({ worker, reviewer, harness, cwd, grace }: HowOptions) {
  if (worker === undefined)
    throw usage('Whose work is to be reviewed was not said', 'Give --worker SESSION.');
  const graceMs = grace === undefined ? undefined : grace * 1000;
  return {
    worker,
    reviewer: reviewer === undefined ? undefined : splitCommand(reviewer),
    harness,
    cwd,
    graceMs,
  };
}

const DONE: Readonly<Record<TriggeredView['is'], string>> = {
  created: 'under review',
  reused: 'under review already',
  'up-to-date': 'reviewed already',
  duplicate: 'skipped: the same tree was reviewed already',
};

function renderTrigger({
  worker,
  pullRequests,
  reviewer,
  isStarted,
  retired,
  superseded,
}: TriggerView): string[] {
  const lines = pullRequests.map(({ is, review, savedTokens }) => {
    const saved = savedTokens === null ? '' : `, ${savedTokens.toLocaleString('en')} tokens not spent again`;
    return `${worker} ${bold(review.pr)} at ${review.head.slice(0, 10)}: ${DONE[is]}${saved}  ${dim(review.id)}`;
  });
  const ended = retired === null ? '' : ` in the place of ${retired}, which is gone`;
  const gaveWay = superseded.map(({ pr, head }) => dim(`${pr} at ${head.slice(0, 10)} is superseded.`));
  if (isStarted && reviewer !== null) {
    lines.push(`Reviewer: ${reviewer.run}${ended}. Log: reeve logs -f ${reviewer.session}`);
  } else if (retired !== null) lines.push(`Its reviewer ${retired} is gone; nothing is left to review.`);
  return [...lines, ...gaveWay];
}

export async function ls(options: OutputOptions & { worker?: string; all?: boolean }): Promise<number> {
  return withReeve(async (reeve) => {
    const reviews = await reeve.reviews.list({ worker: options.worker, all: options.all });
    const text = options.json === true ? [] : linesOf(renderReviews(reviews, Date.now(), outputWidth()));
    printLines(options, { reviews }, text);
    return 0;
  });
}

export async function show(reference: string, options: OutputOptions): Promise<number> {
  return withReeve(async (reeve) => {
    const detail = await reeve.reviews.show(reference);
    printLines(options, detail, renderDetail(detail));
    return 0;
  });
}

function renderDetail(detail: ReviewDetailView): string[] {
  const rows: [string, string | null][] = [
    ['review', `${bold(detail.id)} of ${detail.worker}`],
    ['pr', `${detail.pr} at ${detail.head}${detail.isCurrent ? '' : ' (no longer its head)'}`],
    ['status', statusOf(detail)],
    ['verdict', detail.verdict],
    ['reason', detail.reason],
    ['superseded', detail.supersededBy === null ? null : `by ${detail.supersededBy}`],
    ['reviewer', detail.reviewer === null ? null : `${detail.reviewer.session}, ${detail.reviewer.run}`],
    ['log', detail.logPath],
    ['late', detail.late === null ? null : `refused: ${detail.late.because}`],
  ];
  const facts = rows.flatMap(([name, value]) => (value === null ? [] : [`${dim(name.padEnd(10))} ${value}`]));
  const text = detail.body ?? detail.late?.body ?? null;
  return [...facts, ...(text === null ? [] : ['', ...linesOf(text.trimEnd())])];
}

export interface SubmitOptions extends OutputOptions {
  readonly run?: string;
  readonly verdict?: Verdict;
  readonly body?: string;
}

export async function submit(options: SubmitOptions): Promise<number> {
  const { run: review, verdict, body: file } = options;
  if (review === undefined || verdict === undefined || file === undefined) {
    throw usage('A submission needs --run, --verdict and --body');
  }
  const body = await textOf(file);
  return withReeve(async (reeve) => {
    const submitted = await reeve.reviews.submit({ review, verdict, body });
    if (!submitted.accepted) {
      printLines(options, submitted, [LEFT]);
      return 0;
    }
    const { id, pr, head } = submitted.review;
    const again = submitted.again ? ' It had been submitted so before.' : '';
    printLines(options, submitted, [`Review ${id} of ${pr} at ${head} is on record: ${verdict}.${again}`]);
    return 0;
  });
}

/** No further than it could be submitted; one byte more, so that it is found to be too long. */
async function textOf(file: string): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of file === '-' ? process.stdin : createReadStream(file)) {
      chunks.push(Buffer.from(chunk as Buffer));
      bytes += chunks.at(-1)?.length ?? 0;
      if (bytes > MAX_REVIEW_BYTES) break;
    }
  } catch (error) {
    const because = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    throw new ReeveError('usage', `${file === '-' ? 'Standard input' : file} cannot be read: ${because}.`, {
      cause: error,
    });
  }
  return Buffer.concat(chunks).toString('utf8');
}

export interface CancelOptions extends OutputOptions {
  readonly worker?: string;
  readonly pr?: string;
  readonly grace?: number;
  readonly assumeGone?: boolean;
}

export async function cancel(id: string | undefined, options: CancelOptions): Promise<number> {
  const { worker, pr, grace, assumeGone } = options;
  if ((id === undefined) === (worker === undefined) || (id !== undefined && pr !== undefined)) {
    throw usage('Give the id of a review, or --worker SESSION and perhaps --pr KEY');
  }
  const graceMs = grace === undefined ? undefined : grace * 1000;
  return withReeve(async (reeve) => {
    const which = id === undefined ? { worker: worker ?? '', pr } : { review: id };
    const result = await reeve.reviews.cancel({ ...which, graceMs, assumeGone });
    const lines = result.cancelled.map((each) => `${each.pr} at ${each.head.slice(0, 10)}: cancelled.`);
    if (result.retired !== null) lines.push(`Its reviewer ${result.retired} is gone.`);
    printLines(options, result, lines.length === 0 ? ['Nothing was left to cancel.'] : lines);
    return 0;
  });
}

export interface WatchOptions extends HowOptions {
  readonly repo?: string;
  readonly branch?: readonly string[];
  readonly debounce?: number;
}

/** It listens itself. */
const NOT_INTERRUPTED = { interruption: null };

/** In the foreground until it is told to end; a trigger that is under way is finished first. */
export async function watch(options: WatchOptions): Promise<number> {
  const branches = (options.branch ?? []).map(branchOf);
  if (branches.length === 0) throw usage('No branch was given', 'Give one as --branch NAME=KEY.');
  const ending = new AbortController();
  const end = () => ending.abort();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, end);
  // Nobody is told any more, which is said where it is noticed.
  process.stdout.once('error', end);
  loadWholeProgram();
  let isReplaced = false;
  const watching = withReeve(async (reeve) => {
    await reeve.reviews.watch({
      ...howOf(options),
      repo: options.repo ?? process.cwd(),
      branches,
      debounceMs: options.debounce === undefined ? undefined : options.debounce * 1000,
      signal: ending.signal,
      tell: (told) => {
        if (told.is === 'failed' && told.error.code === 'program_replaced') {
          // The head is still to be reviewed: whoever watches next finds it so.
          isReplaced = true;
          end();
        } else if (options.json === true) {
          const value =
            told.is === 'failed'
              ? { ...told, error: { code: told.error.code, message: told.error.message } }
              : told;
          printJson(value, 0);
        } else if (told.is === 'failed') say(told.error.message);
        else if (told.is === 'triggered') printLines(options, null, [oneLine(told.result)]);
        else if (told.is !== 'watching') say(goneOrBack(told));
        else say(`watching ${told.branches.map(({ branch }) => branch).join(', ')}. Ctrl-C ends it.`);
      },
    });
    return 0;
  }, NOT_INTERRUPTED);
  await watching.catch((error: unknown) => {
    if (!(error instanceof ReeveError) || error.code !== 'program_replaced') throw error;
    const hint = 'Start reeve review watch again when the update is done.';
    throw new ReeveError(error.code, error.message, { hint, details: error.details, cause: error });
  });
  return isReplaced ? goOnAnew() : 0;
}

function goneOrBack({ is, what, name }: Extract<WatchTold, { is: 'gone' | 'returned' }>): string {
  const subject = what === 'branch' ? `branch ${name}` : `the repository in ${name}`;
  if (is === 'returned') return `${subject} is there again.`;
  return what === 'branch'
    ? `${subject} is gone. It is reviewed again when it returns.`
    : `${subject} cannot be read. Nothing is reviewed until it can.`;
}

function oneLine({ pullRequests, reviewer, isStarted }: TriggerView): string {
  const heads = pullRequests.map(
    ({ is, review }) => `${review.pr} at ${review.head.slice(0, 10)}: ${DONE[is]}`,
  );
  const started = isStarted && reviewer !== null ? `  ${dim(`reviewer ${reviewer.run}`)}` : '';
  return `${heads.join('; ')}${started}`;
}

/** The last = parts them, as with --pr: also a branch may have one. */
function branchOf(text: string): { branch: string; pr: string } {
  const at = text.lastIndexOf('=');
  const branch = at === -1 ? text : text.slice(0, at);
  const pr = at === -1 ? text : text.slice(at + 1);
  if (branch === '' || pr === '' || /[\p{Cc}\s]/u.test(branch))
    throw usage('--branch takes NAME or NAME=KEY');
  return { branch, pr };
}

function usage(message: string, hint?: string): ReeveError {
  return new ReeveError('usage', `${message}.`, { hint: hint ?? 'See: reeve help review' });
}
