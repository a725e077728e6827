/** What is read from the object store directly is what git says. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { repositoryOf, treeOfLoose } from '../../src/supervisor/loose-commit.ts';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'reeve-loose-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const git = (directory: string, ...args: string[]) =>
  execFileSync('git', ['-C', directory, '-c', 'user.name=a', '-c', 'user.email=a@example.invalid', ...args], {
    encoding: 'utf8',
    env: { PATH: process.env['PATH'] ?? '', HOME: root },
  }).trim();

function committed(): { repository: string; commit: string; tree: string } {
  const repository = join(root, 'repository');
  mkdirSync(join(repository, 'deep', 'down'), { recursive: true });
  git(repository, 'init', '--quiet');
  writeFileSync(join(repository, 'deep', 'down', 'file'), 'content');
  git(repository, 'add', '.');
  git(repository, 'commit', '--quiet', '--message', 'tree 0123456789012345678901234567890123456789');
  const [commit, tree] = ['HEAD', 'HEAD^{tree}'].map((name) => git(repository, 'rev-parse', name));
  return { repository, commit: commit ?? '', tree: tree ?? '' };
}

it('is found from a directory deep in the repository, and in a linked worktree', () => {
  const { repository, commit, tree } = committed();
  git(repository, 'worktree', 'add', '--quiet', join(root, 'linked'));
  for (const directory of [repository, join(repository, 'deep', 'down'), join(root, 'linked')]) {
    expect(treeOfLoose(repositoryOf(directory) ?? '', commit)).toBe(tree);
  }
});

it('is found in a bare repository', () => {
  const { repository, commit, tree } = committed();
  const bare = join(root, 'bare.git');
  execFileSync('git', ['clone', '--quiet', '--bare', '--no-hardlinks', repository, bare]);
  expect(repositoryOf(bare)).toBe(bare);
  expect(treeOfLoose(bare, commit)).toBe(tree);
});

it('is not known of what is packed, is no commit, or is not there', () => {
  const { repository, commit, tree } = committed();
  const place = repositoryOf(repository) ?? '';
  expect(treeOfLoose(place, tree)).toBeNull();
  expect(treeOfLoose(place, 'f'.repeat(40))).toBeNull();
  git(repository, 'gc', '--quiet', '--prune=now');
  expect(treeOfLoose(place, commit)).toBeNull();
});

it('is not known of a damaged object, nor of a place that is none', () => {
  const { repository, commit } = committed();
  const object = join(repository, '.git', 'objects', commit.slice(0, 2), commit.slice(2));
  rmSync(object);
  writeFileSync(object, 'garbage');
  expect(treeOfLoose(join(repository, '.git'), commit)).toBeNull();
  writeFileSync(join(root, '.git'), 'gitdir: nowhere\n');
  expect(treeOfLoose(join(root, '.git'), commit)).toBeNull();
});

it('a directory in no repository has none', () => {
  expect(repositoryOf(root)).toBeNull();
});
