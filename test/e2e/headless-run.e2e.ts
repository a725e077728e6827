/** One prompt to the end, under Reeve: which conversation it was, what it did, how it ended. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { SessionView } from '../../src/api/session-view.ts';
import type { HarnessName } from './support/harness-home.ts';
import { gate, HARNESSES, nativeIdIn, openStage } from './support/stage.ts';
import type { Stage } from './support/stage.ts';

/** How each ends when the model's API refuses with 400. */
const EXIT_ON_REFUSAL: Readonly<Record<HarnessName, number>> = {
  claude: 1,
  codex: 1,
  gemini: 144,
  opencode: 1,
};

describe.each(HARNESSES)('%s', (_, name) => {
  let stage: Stage;

  beforeEach(async () => {
    stage = await openStage(name);
  });

  afterEach(() => stage.close());

  test('a run is bound to its conversation, seen working, then done; its id goes on with it', async () => {
    const held = gate(stage, 'held');
    const asked = `@@RUN ${held.command}@@ @@SAY the answer is 42@@`;
    const { run } = await stage.run('whole', asked);
    await stage.model.waitForEnd(({ isConversation, step }) => isConversation && step === 0);
    const [working] = await stage.seenWorking();
    expect(working?.run).toMatchObject({ id: run.id, state: 'running', liveness: 'alive', outcome: null });
    held.open();
    const done = await stage.over('whole');
    const log = await stage.log('whole');
    const nativeId = nativeIdIn(log);
    expect(log).toContain('the answer is 42');
    expect({ working: working?.nativeId, done: done.nativeId }).toEqual({
      working: nativeId,
      done: nativeId,
    });
    expect(done).toMatchObject({
      status: 'done',
      harness: name,
      activity: null,
      run: { id: run.id, outcome: 'completed', exitCode: 0, signal: null, liveness: 'dead' },
    });

    const resumed = await stage.json<SessionView>(['resume', nativeId, '--detach', '-p', '@@SAY still 42@@']);
    expect({ name: resumed.name, epoch: resumed.epoch }).toEqual({ name: 'whole', epoch: 2 });
    const again = await stage.over('whole');
    const logged = await stage.log('whole');
    expect({ nativeId: again.nativeId, said: nativeIdIn(logged) }).toEqual({ nativeId, said: nativeId });
    expect(again.runs.map(({ outcome }) => outcome)).toEqual(['completed', 'completed']);
    expect(stage.promptsKnown()).toEqual([asked, '@@SAY still 42@@']);
  });

  test('a run whose model refuses has failed, with the exit code of the harness', async () => {
    const { run } = await stage.run('refused', '@@FAIL 400@@');
    const { status, nativeId, run: ended } = await stage.over('refused');
    const log = await stage.log('refused');
    const exitCode = EXIT_ON_REFUSAL[name];
    expect({ status, nativeId }, log).toEqual({ status: 'failed', nativeId: nativeIdIn(log) });
    expect(ended).toMatchObject({ id: run.id, outcome: 'failed', exitCode, signal: null });
    expect(await stage.told('refused')).toContain(`${run.id} ended as failed, exit ${exitCode}`);
  });
});
