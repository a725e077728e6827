/** The deadline of a budget, which needs nothing of ours but the run's own keeper. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { expect } from 'vitest';
import type { SessionView } from '../../src/api/session-view.ts';
import { enforceBudgets } from '../../src/supervisor/budgets.ts';
import { openContext } from '../../src/supervisor/context.ts';
import { MISBEHAVE } from '../support/launch.ts';
import { eventually, isAlive, see, signalSeen } from '../support/processes.ts';
import type { Seen } from '../support/processes.ts';
import type { Sandbox } from '../support/sandbox.ts';
import { sideBySide, waiting } from '../support/side-by-side.ts';

/** Three seconds. */
const SHORT = '0.05';
const LONG = '60';

const start = (sandbox: Sandbox, ...args: string[]) =>
  sandbox.json<SessionView>(['run', '-d', '-s', 'a', ...args]);
/** The keeper's finaliser writes it; nobody is asked. */
const keeperGone = (keeper: Seen) => eventually('the keeper is done', () => !isAlive(keeper), 30_000);

sideBySide('a deadline', () => {
  waiting.for<[string, string[]]>([
    ['a plain command', ['sleep', '60']],
    ['one that does not listen', ['perl', MISBEHAVE, 'deaf', 'tag', 'hidden']],
    ['one that left its session', ['perl', MISBEHAVE, 'escaped', 'tag', 'hidden']],
  ])('ends %s, with nothing of ours there but its keeper', async ([, command], { sandbox }) => {
    const { run } = await start(sandbox, '--max-minutes', SHORT, '--', ...command);
    const [keeper, harness] = [see(run.keeperPid ?? 0), see(run.pid ?? 0)];
    // Its launcher has ended, and there is no daemon.
    await keeperGone(keeper);
    expect(isAlive(harness)).toBe(false);
    const { status, run: ended } = await sandbox.show('a');
    expect([status, ended.outcome]).toEqual(['over-budget', 'over_budget']);
    expect(ended.reason).toMatch(/^it was over the budget of its session of 3 s: \d+ s is spent$/);
  });

  waiting('is warned of by the keeper alone', async ({ sandbox }) => {
    mkdirSync(sandbox.path('.config/reeve'), { recursive: true });
    writeFileSync(sandbox.path('.config/reeve/config.toml'), '[budget]\nwarn_at = 0.01\n');
    await start(sandbox, '--max-minutes', '1', '--', 'sleep', '60');
    await eventually('it is warned', async () => {
      const { sentences } = await sandbox.json<{ sentences: { text: string }[] }>(['why', 'a']);
      return sentences.find(({ text }) => text.includes('It was warned'));
    });
    expect((await sandbox.show('a')).status).toBe('working');
  });

  waiting('ends a harness that was stopped', async ({ sandbox }) => {
    const { run } = await start(sandbox, '--max-minutes', SHORT, '--', 'sleep', '60');
    const harness = see(run.pid ?? 0);
    signalSeen(harness, 'SIGSTOP');
    await keeperGone(see(run.keeperPid ?? 0));
    expect([isAlive(harness), (await sandbox.show('a')).run.outcome]).toEqual([false, 'over_budget']);
  });

  waiting('ends a foreground run whose launcher was killed', async ({ sandbox }) => {
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

  waiting(
    'gives a foreground run exit code 8, whatever the command made of being asked to end',
    async ({ sandbox }) => {
      const command = ['sh', '-c', 'trap "exit 0" TERM; while :; do sleep 0.1; done'];
      const ran = await sandbox.reeve(['run', '-s', 'a', '--max-minutes', SHORT, '--', ...command]);
      expect(ran.code).toBe(8);
      expect(ran.stderr).toContain('ended as over_budget: it was over the budget of its session');
    },
  );

  waiting('ends a run in tmux', async ({ sandbox }) => {
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

  waiting('that is set for a run that had none is kept all the same', async ({ sandbox }) => {
    const { run } = await start(sandbox, '--', 'sleep', '60');
    expect((await sandbox.reeve(['budget', 'set', 'a', '--max-minutes', SHORT])).code).toBe(0);
    await keeperGone(see(run.keeperPid ?? 0));
    expect((await sandbox.show('a')).run.outcome).toBe('over_budget');
  });

  waiting('that was not reached changes nothing about the end', async ({ sandbox }) => {
    await sandbox.reeve(['run', '-s', 'a', '--max-minutes', LONG, '--', 'sh', '-c', 'exit 3']);
    expect((await sandbox.show('a')).run).toMatchObject({ outcome: 'failed', exitCode: 3 });
  });
});

sideBySide.each(['watch.begun', 'budget.judged', 'retire.intended', 'retire.tree_gone'])(
  'a watcher killed at %s',
  (name) => {
    waiting('leaves a run that whoever looks next ends as over its budget, once', async ({ sandbox }) => {
      const file = sandbox.path('hold');
      // Held there, so that it is certain where it dies; its keeper gets the same environment.
      sandbox.env['REEVE_CHECKPOINT'] = `${name}=wait:${file}`;
      // Deaf, and so still there when the tree is gone and its keeper is stopped below.
      const { run } = await start(
        sandbox,
        '--max-minutes',
        SHORT,
        '--',
        'perl',
        MISBEHAVE,
        'deaf',
        'tag',
        'hidden',
      );
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
