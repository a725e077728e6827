/** A configuration with a mistake in it stops what depends on it, before anything is done. */
import { mkdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createSandbox } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

let sandbox: Sandbox;
let file: string;
beforeEach(() => {
  sandbox = createSandbox();
  file = sandbox.path('.config/reeve/config.toml');
  mkdirSync(dirname(file), { recursive: true });
});
afterEach(() => sandbox.cleanUp());

interface Failure {
  readonly error: { readonly code: string; readonly details: { readonly key: string } };
}

const start = ['run', '--detach', '--session', 'web', '--', 'sleep', '600'];
const refusal = async (words: readonly string[]) => {
  const { error } = await sandbox.json<Failure>(words, 2);
  return [error.code, error.details.key];
};

it('a misspelt table is told at a start, an adoption and by doctor, and nothing is started', async () => {
  writeFileSync(file, '[buget]\nrun = { tokens = 1000 }\n');
  expect(await refusal(start)).toEqual(['bad_config', 'buget']);
  expect(await sandbox.json(['ls', '--all'])).toEqual([]);
  const checks = await sandbox.json<readonly { name: string; is: string; says: string }[]>(['doctor'], 2);
  const config = checks.find(({ name }) => name === 'config');
  expect([config?.is, config?.says.includes('buget')]).toEqual(['bad', true]);
});

it('an edit takes effect with the next start, also of a file that was found in order before', async () => {
  writeFileSync(file, '[notify]\nbell = false\n');
  // So long ago that it is remembered as in order; the time of its inode cannot be set, so that is waited for.
  utimesSync(file, 1, 1);
  await sleep(2_100);
  await sandbox.json(start);
  await sandbox.json(['kill', 'web']);
  // As long as before.
  writeFileSync(file, '[notifi]\nbell = false\n');
  utimesSync(file, 1, 1);
  expect(await refusal(start)).toEqual(['bad_config', 'notifi']);
  writeFileSync(file, '[budget]\nday = { tokens = 1 }\n');
  const started = await sandbox.json<{ id: string }>(start);
  expect(await sandbox.json<readonly object[]>(['budget', started.id])).toMatchObject([
    { budgets: [{ scope: 'day', limit: 1 }] },
  ]);
  await sandbox.json(['kill', 'web']);
});

it('a file that somebody has meant, but that cannot be found, is not none: nothing starts without its limits', async () => {
  const told = async (env: Record<string, string> = {}) => {
    const { code, stdout, stderr } = await sandbox.reeve(start, { env });
    return [code, stdout, stderr.split('\n')[0]];
  };
  symlinkSync(sandbox.path('none'), file);
  expect(await told()).toEqual([2, '', expect.stringContaining('is a link to what is not there')]);
  rmSync(dirname(file), { recursive: true });
  writeFileSync(dirname(file), '');
  expect(await told()).toEqual([2, '', expect.stringContaining('is not a directory')]);
  rmSync(dirname(file));
  for (const name of ['XDG_CONFIG_HOME', 'XDG_STATE_HOME', 'REEVE_HOME'])
    expect(await told({ [name]: 'rel' })).toEqual([2, '', `reeve: ${name} is "rel", a relative path.`]);
  expect(await sandbox.json(['ls', '--all'])).toEqual([]);
});

it('is none of the demo’s', async () => {
  writeFileSync(file, '[buget]\n');
  expect((await sandbox.json<{ held: boolean }>(['demo'])).held).toBe(true);
});
