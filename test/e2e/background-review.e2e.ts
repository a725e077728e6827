/**
 * The story that Reeve was begun for: a harness starts a review in the background, its session is taken over, and the
 * review goes on for half an hour and 1.69 million tokens about work that nobody looks at any more. Here it ends with
 * the take-over, spends nothing afterwards, and what it says later is refused, but not lost.
 */
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ChildView } from '../../src/api/session-view.ts';
import { openContext } from '../../src/supervisor/context.ts';
import { ledgerFor } from '../../src/supervisor/ledger.ts';
import { eventually, isAlive } from '../support/processes.ts';
import { installed } from './support/home/home.ts';
import { CLI, gate, HARNESSES, openStage } from './support/stage.ts';
import type { Stage } from './support/stage.ts';

/** More than it gets to do in any test. */
const ROUNDS = 100;

describe.each(HARNESSES)('%s', (_, name) => {
  let stage: Stage;

  beforeEach(async () => {
    stage = await openStage(name);
  });

  afterEach(() => stage.close());

  const asked = () => stage.model.requests.filter(({ prompt }) => prompt.includes('review of pr-7')).length;

  test('a background review ends with the take-over of the session that started it', async () => {
    const credentials = stage.path('credentials');
    // In a file, for opencode changes the quotes of a prompt.
    writeFileSync(
      stage.path('tell.sh'),
      `printf "%s %s" "$REEVE_RUN" "$REEVE_TOKEN" > ${credentials}.new; mv ${credentials}.new ${credentials}\n`,
    );
    const rounds = Array.from({ length: ROUNDS }, (_none, round) => `@@RUN echo ${round}@@`).join(' ');
    const [, ...review] = stage.command(`review of pr-7 @@RUN sh tell.sh@@ ${rounds} @@SAY reviewed@@`);
    const start = [process.execPath, CLI, 'child', 'run', '-d', '-s', 'review', '--subject', 'pr-7'];
    const words = [...start, '--revision', 'abc123', '--', installed('.bin', name), ...review]
      .map(quoted)
      .join(' ');
    writeFileSync(stage.path('review.sh'), `${words} > review.out 2>&1\n`);

    const held = gate(stage, 'held');
    const { run: old } = await stage.run(
      'worker',
      `@@RUN sh review.sh@@ @@RUN ${held.command}@@ @@SAY worked@@`,
    );
    await stage.model.waitForRequest(({ prompt, step }) => prompt.includes('review of pr-7') && step >= 3);
    await eventually('its credentials', () => statSync(credentials, { throwIfNoEntry: false }));
    const before = await stage.show('review');
    const processes = [stage.own(before.run.pid), stage.own(before.run.keeperPid)];
    expect(before.run.parent).toBe(old.id);

    await stage.json([
      'resume',
      'worker',
      '--detach',
      '--on-live',
      'retire',
      '--grace',
      '2',
      '-p',
      '@@SAY on@@',
    ]);
    const spent = asked();
    expect(processes.map(isAlive)).toEqual([false, false]);
    await stage.over('worker');
    expect(asked() - spent).toBe(0);
    const { children } = await stage.json<{ children: ChildView[] }>(['child', 'ls', 'worker']);
    expect(children).toMatchObject([
      {
        session: 'review',
        parent: old.id,
        subject: 'pr-7',
        revision: 'abc123',
        run: {
          outcome: 'cancelled',
          reason: `its parent, run ${old.id}, was superseded`,
        },
      },
    ]);

    const [REEVE_RUN = '', REEVE_TOKEN = ''] = readFileSync(credentials, 'utf8').split(' ');
    writeFileSync(stage.path('findings'), 'LGTM, of a commit that is gone\n');
    const late = await stage.reeve(['submit', '--data', stage.path('findings'), '--json'], {
      REEVE_RUN,
      REEVE_TOKEN,
    });
    expect(late).toMatchObject({ code: 5, stdout: expect.stringContaining('fenced') });
    expect(await stage.reeve(['heartbeat'], { REEVE_RUN, REEVE_TOKEN })).toMatchObject({ code: 5 });
    expect((await stage.reeve(['submit', 'ls', 'review', '--refused'])).stdout).toContain('has ended');

    const context = await openContext({ home: stage.reeveHome, environment: stage.env });
    try {
      await ledgerFor(context).round();
      const byRun = await context.store.usageOf({ by: 'run' });
      const ofReview = byRun.find(({ name: run }) => run === before.run.id);
      expect(ofReview?.output).toBeGreaterThan(0);
      expect(byRun.map(({ late: afterwards }) => afterwards)).toEqual(byRun.map(() => 0));
    } finally {
      await context.store.close();
    }
  });
});

function quoted(word: string): string {
  return `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
