/** However many resume a conversation, and whoever serves it already: one process does, and its transcript stays whole. */
import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { SessionView } from '../../src/api/session-view.ts';
import type { SessionDetail } from '../../src/supervisor/list.ts';
import { isAlive, see } from '../support/processes.ts';
import type { Finished } from '../support/sandbox.ts';
import { gate, HARNESSES, nativeIdIn, openStage, sleepingTool, wordsOfProcess } from './support/stage.ts';
import type { Refusal, Stage } from './support/stage.ts';

describe.each(HARNESSES)('%s', (_, name) => {
  let stage: Stage;

  beforeEach(async () => {
    stage = await openStage(name);
  });

  afterEach(() => stage.close());

  /** A conversation of one turn that Reeve knows nothing of. */
  const converse = async (prompt: string): Promise<string> => {
    const { code, stdout, stderr } = await stage.startDirectly(stage.harness.headless(prompt)).over;
    expect(code, stdout + stderr).toBe(0);
    return nativeIdIn(stdout);
  };

  const resume = (reference: string, ...rest: readonly string[]) =>
    stage.reeve(['resume', '--json', reference, '--detach', ...rest]);

  /** Of those that resumed at once, the one that won; all others must have been told of it. */
  const theOnly = (results: readonly Finished[]): SessionDetail => {
    const [won, ...others] = results.toSorted((a, b) => (a.code ?? -1) - (b.code ?? -1));
    expect(won?.code, won?.stdout).toBe(0);
    const owner = JSON.parse(won?.stdout ?? '') as SessionDetail;
    for (const { code, stdout } of others) {
      const { error } = JSON.parse(stdout) as Refusal;
      expect({ code, error }).toMatchObject({
        code: 4,
        error: { code: 'live_owner', details: { session: owner.name, owner: { run: owner.run.id } } },
      });
    }
    return owner;
  };

  test('of many that resume a conversation at once one wins, and no turn is lost', async () => {
    const nativeId = await converse('@@SAY first@@');
    const held = gate(stage, 'held');
    const second = `@@RUN ${held.command}@@ @@SAY second@@`;
    const unknown = await Promise.all([
      resume(nativeId, '--', ...stage.command(second)),
      resume(nativeId, '--', ...stage.command(second)),
    ]);
    const owner = theOnly(unknown);
    expect(owner).toMatchObject({ harness: name, nativeId, cwd: stage.harness.work });
    await stage.model.waitForEnd(({ prompt, step }) => prompt.includes('second') && step === 0);
    expect(stage.running(nativeId)).toEqual([stage.own(owner.run.pid)]);
    held.open();
    expect((await stage.over(owner.name)).run.outcome).toBe('completed');

    const heldAgain = gate(stage, 'again');
    const third = `@@RUN ${heldAgain.command}@@ @@SAY third@@`;
    const known = await Promise.all(
      [nativeId, owner.name].map((reference) => resume(reference, '-p', third)),
    );
    const successor = theOnly(known);
    expect(successor).toMatchObject({ name: owner.name, nativeId, epoch: 2 });
    await stage.model.waitForEnd(({ prompt, step }) => prompt.includes('third') && step === 0);
    expect(stage.running(nativeId)).toEqual([stage.own(successor.run.pid)]);
    heldAgain.open();
    expect((await stage.over(owner.name)).run.outcome).toBe('completed');

    const asPeopleTypeIt = [name, ...stage.harness.headlessResume(nativeId, '@@SAY last@@')];
    await stage.json(['run', '--detach', '--', ...asPeopleTypeIt]);
    const last = await stage.over(owner.name);
    expect({ nativeId: last.nativeId, outcomes: last.runs.map(({ outcome }) => outcome) }).toEqual({
      nativeId,
      outcomes: ['completed', 'completed', 'completed'],
    });
    expect(stage.promptsKnown()).toEqual(['@@SAY first@@', second, third, '@@SAY last@@']);
  });

  test('a conversation that a run has begun has an owner, although nobody has looked since', async () => {
    const tool = sleepingTool(stage);
    const { run } = await stage.run('begun', `@@RUN ${tool.command}@@`);
    await tool.asleep();
    // Not through `reeve logs`, which would be a look.
    const nativeId = nativeIdIn(readFileSync(run.logPath ?? '', 'utf8'));
    const again = ['resume', nativeId, '--detach', '--', ...stage.command('@@SAY again@@')];
    const { error } = await stage.json<Refusal>(again, 4);
    expect(error).toMatchObject({
      code: 'live_owner',
      details: { session: 'begun', owner: { run: run.id, pid: run.pid } },
    });
    expect((await stage.list()).map((session) => session.name)).toEqual(['begun']);
  });

  test('a process that Reeve did not start is an owner too, and ended only when asked for', async () => {
    // One after the other: two that are the first in a home may both set opencode's database up, and one then fails.
    const nativeId = await converse('@@SAY first@@');
    const another = await converse('@@SAY else@@');
    const tool = sleepingTool(stage);
    const busy = `@@RUN ${tool.command}@@ @@SAY second@@`;
    const outsider = stage.startDirectly(stage.harness.headlessResume(nativeId, busy));
    const neighbour = stage.startProgram(stage.harness.headlessResume(another, '@@HANG@@'));
    // Says what a harness would be called with, as an orchestrator might; and is none.
    const waits = 'setInterval(() => {}, 1e9)';
    const lookAlike = stage.start(process.execPath, ['-e', waits, name, '--resume', nativeId]);
    const strangers = [neighbour, lookAlike].map(({ child }) => see(child.pid ?? 0));
    const sleepers = await tool.asleep();
    await stage.model.waitForRequest(({ prompt }) => prompt.includes('HANG'));
    const third = ['resume', nativeId, '--detach', '--', ...stage.command('@@SAY third@@')];

    const { error } = await stage.json<Refusal>(third, 4);
    expect(error).toMatchObject({ code: 'unmanaged_owner', details: { nativeId, owner: { harness: name } } });
    // As `toMatchObject` found it there.
    const { owner } = error.details as { owner: { pid: number; argv: readonly string[] } };
    const served = stage.own(owner.pid);
    expect(strangers).not.toContainEqual(served);
    expect(owner.argv).toEqual(wordsOfProcess(owner.pid));
    expect(error.message).toContain(`pid ${owner.pid} (${owner.argv[0]?.slice(0, 60)}`);
    expect([served, ...sleepers].every(isAlive)).toBe(true);

    const [verb = '', ...rest] = third;
    const forced = [verb, '--on-live', 'retire', '--unmanaged', '--grace', '2', ...rest];
    const { name: session } = await stage.json<SessionView>(forced);
    expect([served, ...sleepers].filter(isAlive)).toEqual([]);
    await outsider.over;
    expect(await stage.over(session)).toMatchObject({ nativeId, epoch: 1, run: { outcome: 'completed' } });
    expect(stage.promptsKnown()).toEqual(['@@SAY first@@', busy, '@@SAY third@@']);
    expect(await stage.told(session)).toContain(`ended pid ${owner.pid}, which served the same`);
    expect(strangers.every(isAlive)).toBe(true);
  });
});
