/** Budgets on the command line; and the deadline, which needs nothing of ours but the run's own keeper. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SessionBudgets } from '../../src/api/http-views.ts';
import type { SessionView } from '../../src/api/session-view.ts';
import { enforceBudgets } from '../../src/supervisor/budgets.ts';
import { openContext } from '../../src/supervisor/context.ts';
import { MISBEHAVE } from '../support/launch.ts';
import { eventually, isAlive, see, signalSeen } from '../support/processes.ts';
import type { Seen } from '../support/processes.ts';
import { createSandbox, finished } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

let sandbox: Sandbox;
beforeEach(() => {
  sandbox = createSandbox();
});
afterEach(() => sandbox.cleanUp());

/** Three seconds. */
const SHORT = '0.05';
const LONG = '60';

const start = (...args: string[]) => sandbox.json<SessionView>(['run', '-d', '-s', 'a', ...args]);
const budgets = async (name: string) => (await sandbox.json<SessionBudgets[]>(['budget', name]))[0];
/** The keeper's finaliser writes it; nobody is asked. */
const keeperGone = (keeper: Seen) => eventually('the keeper is done', () => !isAlive(keeper), 30_000);
const told = async (name: string) =>
  (await sandbox.json<{ sentences: { text: string }[] }>(['why', name])).sentences.map(({ text }) => text);

describe('a deadline', () => {
  it.each([
    ['a plain command', ['sleep', '60']],
    ['one that does not listen', ['perl', MISBEHAVE, 'deaf', 'tag', 'hidden']],
    ['one that left its session', ['perl', MISBEHAVE, 'escaped', 'tag', 'hidden']],
  ])('ends %s, with nothing of ours there but its keeper', async (_, command) => {
    const { run } = await start('--max-minutes', SHORT, '--', ...command);
    const [keeper, harness] = [see(run.keeperPid ?? 0), see(run.pid ?? 0)];
    // Its launcher has ended, and there is no daemon.
    await keeperGone(keeper);
    expect(isAlive(harness)).toBe(false);
    const { status, run: ended } = await sandbox.show('a');
    expect([status, ended.outcome]).toEqual(['over-budget', 'over_budget']);
    expect(ended.reason).toMatch(/^it was over the budget of its session of 3 s: \d+ s is spent$/);
  });

  it('is warned of by the keeper alone', async () => {
    mkdirSync(sandbox.path('.config/reeve'), { recursive: true });
    writeFileSync(sandbox.path('.config/reeve/config.toml'), '[budget]\nwarn_at = 0.01\n');
    await start('--max-minutes', '1', '--', 'sleep', '60');
    await eventually('it is warned', async () =>
      (await told('a')).find((text) => text.includes('It was warned')),
    );
    expect((await sandbox.show('a')).status).toBe('working');
  });

  it('ends a harness that was stopped', async () => {
    const { run } = await start('--max-minutes', SHORT, '--', 'sleep', '60');
    const harness = see(run.pid ?? 0);
    signalSeen(harness, 'SIGSTOP');
    await keeperGone(see(run.keeperPid ?? 0));
    expect([isAlive(harness), (await sandbox.show('a')).run.outcome]).toEqual([false, 'over_budget']);
  });

  it('ends a foreground run whose launcher was killed', async () => {
    const launcher = sandbox.start(['run', '-s', 'a', '--max-minutes', SHORT, '--', 'sleep', '60']);
    const { run } = await eventually('it executes', async () => {
      const [session] = await sandbox.list();
      return session?.run.pid !== null && session;
    });
    const keeper = see(run.keeperPid ?? 0);
    launcher.kill('SIGKILL');
    await keeperGone(keeper);
    expect((await sandbox.show('a')).run.outcome).toBe('over_budget');
  });

  it('gives a foreground run exit code 8, whatever the command made of being asked to end', async () => {
    const command = ['sh', '-c', 'trap "exit 0" TERM; while :; do sleep 0.1; done'];
    const ran = await sandbox.reeve(['run', '-s', 'a', '--max-minutes', SHORT, '--', ...command]);
    expect(ran.code).toBe(8);
    expect(ran.stderr).toContain('ended as over_budget: it was over the budget of its session');
  });

  it('ends a run in tmux', async () => {
    const { run } = await sandbox.json<SessionView>([
      'run',
      '-d',
      '-t',
      '-s',
      'a',
      '--max-minutes',
      SHORT,
      '--',
      'sleep',
      '60',
    ]);
    await keeperGone(see(run.keeperPid ?? 0));
    expect((await sandbox.show('a')).run.outcome).toBe('over_budget');
  });

  it('that is set for a run that had none is kept all the same', async () => {
    const { run } = await start('--', 'sleep', '60');
    expect((await sandbox.reeve(['budget', 'set', 'a', '--max-minutes', SHORT])).code).toBe(0);
    await keeperGone(see(run.keeperPid ?? 0));
    expect((await sandbox.show('a')).run.outcome).toBe('over_budget');
  });

  it('that was not reached changes nothing about the end', async () => {
    await sandbox.reeve(['run', '-s', 'a', '--max-minutes', LONG, '--', 'sh', '-c', 'exit 3']);
    expect((await sandbox.show('a')).run).toMatchObject({ outcome: 'failed', exitCode: 3 });
  });
});

