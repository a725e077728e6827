import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { tagsFor } from './needs.ts';
import type { Machine } from './needs.ts';
import { told } from './skipped-tests.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const VITEST = fileURLToPath(new URL('../../node_modules/vitest/vitest.mjs', import.meta.url));

const ordinary: Machine = { isCi: false, isRoot: false, platform: 'linux', has: () => true };
const skipped = (machine: Machine) =>
  tagsFor(machine).flatMap(({ name, skip }) => (skip === true ? [name] : []));

describe('left out', () => {
  it('are, for an ordinary user, the tests that need root', () => {
    expect(skipped({ ...ordinary, has: (path) => path !== '/etc/gemini-cli' })).toEqual(['root', 'freezer']);
  });

  it('are, for root, only those whose machine this is not', () => {
    expect(skipped({ ...ordinary, isRoot: true, has: () => false })).toEqual(['freezer']);
    expect(skipped({ ...ordinary, isRoot: true, platform: 'darwin' })).toEqual([
      'linux',
      'no-gemini-settings',
    ]);
  });

  it('are none in CI, whatever it lacks', () => {
    expect(skipped({ ...ordinary, isCi: true })).toEqual([]);
  });
});

it('what was left out is counted and named by what it needs', () => {
  expect(
    told([
      { name: 'a.test.ts > an oom kill', tags: ['root'] },
      { name: 'a.test.ts > forgotten', tags: [] },
      { name: 'b.test.ts > a namespace', tags: ['other', 'root'] },
      { name: 'b.test.ts > the undead', tags: ['freezer'] },
    ]),
  ).toEqual([
    '2 tests need root:',
    '  a.test.ts > an oom kill',
    '  b.test.ts > a namespace',
    '1 test needs root and the freezer of cgroup v1:',
    '  b.test.ts > the undead',
    '1 test skipped without a need:',
    '  a.test.ts > forgotten',
  ]);
});

describe('a run that leaves out a test that needs root', () => {
  const run = (env: Record<string, string>) =>
    spawnSync(
      process.execPath,
      [VITEST, 'run', '--tags-filter', '!root', '--passWithNoTests', 'test/process/reused-pid.test.ts'],
      { cwd: ROOT, encoding: 'utf8', env: { PATH: process.env['PATH'], REEVE_TEST_BUILT: '1', ...env } },
    );
  const NAMED =
    '1 test needs root:\n  test/process/reused-pid.test.ts > takes a reused pid for dead, its children for strangers, and signals none of them';

  it('names it', () => {
    const { status, stdout } = run({});
    expect([status, stdout.includes(NAMED)]).toEqual([0, true]);
  });

  it('fails in CI', () => {
    const { status, stdout, stderr } = run({ CI: 'true' });
    expect([status, stdout.includes(NAMED), stderr.trim()]).toEqual([
      1,
      true,
      'With CI=true no test may be skipped.',
    ]);
  });
});
