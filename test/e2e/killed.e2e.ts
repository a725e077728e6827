/** A harness, or its keeper, killed in the middle of a tool: nothing of it is left, and its end is told as it was. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { eventually, isAlive, signalSeen } from '../support/processes.ts';
import { HARNESSES, openStage, sleepingTool } from './support/stage.ts';
import type { Stage } from './support/stage.ts';

describe.each(HARNESSES)('%s', (_, name) => {
  let stage: Stage;

  beforeEach(async () => {
    stage = await openStage(name);
  });

  afterEach(() => stage.close());

  const startTool = async () => {
    const tool = sleepingTool(stage);
    const { run } = await stage.run('killed', `@@RUN ${tool.command}@@`);
    const sleepers = await tool.asleep();
    return { run, sleepers, harness: stage.own(run.pid), keeper: stage.own(run.keeperPid) };
  };

  test('the harness killed in the middle of a tool has failed by SIGKILL, and the tool is gone', async () => {
    const { run, sleepers, harness } = await startTool();
    signalSeen(harness, 'SIGKILL');
    const ended = await stage.over('killed');
    expect([harness, ...sleepers].filter(isAlive)).toEqual([]);
    expect(ended).toMatchObject({
      status: 'failed',
      run: { id: run.id, outcome: 'failed', exitCode: null, signal: 'SIGKILL' },
    });
    expect(await stage.told('killed')).toContain(`${run.id} ended as failed, signal SIGKILL`);
    await eventually('nothing executes any more', () => stage.running().length === 0);
  });

  test('a run that is stopped in the middle of a tool ends at once and with all it started', async () => {
    const { run, sleepers, harness } = await startTool();
    await stage.json(['stop', 'killed', '--grace', '30']);
    expect([harness, ...sleepers].filter(isAlive)).toEqual([]);
    const ended = await stage.show('killed');
    expect(ended).toMatchObject({ status: 'stopped', run: { id: run.id, outcome: 'stopped' } });
    // Asked as it likes to be, so that nothing had to be killed.
    expect(await stage.told('killed')).not.toContain('killed with SIGKILL');
    if (name === 'codex') expect(transcriptOf(stage)).toContain('"turn_aborted"');
  });

  test('a run whose keeper was killed is lost, and harness and tool are gone', async () => {
    const { run, sleepers, harness, keeper } = await startTool();
    signalSeen(keeper, 'SIGKILL');
    await eventually('the keeper is dead', () => !isAlive(keeper));
    const ended = await stage.show('killed');
    expect([harness, ...sleepers].filter(isAlive)).toEqual([]);
    expect(ended).toMatchObject({
      status: 'lost',
      run: { id: run.id, state: 'ended', outcome: 'lost', exitCode: null, signal: null },
    });
    expect(await stage.told('killed')).toContain(`${run.id} ended as lost`);
    await eventually('nothing executes any more', () => stage.running().length === 0);
  });
});

/** The one thread that this home has. */
function transcriptOf({ harness }: Stage): string {
  const directory = join(harness.home, '.codex', 'sessions');
  const paths = readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter((path) =>
    path.endsWith('.jsonl'),
  );
  return paths.map((path) => readFileSync(join(directory, path), 'utf8')).join('');
}
