/** Budgets on the command line. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SessionBudgets } from '../../src/api/http-views.ts';
import type { SessionView } from '../../src/api/session-view.ts';
import { eventually } from '../support/processes.ts';
import { createSandbox, finished } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

let sandbox: Sandbox;
beforeEach(() => {
  sandbox = createSandbox();
});
afterEach(() => sandbox.cleanUp());

const LONG = '60';

const start = (...args: string[]) => sandbox.json<SessionView>(['run', '-d', '-s', 'a', ...args]);
const budgets = async (name: string) => (await sandbox.json<SessionBudgets[]>(['budget', name]))[0];
const told = async (name: string) =>
  (await sandbox.json<{ sentences: { text: string }[] }>(['why', name])).sentences.map(({ text }) => text);

describe('budget', () => {
  it('shows what is spent of what, in JSON and with a bar', async () => {
    await start('--max-tokens', '2M', '--max-cost', '5.50', '--on-budget', 'ask', '--', 'sleep', '60');
    const shown = {
      scope: 'session',
      spent: 0,
      fraction: 0,
      state: 'within',
      onExceeded: 'ask',
      unpriced: [],
    };
    const { id } = await sandbox.show('a');
    expect(await budgets('a')).toEqual({
      session: 'a',
      id,
      live: true,
      onExceeded: 'ask',
      ownTokens: 0,
      budgets: [
        { ...shown, kind: 'tokens', limit: 2_000_000, holder: id },
        { ...shown, kind: 'cost', limit: 5.5, currency: 'USD', holder: id },
      ],
    });
    expect((await sandbox.reeve(['budget'])).stdout).toContain('░  0%  0 tokens of 2.0M tokens'.slice(1));
    expect((await sandbox.reeve(['show', 'a'])).stdout).toContain('0 tokens of 2.0M tokens (session)');
  });

  it('of money is in the currency of the prices', async () => {
    mkdirSync(sandbox.path('.config/reeve'), { recursive: true });
    writeFileSync(sandbox.path('.config/reeve/config.toml'), '[prices]\ncurrency = "EUR"\n');
    await start('--max-cost', '5.50', '--', 'sleep', '60');
    expect((await budgets('a'))?.budgets).toMatchObject([{ kind: 'cost', currency: 'EUR' }]);
    expect((await sandbox.reeve(['budget'])).stdout).toContain('€0.00 of €5.50');
    const { stdout } = await sandbox.reeve(['show', 'a']);
    expect(stdout).toContain('€0.00 of €5.50 (session)');
    expect((await told('a')).join()).toContain('set its budget: €5.50.');
    expect(stdout).not.toContain('$');
  });

  it('is kept by a resume, replaced in what that gives, and lifted', async () => {
    await start('--max-tokens', '500k', '--', 'true');
    await eventually('it is over', async () => (await sandbox.show('a')).run.state === 'ended');
    const limits = async () => (await budgets('a'))?.budgets.map(({ kind, limit }) => `${kind} ${limit}`);
    await sandbox.json(['resume', '-d', 'a', '--max-minutes', LONG]);
    expect((await limits())?.toSorted()).toEqual(['minutes 60', 'tokens 500000']);
    expect((await sandbox.reeve(['budget', 'set', 'a', '--none', '--max-tokens', '1_000'])).code).toBe(0);
    expect(await limits()).toEqual(['tokens 1000']);
    expect((await sandbox.reeve(['budget', 'set', 'a', '--none'])).stdout).toContain('no budget');
    expect(await told('a')).toEqual(
      expect.arrayContaining([
        expect.stringContaining('set its budget: 500.0k tokens.'),
        expect.stringContaining('lifted its budget.'),
      ]),
    );
  });

  it.each([
    ['--max-tokens', '0'],
    ['--max-tokens', '1.5'],
    ['--max-tokens', '2G'],
    ['--max-tokens', ''],
    ['--max-cost', '-1'],
    ['--max-minutes', 'x'],
    ['--on-budget', 'kill'],
  ])('refuses %s %s', async (flag, value) => {
    const { code, stderr } = await sandbox.reeve(['run', flag, value, '--', 'true']);
    expect([code, stderr.includes(`${flag} cannot be`)]).toEqual([2, true]);
  });

  it('set needs something to set', async () => {
    await start('--', 'sleep', '60');
    expect((await sandbox.reeve(['budget', 'set', 'a'])).code).toBe(2);
    expect((await sandbox.reeve(['budget', 'set', 'nobody', '--none'])).code).toBe(3);
  });

  it('of nothing says so', async () => {
    const { stdout } = await finished(sandbox.start(['budget']));
    expect(stdout).toContain('No budget is set');
  });
});
