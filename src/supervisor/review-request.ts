/** What a trigger was asked for, checked: which heads, with their trees, and which program reviews them. */
import { ReeveError } from '../api/errors.ts';
import type { HarnessName } from '../harness/adapter.ts';
import type { WantedHead } from '../lifecycle/review-plan.ts';
import type { Session } from '../lifecycle/session.ts';
import { readConfig } from './config.ts';
import type { Context } from './context.ts';
import { commitIn } from './git-tree.ts';
import type { CommitLook } from './git-tree.ts';

export interface TriggerRequest {
  /** The session whose work is reviewed. */
  readonly worker: string;
  readonly pullRequests: readonly { readonly pr: string; readonly head: string }[];
  /** The program that reviews, with its arguments; by default that of the configuration. */
  readonly reviewer?: readonly string[] | undefined;
  /** Or a harness, which is told in its prompt what to do. */
  readonly harness?: HarnessName | undefined;
  /** Where it runs; by default where the worker does. */
  readonly cwd?: string | undefined;
  /** Where the heads' trees are looked up; by default where the worker runs. */
  readonly repo?: string | undefined;
  /** Also what was reviewed already. */
  readonly again?: boolean | undefined;
  /** Between asking a reviewer to end and killing it. */
  readonly graceMs?: number | undefined;
  /** On this caller's word, another trigger of which nothing can be proven from here is gone. */
  readonly assumeGone?: boolean | undefined;
}

/** More than one worker's open pull requests, ever; each costs a look into the repository. */
const MAX_PULL_REQUESTS = 100;
const MAX_KEY_LENGTH = 200;
const WHOLE_COMMIT = /^([0-9a-f]{40}|[0-9a-f]{64})$/i;

/**
 * Each pull request once, with the tree of its head. What is no commit of the repository is refused; where the worker is in
 * none, the commits are somewhere else, and nothing more can be checked here.
 */
export async function wantedHeads(
  context: Context,
  request: TriggerRequest,
  session: Session,
): Promise<readonly WantedHead[]> {
  const directory = request.repo ?? session.cwd;
  const wanted = await Promise.all(
    request.pullRequests.map(async ({ pr, head }): Promise<WantedHead> => {
      const commit = head.toLowerCase();
      const look = await commitIn(context.environment, directory, commit);
      if (look.is === 'there') return { pr, head: commit, tree: look.tree };
      if (look.is === 'no_repository' && request.repo === undefined) return { pr, head: commit, tree: null };
      throw refusedHead(commit, directory, look);
    }),
  );
  const heads = new Map<string, WantedHead>();
  for (const each of wanted) {
    if ((heads.get(each.pr)?.head ?? each.head) !== each.head)
      throw usage(`${each.pr} was given with two heads`);
    heads.set(each.pr, each);
  }
  return [...heads.values()];
}

function refusedHead(
  commit: string,
  directory: string,
  look: Exclude<CommitLook, { is: 'there' }>,
): ReeveError {
  switch (look.is) {
    case 'absent':
      return usage(
        `${commit} is not a commit of the repository in ${directory}`,
        'Nothing was changed. Fetch it there, or name the repository that has it with --repo.',
      );
    case 'no_repository':
      return new ReeveError('bad_directory', `${directory} is not in a git repository.`, {
        hint: 'Nothing was changed. Give the repository that has the heads with --repo.',
      });
    case 'unknown':
      return new ReeveError(
        'unproven',
        `Whether ${commit} is a commit of the repository in ${directory} cannot be told: ${look.because}.`,
        { hint: 'Nothing was changed. Mend that, or name another repository with --repo.' },
      );
  }
}

/** What can be seen without asking anybody. */
export function checkRequest({ pullRequests, graceMs }: TriggerRequest): void {
  if (graceMs !== undefined && !(graceMs >= 0)) {
    throw usage('The grace must be a number of milliseconds that is not negative');
  }
  if (pullRequests.length === 0) throw usage('No pull request was given', 'Give one as --pr KEY=HEADSHA.');
  if (pullRequests.length > MAX_PULL_REQUESTS) throw usage('These are too many pull requests at once');
  for (const { pr, head } of pullRequests) checkNames(pr, head);
}

function checkNames(pr: string, head: string): void {
  if (pr === '' || pr.length > MAX_KEY_LENGTH || /[\p{Cc}\p{Cs}]/u.test(pr)) {
    throw usage('The key of a pull request is some text without control characters', 'For example: 17');
  }
  // A branch's name would say the same for ever, however often its head moves; and a short one may come to mean another.
  if (!WHOLE_COMMIT.test(head)) {
    throw usage(
      `${JSON.stringify(head.slice(0, 70))} is not the whole id of a commit`,
      'Nothing was changed. Give all of it, as from: git rev-parse HEAD',
    );
  }
}

export type ReviewerCommand =
  | { readonly is: 'command'; readonly argv: readonly string[] }
  | { readonly is: 'harness'; readonly harness: HarnessName };

export function reviewerCommand(
  context: Context,
  request: Pick<TriggerRequest, 'reviewer' | 'harness'>,
): ReviewerCommand {
  const { reviewer, harness } = request;
  if (reviewer !== undefined && harness !== undefined) {
    throw usage('Both a reviewer and a harness were given', 'One of them is enough.');
  }
  if (harness === 'command') throw usage('A command is given as the reviewer, and not as the harness');
  if (harness !== undefined) return { is: 'harness', harness };
  const argv = reviewer ?? readConfig(context.environment).review.reviewer;
  if (argv !== null && argv.length > 0) return { is: 'command', argv };
  throw usage(
    'No reviewer is known',
    'Give one with --reviewer or --harness, or put it into config.toml: [review] reviewer = ["program"]',
  );
}

function usage(message: string, hint?: string): ReeveError {
  return new ReeveError('usage', `${message}.`, hint === undefined ? {} : { hint });
}