describe.each(['watch.begun', 'budget.judged', 'retire.intended', 'retire.tree_gone'])(
  'a watcher killed at %s',
  (name) => {
    it('leaves a run that whoever looks next ends as over its budget, once', async () => {
      const file = sandbox.path('hold');
      // Held there, so that it is certain where it dies; its keeper gets the same environment.
      sandbox.env['REEVE_CHECKPOINT'] = `${name}=wait:${file}`;
      // Deaf, and so still there when the tree is gone and its keeper is stopped below.
      const { run } = await start('--max-minutes', SHORT, '--', 'perl', MISBEHAVE, 'deaf', 'tag', 'hidden');
      const keeper = see(run.keeperPid ?? 0);
      delete sandbox.env['REEVE_CHECKPOINT'];
      // Else it would end the watcher as soon as its harness is gone, before the last of these steps.
      if (name === 'retire.tree_gone') {
        await eventually('it looks', () => watcherOf(keeper, run.pid));
        signalSeen(keeper, 'SIGSTOP');
      }
      await eventually('it is there', () => existsSync(`${file}.reached`), 30_000);
      const watcher = watcherOf(keeper, run.pid);
      if (watcher !== null) signalSeen(watcher, 'SIGKILL');
      signalSeen(keeper, 'SIGCONT');
      const context = await openContext({ environment: sandbox.env });
      try {
        // Of two who look at once, neither spoils what the other does.
        await eventually('it is ended', async () => {
          await Promise.all([enforceBudgets(context), enforceBudgets(context)]);
          return (await context.store.run(run.id))?.state === 'ended';
        });
        const { session } = (await context.store.find('a')).matches[0] ?? {};
        const kinds = (await context.store.eventsOf(session?.id ?? '')).map(({ kind }) => kind);
        expect(kinds.filter((kind) => kind === 'run.intended' || kind === 'run.ended')).toEqual([
          'run.intended',
          'run.ended',
        ]);
      } finally {
        await context.store.close();
      }
      expect((await sandbox.show('a')).run.outcome).toBe('over_budget');
    });
  },
);

/** The child of the keeper that is not its harness. */
function watcherOf(keeper: Seen, harness: number | null): Seen | null {
  const children = readFileSync(`/proc/${keeper.pid}/task/${keeper.pid}/children`, 'latin1')
    .split(' ')
    .filter(Boolean)
    .map(Number);
  const pid = children.find(
    (each) => each !== harness && readFileSync(`/proc/${each}/cmdline`, 'latin1').includes('watcher.cjs'),
  );
  return pid === undefined ? null : see(pid);
}

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
