/** What a commit contains, as the repository on disk tells: no network, and never longer than a moment. */
import { execFile } from 'node:child_process';
import { repositoryOf, treeOfLoose } from './loose-commit.ts';

/** A look into the object store takes milliseconds, unless the disk hangs. */
const LIMIT_MS = 5_000;

const WHOLE = /^([0-9a-f]{40}|[0-9a-f]{64})$/;

export interface Commit {
  /** Its whole name. */
  readonly commit: string;
  readonly tree: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Null without git, without a repository there, and for a commit that it has not. */
export async function commitIn(
  environment: Environment,
  directory: string,
  head: string,
): Promise<Commit | null> {
  const repository = repositoryOf(directory);
  if (repository === null) return null;
  const loose = WHOLE.test(head) ? treeOfLoose(repository, head) : null;
  if (loose !== null) return { commit: head, tree: loose };
  const text = await git(environment, directory, ['log', '-1', '--format=%H %T', head, '--']);
  const [, commit, tree] = /^([0-9a-f]{40,64}) ([0-9a-f]{40,64})$/.exec(text ?? '') ?? [];
  return commit === undefined || tree === undefined ? null : { commit, tree };
}

/** What git prints, without the white space around it; null when it fails. */
export function git(
  environment: Environment,
  directory: string,
  args: readonly string[],
): Promise<string | null> {
  // Inside a hook of git these name another repository than the directory does.
  const kept = Object.entries(environment).filter(([name]) => !name.startsWith('GIT_'));
  const env = { ...Object.fromEntries(kept), GIT_OPTIONAL_LOCKS: '0', GIT_NO_LAZY_FETCH: '1', LC_ALL: 'C' };
  const options = { env, timeout: LIMIT_MS, killSignal: 'SIGKILL', maxBuffer: 1024 * 1024 } as const;
  return new Promise((resolve) => {
    execFile('git', ['-C', directory, '--no-pager', ...args], options, (error, stdout) =>
      resolve(error === null ? stdout.trim() : null),
    );
  });
}
