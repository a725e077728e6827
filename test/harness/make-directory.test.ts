/** Directories where a person or a request wants them, also where none can be. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { makeDirectory } from '../../src/harness/make-directory.ts';
import { openDaemon, told } from '../daemon/support.ts';
import type { Failure } from '../daemon/support.ts';
import { CLI, createSandbox } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

/** Its file system denies with ENOENT, by which Node's own recursive mkdir never returns. */
const NOWHERE = '/proc/nope';

describe('a directory', () => {
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'reeve-directory-'));
  });
  afterEach(() => rmSync(root, { recursive: true }));
  const at = (path: string) => join(root, path);
  const codeAt = (path: string) => {
    try {
      makeDirectory(path);
      return null;
    } catch (error) {
      return error instanceof Error && 'code' in error ? error.code : 'no code';
    }
  };

  it('is made with its parents, with the mode that was asked for, and left when it is there', () => {
    makeDirectory(at('a/b/c'), 0o700);
    expect(['a', 'a/b', 'a/b/c'].map((path) => statSync(at(path)).mode & 0o777)).toEqual([
      0o700, 0o700, 0o700,
    ]);
    symlinkSync('a', at('link'));
    expect([codeAt(at('a/b/c')), codeAt(at('link')), codeAt(at('link/b/d')), codeAt('/')]).toEqual([
      null,
      null,
      null,
      null,
    ]);
    expect(statSync(at('a/b/d')).isDirectory()).toBe(true);
  });

  it('that cannot be is refused as the kernel does', () => {
    writeFileSync(at('file'), '');
    symlinkSync('nowhere', at('dangling'));
    expect([codeAt(at('file')), codeAt(at('file/in/it')), codeAt(at('dangling/in/it'))]).toEqual([
      'EEXIST',
      'ENOTDIR',
      'ENOENT',
    ]);
    expect([null, 'no code']).not.toContain(codeAt(join(NOWHERE, 'below')));
  });
});

describe('where nothing can be created', () => {
  let sandbox: Sandbox;
  beforeEach(() => {
    sandbox = createSandbox();
  });
  afterEach(() => sandbox.cleanUp());

  it.each([
    ['shims', ['shim', 'install', 'claude', '--dir', NOWHERE], {}],
    ['shims further below', ['shim', 'install', 'claude', '--dir', `${NOWHERE}/x/y`], {}],
    ['hooks', ['hooks', 'install', 'claude'], { CLAUDE_CONFIG_DIR: NOWHERE }],
    ['a state directory', ['ls'], { REEVE_HOME: `${NOWHERE}/x` }],
  ])('a command that is to make %s there is refused, and ends', (_, words, more) => {
    const env = { ...sandbox.env, ...more };
    const { status, stdout } = spawnSync(process.execPath, [CLI, ...words, '--json'], {
      env,
      encoding: 'utf8',
      timeout: 20_000,
    });
    expect(status).toBe(1);
    expect(['bad_settings', 'state_directory']).toContain((JSON.parse(stdout) as Failure).error.code);
  });

  it('a daemon that is asked for shims refuses, and goes on', async () => {
    const daemon = await openDaemon(sandbox);
    const body = { harnesses: ['claude'], dir: `${NOWHERE}/x` };
    expect(told(await daemon.ask('POST', '/v1/shim/install', { body }))).toBe('422 bad_settings');
    expect(told(await daemon.ask('GET', '/v1/sessions'))).toBe('200 ok');
    await daemon.stop();
  });
});
