/** Directories whose names colour and break lines, wherever a command takes a directory from, for every verb. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { VERBS } from '../../src/cli/verbs.ts';
import { createSandbox } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

/** The second line would pass for one of Reeve's, and `\u200B` for nothing. */
const BAD = '\u001B[31mRED\nSECOND\u200B';

let sandbox: Sandbox;
let bad: string;
let env: Record<string, string>;
beforeAll(async () => {
  sandbox = createSandbox();
  bad = sandbox.path(BAD);
  mkdirSync(`${bad}/claude`, { recursive: true });
  mkdirSync(`${bad}/codex`);
  writeFileSync(`${bad}/codex/hooks.json`, '{ broken');
  env = {
    // Whatever Reeve colours itself is then coloured, and what others do is told from that.
    FORCE_COLOR: '1',
    HOME: bad,
    REEVE_HOME: `${bad}/state`,
    TMPDIR: bad,
    CLAUDE_CONFIG_DIR: `${bad}/claude`,
    CODEX_HOME: `${bad}/codex`,
    XDG_CONFIG_HOME: `${bad}/config`,
  };
  await sandbox.reeve(['run', '-s', 'a', '--', 'sh', '-c', 'true'], { env, cwd: bad });
});
afterAll(() => sandbox.cleanUp());

/** What each is asked so that it prints a path where it has one; of the others it is their refusal. */
const ASKED: Readonly<Record<string, () => readonly (readonly string[])[]>> = {
  run: () => [
    ['run', '-s', 'b', '--cwd', `${bad}/none`, '--', 'true'],
    ['run', '-s', 'c', '--', `${bad}/none`],
  ],
  resume: () => [['resume', 'a']],
  ls: () => [['ls', '--all']],
  // It has no end where people read it.
  top: () => [['top', '--json']],
  show: () => [['show', 'a']],
  why: () => [['why', 'a']],
  logs: () => [['logs', 'a']],
  attach: () => [['attach', 'a']],
  stop: () => [['stop', 'a']],
  hooks: () =>
    ['install', 'status', 'remove'].flatMap((action) => [
      ['hooks', action, 'claude'],
      ['hooks', action, 'codex'],
    ]),
  shim: () =>
    ['install', 'status', 'remove'].flatMap((action) => [
      ['shim', action, 'claude', '--dir', `${bad}/shims`],
      ['shim', action, 'claude', '--dir', `${bad}/codex/hooks.json/x`],
    ]),
  serve: () => [['serve', 'status']],
  submit: () => [['submit', '--data', `${bad}/none`]],
  'review submit': () => [
    ['review', 'submit', '--run', 'x', '--verdict', 'approve', '--body', `${bad}/none`],
  ],
  'review watch': () => [
    ['review', 'watch', '--worker', 'a', '--reviewer', 'true', '--branch', 'b', '--repo', bad],
  ],
  completion: () => [['completion', 'bash']],
  uninstall: () => [
    ['uninstall', '--dry-run', '--state'],
    ['uninstall', '--state'],
  ],
};

it.each(VERBS.map(({ name }) => name).filter((name) => name !== 'open'))('%s', async (name) => {
  for (const args of ASKED[name]?.() ?? [name.split(' ')]) {
    const { stdout, stderr } = await sandbox.reeve(args, { env, cwd: bad });
    const printed = stdout + stderr;
    const { length } = printed.split(/\u001B\[31mRED|^SECOND|\u200B/m); // oxlint-disable-line no-control-regex
    expect([args, length === 1 ? '' : printed]).toEqual([args, '']);
  }
});

it('what is to be pasted into a shell is one word of it', async () => {
  const dir = sandbox.path("a b $(touch pwn) it’s 'q'");
  const { stdout } = await sandbox.reeve(['shim', 'install', 'claude', '--dir', dir]);
  const [line = ''] = /export PATH=.*/.exec(stdout) ?? [];
  const path = execFileSync('/bin/sh', ['-c', `${line}; printf %s "$PATH"`], {
    encoding: 'utf8',
    env: { PATH: '/usr/bin' },
  });
  expect(path).toBe(`${dir}:/usr/bin`);
});
