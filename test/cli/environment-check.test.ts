/** Variables that Reeve does not understand: an error of every verb that depends on them, exit 2. */
import { existsSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Check } from '../../src/supervisor/doctor.ts';
import { createSandbox } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

let sandbox: Sandbox;
beforeEach(() => {
  sandbox = createSandbox();
});
afterEach(() => sandbox.cleanUp());

describe('a REEVE_STORE that is no PostgreSQL', () => {
  const env = { REEVE_STORE: 'mysql://ada@db/reeve' };
  it.each([
    [['run', '--', 'true']],
    [['ls']],
    [['stop', 'a']],
    [['usage']],
    [['review', 'ls']],
    [['paths']],
    [['serve', '--detach']],
    [['serve']],
    [['open', '--print']],
    [['top', '--json']],
    [['uninstall']],
    [['doctor']],
  ])('%j is refused', async (args) => {
    const { code, stdout, stderr } = await sandbox.reeve(args, { env });
    expect(code).toBe(2);
    expect(stdout + stderr).toContain('REEVE_STORE is not a PostgreSQL address');
    expect(existsSync(`${sandbox.home}/reeve.db`)).toBe(false);
  });
});

describe('a REEVE_CONTAINMENT that there is not', () => {
  const env = { REEVE_CONTAINMENT: 'bogus' };
  it.each([
    [['run', '--', 'true']],
    [['serve', '--detach']],
    [['serve']],
    [['open', '--print']],
    [['doctor']],
  ])('%j is refused', async (args) => {
    const { code, stdout, stderr } = await sandbox.reeve(args, { env });
    expect(code).toBe(2);
    expect(stdout + stderr).toContain('REEVE_CONTAINMENT cannot be "bogus"');
  });
});

it('a configuration with an unknown key is what it is called elsewhere, also to doctor', async () => {
  const { code, stdout } = await sandbox.reeve(['doctor', '--json'], { env: { REEVE_CONFIG: '/nowhere' } });
  expect(code).toBe(2);
  expect((JSON.parse(stdout) as Check[]).find(({ name }) => name === 'config')).toMatchObject({
    is: 'bad',
    code: 'bad_config',
  });
});

it.each(['REEVE_HOME', 'XDG_STATE_HOME', 'XDG_CONFIG_HOME'])(
  'a relative %s is what doctor finds bad, once, and nothing else',
  async (name) => {
    const { code, stdout } = await sandbox.reeve(['doctor', '--json'], { env: { [name]: 'rel' } });
    expect(code).toBe(2);
    const told = (JSON.parse(stdout) as Check[]).filter(({ says }) => says.includes(`${name} is "rel"`));
    expect(told.map(({ is, name: of }) => [is, of])).toEqual([
      ['bad', name === 'XDG_CONFIG_HOME' ? 'config' : 'store'],
    ]);
  },
);
