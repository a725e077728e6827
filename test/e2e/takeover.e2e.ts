/** Taking a session over from a run that is in the middle of a tool: the old one is gone before the new one begins. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { RunView, SessionView } from '../../src/api/session-view.ts';
import { isAlive } from '../support/processes.ts';
import type { Seen } from '../support/processes.ts';
import type { ModelRequest } from './support/model-server.ts';
import { CLI, HARNESSES, openStage, sleepingTool, wordsOfProcess } from './support/stage.ts';
import type { Stage } from './support/stage.ts';

describe.each(HARNESSES)('%s', (_, name) => {
  let stage: Stage;

  beforeEach(async () => {
    stage = await openStage(name);
  });

  afterEach(() => stage.close());

  test('the old tree is gone before the new process begins, which goes on with its conversation', async () => {
    const tool = sleepingTool(stage);
    const first = `@@RUN ${tool.command}@@ @@SAY first@@`;
    const second = '@@SAY second@@';
    const { run: old } = await stage.run('taken', first);
    const sleepers = await tool.asleep();
    const tree = [stage.own(old.pid), stage.own(old.keeperPid), ...sleepers];
    const watch = new AbortController();
    const change = watchChange(stage, tree, second, watch.signal);
    let run: RunView;
    let asked: ModelRequest;
    try {
      const takeover = ['resume', 'taken', '--detach', '--on-live', 'retire', '--grace', '2'];
      ({ run } = await stage.json<SessionView>([...takeover, '-p', second]));
      asked = await stage.model.waitForRequest(({ prompt }) => prompt.includes(second));
    } finally {
      watch.abort();
    }
    const { goneAtMs, hasBegun, both } = await change;
    // Without a sight of the new one, none beside it would mean nothing.
    expect({ hasBegun, both }).toEqual({ hasBegun: true, both: [] });
    expect(goneAtMs).toBeLessThan(asked.atMs);

    const over = await stage.over('taken');
    expect(over.runs.map(({ id, outcome }) => ({ id, outcome }))).toEqual([
      { id: old.id, outcome: 'superseded' },
      { id: run.id, outcome: 'completed' },
    ]);
    expect(stage.promptsKnown()).toEqual([first, second]);
    expect(await stage.told('taken')).toContain(`${old.id} ended as superseded`);
  });
});

interface Change {
  /** When none of the old ones was seen any more; they were gone by then, perhaps a little earlier. */
  readonly goneAtMs: number;
  readonly hasBegun: boolean;
  /** Old ones that were alive when a new one already was. */
  readonly both: readonly Seen[];
}

/** Looks until the old tree is gone and a harness with the new prompt is there, at the latest when it has asked. */
async function watchChange(
  stage: Stage,
  old: readonly Seen[],
  prompt: string,
  asked: AbortSignal,
): Promise<Change> {
  let goneAtMs = Infinity;
  const both: Seen[] = [];
  for (;;) {
    // In this order: an old one that lives after a new one was seen has lived beside it.
    const hasBegun = stage.running().some(({ pid }) => isHarnessWith(prompt, wordsOfProcess(pid)));
    const living = old.filter(isAlive);
    if (living.length === 0) goneAtMs = Math.min(goneAtMs, Date.now());
    if (hasBegun) both.push(...living);
    if (asked.aborted || (hasBegun && living.length === 0)) return { goneAtMs, hasBegun, both };
    await sleep(5);
  }
}

function isHarnessWith(prompt: string, words: readonly string[]): boolean {
  return words.some((word) => word.includes(prompt)) && !words.includes(CLI);
}
