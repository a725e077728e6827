/** What a commit contains, as the repository on disk tells: no network, and never longer than a moment. */
import { execFile } from 'node:child_process';
import type { ExecFileException } from 'node:child_process';
import { repositoryOf, treeOfLoose } from './loose-commit.ts';

/** A look into the object store takes milliseconds, unless the disk hangs. */
const LIMIT_MS = 5_000;

export type CommitLook =
  /** `tree` is null where the repository has the commit alone. */
  | { readonly is: 'there'; readonly tree: string | null }
  | { readonly is: 'absent' }
  | { readonly is: 'no_repository' }
  | { readonly is: 'unknown'; readonly because: string };

type Environment = Readonly<Record<string, string | undefined>>;

/** Whether the repository of a directory has a commit, by the commit's whole name. */
export async function commitIn(
  environment: Environment,
  directory: string,
  commit: string,
): Promise<CommitLook> {
  try {
    const repository = repositoryOf(directory);
    if (repository === null) return { is: 'no_repository' };
    const tree = treeOfLoose(repository, commit);
    if (tree !== null) return { is: 'there', tree };
  } catch (error) {
    return { is: 'unknown', because: error instanceof Error ? error.message : String(error) };
  }
  return askGit(environment, directory, commit);
}

/** It answers of each name on a line of its own: what that is, or that it is missing. Anything else is a failure. */
async function askGit(environment: Environment, directory: string, commit: string): Promise<CommitLook> {
  const format = '--batch-check=%(objectname) %(objecttype)';
  const names = `${commit}^{commit}\n${commit}^{tree}\n`;
  const answer = await run(environment, directory, ['cat-file', format], names);
  if (answer.is === 'failed') return { is: 'unknown', because: answer.because };
  const [found = '', tree = ''] = answer.text.split('\n');
  if (found === `${commit} commit`)
    return { is: 'there', tree: /^([0-9a-f]+) tree$/.exec(tree)?.[1] ?? null };
  // Also a tag, which is another object than the commit that it names.
  if (found.endsWith(' missing') || found.endsWith(' commit')) return { is: 'absent' };
  return { is: 'unknown', because: `git answered ${JSON.stringify(found.slice(0, 100))}` };
}

/** What git prints, without the white space around it; null when it fails. */
export async function git(
  environment: Environment,
  directory: string,
  args: readonly string[],
): Promise<string | null> {
  const answer = await run(environment, directory, args, '');
  return answer.is === 'failed' ? null : answer.text;
}

type Answer =
  | { readonly is: 'answered'; readonly text: string }
  | { readonly is: 'failed'; readonly because: string };

function run(
  environment: Environment,
  directory: string,
  args: readonly string[],
  input: string,
): Promise<Answer> {
  // Inside a hook of git these name another repository than the directory does.
  const kept = Object.entries(environment).filter(([name]) => !name.startsWith('GIT_'));
  const env = { ...Object.fromEntries(kept), GIT_OPTIONAL_LOCKS: '0', GIT_NO_LAZY_FETCH: '1', LC_ALL: 'C' };
  const options = { env, timeout: LIMIT_MS, killSignal: 'SIGKILL', maxBuffer: 1024 * 1024 } as const;
  return new Promise((resolve) => {
    const child = execFile(
      'git',
      ['-C', directory, '--no-pager', ...args],
      options,
      (error, stdout, stderr) =>
        resolve(
          error === null
            ? { is: 'answered', text: stdout.trim() }
            : { is: 'failed', because: whyFailed(error, stderr) },
        ),
    );
    // That it ended before it read everything is told by how it ended.
    child.stdin?.on('error', () => {}).end(input);
  });
}

function whyFailed(error: ExecFileException, stderr: string): string {
  if (error.killed === true) return `git did not answer within ${LIMIT_MS / 1000} seconds`;
  const [line = ''] = stderr.trim().split('\n');
  return line === '' ? `git failed: ${error.code ?? error.message}` : `git says ${JSON.stringify(line)}`;
}
