/** Follows branches of a repository on disk, and triggers their reviews when a head has moved and come to rest. */
import { watch } from 'node:fs';
import { join } from 'node:path';
import { ReeveError } from '../api/errors.ts';
import type { TriggerView } from '../api/http-views.ts';
import { decideWatch } from '../lifecycle/head-watch.ts';
import type { WatchedHead } from '../lifecycle/head-watch.ts';
import type { Context } from './context.ts';
import { git } from './git-tree.ts';
import type { TriggerRequest } from './review-request.ts';
import { checkTrigger, triggerReviews } from './review-trigger.ts';

export interface WatchRequest extends Omit<TriggerRequest, 'pullRequests' | 'repo'> {
  readonly repo: string;
  readonly branches: readonly { readonly branch: string; readonly pr: string }[];
  readonly debounceMs?: number | undefined;
  /** Ends it. */
  readonly signal: AbortSignal;
  readonly tell: (told: WatchTold) => void;
  /** For tests: what the time is, and who says that something may have moved. */
  readonly clock?: WatchClock | undefined;
  readonly listen?: ((gitDirectory: string, moved: () => void) => () => void) | undefined;
}

export type WatchTold =
  | { readonly is: 'watching'; readonly branches: readonly { branch: string; head: string | null }[] }
  | {
      readonly is: 'triggered';
      readonly heads: Readonly<Record<string, string>>;
      readonly result: TriggerView;
    }
  /** A branch, or the repository itself, can no longer be read; or it can again. Told once. */
  | { readonly is: 'gone' | 'returned'; readonly what: 'branch' | 'repository'; readonly name: string }
  /** It is tried again when a head moves again, not before. */
  | { readonly is: 'failed'; readonly heads: Readonly<Record<string, string>>; readonly error: ReeveError };

export interface WatchClock {
  nowMs(): number;
  /** Until then, or until `moved` was called or the signal given. */
  wait(ms: number, until: Promise<void>): Promise<void>;
}

/** An agent commits in bursts, and amends. */
export const DEFAULT_DEBOUNCE_MS = 5_000;
/** For file systems that tell nobody of changes. */
const POLL_MS = 5_000;

export async function watchReviews(context: Context, request: WatchRequest): Promise<void> {
  const { signal, tell, debounceMs = DEFAULT_DEBOUNCE_MS } = request;
  requireOneBranchEach(request);
  const directory = await gitDirectoryOf(context, request.repo);
  await checkTrigger(context, request);
  const clock = request.clock ?? wallClock;
  const news = createNews();
  const listen = () => (request.listen ?? listenToRefs)(directory, news.give);
  let close = listen();
  signal.addEventListener('abort', news.give, { once: true });
  let state: ReadonlyMap<string, WatchedHead> = new Map();
  try {
    let known: Heads | null = await firstHeads(context, request);
    tell({ is: 'watching', branches: [...known].map(([branch, head]) => ({ branch, head })) });
    let last: Heads = known;
    while (!signal.aborted) {
      const moved = news.next();
      const seen = await headsOf(context, request);
      for (const told of changesIn(request, known, last, seen)) tell(told);
      if (known === null && seen !== null) {
        // What listened to the old one hears nothing of what is in its place.
        close();
        close = listen();
      }
      known = seen;
      last = seen ?? last;
      // A repository that cannot be read right now says nothing about its heads.
      const decision = decideWatch(state, seen ?? new Map(), clock.nowMs(), debounceMs);
      if (seen !== null) state = decision.state;
      if (decision.trigger.size > 0) await triggerNow(context, request, decision.trigger);
      else await clock.wait(Math.min(decision.waitMs ?? POLL_MS, POLL_MS), moved);
    }
  } finally {
    signal.removeEventListener('abort', news.give);
    close();
  }
}

/** A pull request has one head. */
function requireOneBranchEach({ branches }: WatchRequest): void {
  const twice = branches.find(({ pr }, index) => branches.findIndex((each) => each.pr === pr) !== index);
  if (twice === undefined) return;
  const names = [...new Set(branches.filter(({ pr }) => pr === twice.pr).map(({ branch }) => branch))];
  const problem =
    names.length === 1
      ? `Branch ${names.join('')} is given twice`
      : `Pull request ${twice.pr} is given with ${names.join(' and ')}`;
  throw new ReeveError('usage', `${problem}.`, {
    hint: 'Nothing is watched. Give each pull request with one branch.',
  });
}

/** By branch; null for one that is not there. */
type Heads = ReadonlyMap<string, string | null>;

