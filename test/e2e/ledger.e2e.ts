/** What the ledger says a real harness spent is what the model server handed out. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { SessionView } from '../../src/api/session-view.ts';
import type { Tokens } from '../../src/lifecycle/usage.ts';
import { openContext } from '../../src/supervisor/context.ts';
import type { Context } from '../../src/supervisor/context.ts';
import { ledgerFor } from '../../src/supervisor/ledger.ts';
import { eventually } from '../support/processes.ts';
import { USAGE } from './support/model/dialect.ts';
import { gate, HARNESSES, openStage } from './support/stage.ts';
import type { Stage } from './support/stage.ts';

describe.each(HARNESSES)('%s', (_, name) => {
  let stage: Stage;
  let context: Context;

  beforeEach(async () => {
    stage = await openStage(name);
    // As a daemon that was started elsewhere: what is live tells by itself where its files are.
    context = await openContext({ home: stage.reeveHome, environment: { HOME: '/nonexistent' } });
  });

  afterEach(async () => {
    await context.store.close();
    await stage.close();
  });

  const spent = async (by: 'run' | 'session' | 'model') =>
    (await context.store.usageOf({ by })).map(({ name: _name, ...tokens }) => tokens);

  test('the sum of a run, while it works and when it is over, and of the run that resumes it', async () => {
    const ledger = ledgerFor(context);
    const held = gate(stage, 'held');
    const { run } = await stage.run('whole', `@@RUN echo one@@ @@RUN ${held.command}@@ @@SAY done@@`);
    await stage.model.waitForEnd(({ isConversation, step }) => isConversation && step === 1);
    await stage.seenWorking();
    // The last answer may not be written down before its tool is done.
    await eventually('an answer in the ledger', async () => {
      expect((await ledger.round()).problems).toEqual([]);
      return (await spent('run')).length > 0;
    });
    held.open();
    await stage.over('whole');
    // Whoever looked that it is over has read it to its end, or this does.
    expect((await ledger.round()).problems).toEqual([]);
    expect(await spent('run')).toEqual([{ ...handedOut(stage), late: 0 }]);
    expect(answered(stage)).toBe(3);

    await stage.json(['resume', 'whole', '--detach', '-p', '@@SAY again@@']);
    await stage.over('whole');
    await ledger.round();
    expect(answered(stage)).toBe(4);
    expect(await spent('session')).toEqual([{ ...handedOut(stage), late: 0 }]);
    const byRun = await context.store.usageOf({ by: 'run' });
    expect(byRun.map(({ name: id, output }) => [id === run.id, output])).toEqual(
      expect.arrayContaining([
        [true, 3 * one(stage).output],
        [false, one(stage).output],
      ]),
    );
    expect(await ledger.round()).toMatchObject({ sessions: 0, bytes: 0 });
    const [{ session } = {}] = (await context.store.find('whole')).matches;
    expect((await context.store.usageTotals([session?.id ?? ''])).get(session?.id ?? '')).toEqual(
      handedOut(stage),
    );
  });
});

const SUBAGENTS = [
  [
    'claude',
    [],
    '@@TOOL Agent {"description":"look","prompt":"do it","subagent_type":"general-purpose"}@@ @@SAY done@@',
  ],
  [
    'codex',
    ['-c', 'features.multi_agent_v2=true'],
    '@@TOOL collaboration/spawn_agent {"message":"do it","task_name":"look"}@@ @@TOOL collaboration/wait_agent {}@@ @@SAY done@@',
  ],
] as const;

describe.each(SUBAGENTS)('a subagent of %s', (name, options, prompt) => {
  test('is spent by the run that started it', async () => {
    const stage = await openStage(name);
    const context = await openContext({ home: stage.reeveHome, environment: stage.env });
    try {
      const [program = '', ...args] = stage.command(prompt);
      const { run } = await stage.json<SessionView>([
        'run',
        '--detach',
        '-s',
        'parent',
        '--',
        program,
        ...options,
        ...args,
      ]);
      await stage.over('parent');
      await ledgerFor(context).round();
      const [{ session } = {}] = (await context.store.find('parent')).matches;
      expect(await context.store.usagePositions(session?.id ?? '')).toHaveLength(2);
      expect(await context.store.usageOf({ by: 'run' })).toEqual([
        { name: run.id, ...handedOut(stage), late: 0 },
      ]);
    } finally {
      await context.store.close();
      await stage.close();
    }
  });
});

function answered({ model }: Stage): number {
  return model.requests.filter(({ isConversation, end }) => isConversation && end === 'answered').length;
}

/** Anthropic's API tells no reasoning here, and Gemini's tells it beside the output. */
function one({ harness }: Stage): Tokens {
  const isGemini = harness.name === 'gemini';
  return {
    input: USAGE.freshInput,
    output: USAGE.output + (isGemini ? USAGE.reasoning : 0),
    cacheRead: USAGE.cachedInput,
    cacheWrite: 0,
    reasoning: harness.name === 'claude' ? 0 : USAGE.reasoning,
  };
}

function handedOut(stage: Stage): Tokens {
  const [count, each] = [answered(stage), one(stage)];
  return {
    input: count * each.input,
    output: count * each.output,
    cacheRead: count * each.cacheRead,
    cacheWrite: count * each.cacheWrite,
    reasoning: count * each.reasoning,
  };
}
