/** What of a harness's own command line makes no session. */
import { describe, expect, it } from 'vitest';
import { ADMINISTRATION } from '../../src/harness/administration.ts';
import { adapterNamed } from '../../src/harness/adapters.ts';
import { SHIM_NAMES } from '../../src/harness/shim.ts';

const isAdministration = async (...argv: readonly string[]) =>
  (await adapterNamed(argv[0] ?? '')).readInvocation(argv).isAdministration === true;

describe.each(SHIM_NAMES)('of %s', (name) => {
  it.each(ADMINISTRATION[name])('%s manages or prints something', async (word) => {
    expect(await isAdministration(name, word)).toBe(true);
    expect(await isAdministration(name, word, 'list')).toBe(true);
  });

  it.each(['--version', '--help'])('%s tells something', async (flag) => {
    expect(await isAdministration(name, flag)).toBe(true);
  });

  it('a prompt, no word at all, and a word that nobody knows are conversations', async () => {
    expect(await isAdministration(name)).toBe(false);
    expect(await isAdministration(name, 'fix the login test')).toBe(false);
    expect(await isAdministration(name, 'frobnicate')).toBe(false);
  });
});

it.each([
  ['claude', 'mcp', 'serve'],
  ['claude', 'remote-control'],
  ['claude', 'agents'],
  ['claude', '--cloud'],
  ['codex', 'app-server'],
  ['codex', 'mcp-server'],
  ['opencode', 'serve'],
  ['opencode', 'acp'],
  ['opencode', 'run', '--attach', 'http://127.0.0.1:1', 'mcp'],
])('what serves others is none: %s %s %s', async (...argv) => {
  expect(await isAdministration(...argv)).toBe(false);
});

it.each([
  ['claude', '-p', 'update'],
  ['claude', 'mcp', '--print'],
  ['codex', 'exec', 'login'],
  ['gemini', '-p', 'mcp'],
  ['opencode', 'run', 'auth'],
])('a prompt that is a subcommand’s name is a prompt: %s %s %s', async (...argv) => {
  expect(await isAdministration(...argv)).toBe(false);
});

it('is seen behind options and launchers', async () => {
  expect(await isAdministration('claude', '--model', 'opus', 'doctor')).toBe(true);
  const argv = ['env', 'A=1', 'claude', 'mcp', 'list'];
  expect((await adapterNamed('claude')).readInvocation(argv).isAdministration).toBe(true);
});