/** One that is not there now is more likely misspelt than yet to come, and would be waited for in silence. */
async function firstHeads(context: Context, request: WatchRequest): Promise<Heads> {
  const heads = await headsOf(context, request);
  if (heads === null)
    throw new ReeveError('bad_directory', `The branches of ${request.repo} cannot be read.`, {
      hint: 'Give another repository with --repo.',
    });
  const missing = [...heads].filter(([, head]) => head === null).map(([branch]) => branch);
  if (missing.length === 0) return heads;
  throw new ReeveError('usage', `There is no branch ${missing.join(', ')} in ${request.repo}.`, {
    hint: 'Nothing is watched. `git branch` lists those that there are.',
    details: { missing },
  });
}

/** `known` is null while the repository could not be read; `last` is what was read before that. */
function changesIn(request: WatchRequest, known: Heads | null, last: Heads, seen: Heads | null): WatchTold[] {
  const repository = { what: 'repository', name: request.repo } as const;
  if (seen === null) return known === null ? [] : [{ is: 'gone', ...repository }];
  const ofBranches = [...seen].flatMap(([name, head]): WatchTold[] => {
    const isThere = head !== null;
    if (isThere === ((last.get(name) ?? null) !== null)) return [];
    return [{ is: isThere ? 'returned' : 'gone', what: 'branch', name }];
  });
  return known === null ? [{ is: 'returned', ...repository }, ...ofBranches] : ofBranches;
}

async function triggerNow(
  context: Context,
  request: WatchRequest,
  moved: ReadonlyMap<string, string>,
): Promise<void> {
  const { worker, reviewer, harness, cwd, repo, again, graceMs } = request;
  const pullRequests = request.branches.flatMap(({ branch, pr }) => {
    const head = moved.get(branch);
    return head === undefined ? [] : [{ pr, head }];
  });
  const heads = Object.fromEntries(pullRequests.map(({ pr, head }) => [pr, head]));
  try {
    const how = { worker, reviewer, harness, cwd, repo, again, graceMs };
    request.tell({ is: 'triggered', heads, result: await triggerReviews(context, { ...how, pullRequests }) });
  } catch (error) {
    const known =
      error instanceof ReeveError
        ? error
        : new ReeveError('failed', error instanceof Error ? error.message : String(error), { cause: error });
    request.tell({ is: 'failed', heads, error: known });
  }
}

/** The one that all worktrees of the repository share: branches are there. */
async function gitDirectoryOf(context: Context, repo: string): Promise<string> {
  const found = await git(context.environment, repo, [
    'rev-parse',
    '--path-format=absolute',
    '--git-common-dir',
  ]);
  if (found !== null && found !== '') return found;
  throw new ReeveError('bad_directory', `${repo} is not in a git repository that can be read.`, {
    hint: 'Give one with --repo.',
  });
}

/** Null when it cannot be told. */
async function headsOf(context: Context, { repo, branches }: WatchRequest): Promise<Heads | null> {
  const names = branches.map(({ branch }) => branch);
  const text = await git(context.environment, repo, [
    'for-each-ref',
    '--format=%(objectname) %(refname)',
    ...names.map((name) => `refs/heads/${name}`),
  ]);
  if (text === null) return null;
  const heads = new Map(
    text.split('\n').map((line): [string, string] => {
      const at = line.indexOf(' ');
      return [line.slice(at + 1), line.slice(0, at)];
    }),
  );
  return new Map(names.map((name) => [name, heads.get(`refs/heads/${name}`) ?? null]));
}

/** That the system tells of no changes, or of no more, is what looking now and then is for. */
function listenToRefs(directory: string, moved: () => void): () => void {
  const watchers = [
    { path: directory, recursive: false },
    { path: join(directory, 'refs'), recursive: true },
  ].flatMap(({ path, recursive }) => {
    try {
      return [watch(path, { recursive }, moved).on('error', () => {})];
    } catch {
      return [];
    }
  });
  return () => {
    for (const watcher of watchers) watcher.close();
  };
}

interface News {
  readonly give: () => void;
  /** Resolves with whatever is given from now on. */
  next(): Promise<void>;
}

function createNews(): News {
  let wake: () => void = () => {};
  return {
    give: () => wake(),
    next: () =>
      new Promise((resolve) => {
        wake = resolve;
      }),
  };
}

const wallClock: WatchClock = {
  // Never jumps back, unlike the time of day.
  nowMs: () => performance.now(),
  wait: (ms, until) =>
    new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      void until.then(() => {
        clearTimeout(timer);
        resolve();
      });
    }),
};
