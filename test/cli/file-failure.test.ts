/** An error of the file system that nobody foresaw is told as a sentence: what, where, why, and what next. */
import { chmodSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { asFileFailure } from '../../src/cli/file-failure.ts';
import { failing } from '../support/failing-reads.ts';
import { createSandbox } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

let sandbox: Sandbox;
beforeEach(() => {
  sandbox = createSandbox();
});
afterEach(() => sandbox.cleanUp());

function thrownBy(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
}

describe('an error', () => {
  it.each([
    ['stat', () => statSync('/no/such'), 'looked at'],
    ['scandir', () => readdirSync('/no/such'), 'listed'],
    ['mkdir', () => mkdirSync('/no/such'), 'created'],
    ['rename', () => renameSync('/no/such', '/no/other'), 'renamed'],
    ['rm', () => rmSync('/no/such'), 'looked at'],
    ['chmod', () => chmodSync('/no/such', 0o600), 'changed'],
  ])('of %s has its code, path, reason and a hint', (_, work, done) => {
    const known = asFileFailure(thrownBy(work));
    expect(known).toMatchObject({
      code: 'file_unavailable',
      details: { path: '/no/such', reason: 'ENOENT' },
      hint: expect.stringContaining('Try again'),
    });
    expect(known?.message).toBe(`/no/such could not be ${done}: no such file or directory.`);
  });

  it('that is about no file is left to others', async () => {
    expect(asFileFailure(new Error('ENOENT: no such file'))).toBeNull();
    expect(asFileFailure(spawnSync('/no/such').error)).toBeNull();
    expect(asFileFailure(thrownBy(() => process.kill(process.pid, 12_345)))).toBeNull();
    const refused = await new Promise((resolve) => connect('/no/such').once('error', resolve));
    expect(asFileFailure(refused)).toBeNull();
  });
});

it('a command whose store is removed while it opens it says so, as a sentence and as JSON', async () => {
  await sandbox.reeve(['ls']);
  const path = join(sandbox.home, 'reeve.db');
  const fault = failing({ call: 'statSync', path, code: 'ENOENT' });
  const { error } = JSON.parse((await sandbox.reeve(['ls', '--json'], fault)).stdout) as {
    error: { code: string; details: unknown };
  };
  expect([error.code, error.details]).toMatchObject(['file_unavailable', { path, reason: 'ENOENT' }]);
  const said = await sandbox.reeve(['ls'], fault);
  expect([said.code, said.stdout]).toEqual([1, '']);
  expect(said.stderr).toContain(`${path} could not be`);
  expect(said.stderr).toContain('Try again');
});
