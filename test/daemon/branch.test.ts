/** The branch of a directory, against repositories that git itself made. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { branchIn } from '../../src/supervisor/branch.ts';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'reeve-branch-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const identity = ['-c', 'user.name=test', '-c', 'user.email=test@localhost', '-c', 'commit.gpgsign=false'];
function git(directory: string, ...args: readonly string[]): void {
  const env = { PATH: process.env['PATH'] ?? '', HOME: root, GIT_CONFIG_NOSYSTEM: '1' };
  execFileSync('git', [...identity, ...args], { cwd: directory, env, stdio: 'pipe' });
}

function repository(name: string, branch = 'main'): string {
  const path = join(root, name);
  mkdirSync(path);
  git(path, 'init', '--quiet', '--initial-branch', branch);
  git(path, 'commit', '--quiet', '--allow-empty', '--message', 'first');
  return path;
}

it('is that of the repository, also from a directory deep inside it', () => {
  const path = repository('plain', 'feature/one+two-ü');
  mkdirSync(join(path, 'a', 'b', 'c'), { recursive: true });
  expect([path, join(path, 'a', 'b', 'c'), join(path, '.git')].map(branchIn)).toEqual(
    Array.from({ length: 3 }, () => 'feature/one+two-ü'),
  );
});

it('is there before the first commit', () => {
  const path = join(root, 'fresh');
  mkdirSync(path);
  git(path, 'init', '--quiet', '--initial-branch', 'begun');
  expect(branchIn(path)).toBe('begun');
});

it('is that of the worktree, not of the repository it belongs to', () => {
  const path = repository('plain');
  git(path, 'worktree', 'add', '--quiet', '-b', 'beside', join(root, 'tree'));
  expect([branchIn(path), branchIn(join(root, 'tree'))]).toEqual(['main', 'beside']);
});

it('is that of the submodule, whose directory is named relative to its own place', () => {
  const inner = repository('inner', 'inside');
  const outer = repository('outer', 'outside');
  git(outer, '-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', inner, 'part');
  expect([branchIn(outer), branchIn(join(outer, 'part'))]).toEqual(['outside', 'inside']);
});

it('is none where a commit is checked out', () => {
  const path = repository('plain');
  git(path, 'checkout', '--quiet', '--detach');
  expect(branchIn(path)).toBeNull();
});

it('is none outside of any repository, in one that is not there, and for a path without an end', () => {
  expect([root, join(root, 'not', 'there'), join(root, 'x/'.repeat(2_000))].map(branchIn)).toEqual([
    null,
    null,
    null,
  ]);
});

it.each([
  ['an empty HEAD', ''],
  ['a HEAD of something else', 'ref: refs/tags/v1\n'],
  ['a HEAD that is no text', Buffer.from([0, 255, 254, 10, 0])],
])('is none with %s, and never that of the repository around it', (_, content) => {
  const path = repository('outer');
  mkdirSync(join(path, 'inner', '.git'), { recursive: true });
  writeFileSync(join(path, 'inner', '.git', 'HEAD'), content);
  expect(branchIn(join(path, 'inner'))).toBeNull();
});

it('is that of the repository around a .git that is none', () => {
  const path = repository('outer');
  for (const name of ['file', 'directory', 'nowhere']) mkdirSync(join(path, name));
  writeFileSync(join(path, 'file', '.git'), 'nothing of git\n');
  mkdirSync(join(path, 'directory', '.git'));
  writeFileSync(join(path, 'nowhere', '.git'), `gitdir: ${join(root, 'gone')}\n`);
  expect(['file', 'directory', 'nowhere'].map((name) => branchIn(join(path, name)))).toEqual([
    'main',
    'main',
    'main',
  ]);
});
