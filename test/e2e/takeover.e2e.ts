/** Taking a session over from a run that is in the middle of a tool: the old one is gone before the new one begins. */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { SessionView } from '../../src/api/session-view.ts';
import { isAlive } from '../support/processes.ts';
import type { Seen } from '../support/processes.ts';
import { HARNESSES, openStage, sleepingTool } from './support/stage.ts';
import type { Stage } from './support/stage.ts';

describe.each(HARNESSES)('%s', (_, name) => {
  let stage: Stage;

  beforeEach(async () => {
    stage = await openStage(name);
  });

  afterEach(() => stage.close());

  test('the old tree is gone before the new process asks the model, and goes on with its turn', async () => {
    const tool = sleepingTool(stage);
    const first = `@@RUN ${tool.command}@@ @@SAY first@@`;
    const { run: old } = await stage.run('taken', first);
    const sleepers = await tool.asleep();
    const tree = [stage.own(old.pid), stage.own(old.keeperPid), ...sleepers];
    const watch = watchDeaths(tree);

    const takeover = ['resume', 'taken', '--detach', '--on-live', 'retire', '--grace', '2'];
    const started = await stage.json<SessionView>([...takeover, '-p', '@@SAY second@@']);
    const { startTime } = stage.own(started.run.pid);
    const asked = await stage.model.waitForRequest(({ prompt }) => prompt.includes('second'));
    const goneAt = await watch;
    console.log(name, {
      goneMs: asked.atMs - goneAt.ms,
      startAfterGoneMs: Number(startTime) * 10 - goneAt.uptimeMs,
    });
    expect(goneAt.ms).toBeLessThan(asked.atMs);

    const over = await stage.over('taken');
    expect(over.runs.map(({ id, outcome }) => ({ id, outcome }))).toEqual([
      { id: old.id, outcome: 'superseded' },
      { id: started.run.id, outcome: 'completed' },
    ]);
    expect(stage.promptsKnown()).toEqual([first, '@@SAY second@@']);
    expect(await stage.told('taken')).toContain(`${old.id} ended as superseded`);
  });
});

/** When it was first seen that none of them lives: by then, and perhaps a little earlier, they were all gone. */
async function watchDeaths(tree: readonly Seen[]): Promise<{ ms: number; uptimeMs: number }> {
  while (tree.some(isAlive)) await sleep(2);
  return { ms: Date.now(), uptimeMs: Number(readFileSync('/proc/uptime', 'utf8').split(' ')[0]) * 1000 };
}
