/** An update that is not there whole: `review watch` cannot go on as the new build. */
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { installAt } from '../support/installation.ts';
import type { Installation } from '../support/installation.ts';
import { eventually } from '../support/processes.ts';
import { createSandbox, finished } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

let sandbox: Sandbox;
let installed: Installation;
beforeEach(() => {
  sandbox = createSandbox();
  installed = installAt(sandbox.path('installed'));
});
afterEach(() => sandbox.cleanUp());

it('ends, and says who is to be started again', async () => {
  const repo = sandbox.path('repo');
  const git = (...args: readonly string[]) =>
    execFileSync('git', ['-C', repo, '-c', 'user.name=a', '-c', 'user.email=a@b', ...args]);
  mkdirSync(repo);
  git('init', '-q', '-b', 'main');
  git('commit', '-q', '--allow-empty', '-m', 'one');
  await sandbox.json(['run', '-d', '-s', 'w', '--', 'sleep', '600']);
  const how = ['--worker', 'w', '--reviewer', 'sleep 600', '--repo', repo, '--debounce', '0'];
  const words = [installed.cli, 'review', 'watch', ...how, '--branch', 'main'];
  const watch = spawn(process.execPath, words, { env: sandbox.env, cwd: sandbox.root });
  let said = '';
  watch.stdout.on('data', (chunk) => (said += String(chunk)));
  const over = finished(watch);
  await eventually('the first head is reviewed', () => said.includes('under review'));
  const build = JSON.stringify({ version: '9', build: 'other' });
  writeFileSync(join(installed.cli, '..', 'build.json'), build);
  git('commit', '-q', '--allow-empty', '-m', 'two');
  const { code, stderr } = await over;
  expect(code).toBe(1);
  expect(stderr).toContain('Start reeve review watch again');
  expect(stderr).not.toContain('library');
});
