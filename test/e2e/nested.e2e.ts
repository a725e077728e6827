/** A harness that a tool of the first one starts inherits its environment, and still is nobody but itself. */
import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { installed } from './support/home/home.ts';
import { CLI, gate, HARNESSES, nativeIdIn, openStage } from './support/stage.ts';
import type { Stage } from './support/stage.ts';

describe.each(HARNESSES)('%s', (_, name) => {
  let stage: Stage;

  beforeEach(async () => {
    stage = await openStage(name);
    // Through the settings of the person every session reports; so does the nested one, to the run it finds itself in.
    await stage.installHooks();
  });

  afterEach(() => stage.close());

  /** Runs this from the outer session's shell to its end, and holds the outer session in its next tool. */
  const nest = async (command: readonly string[]) => {
    const held = gate(stage, 'held');
    // The shell becomes it, so that nothing stands between the two.
    const nested = `exec ${command.map(quoted).join(' ')} > ${stage.path('inner')} < /dev/null`;
    const { run } = await stage.run('outer', `@@RUN ${nested}@@ @@RUN ${held.command}@@ @@SAY outer@@`);
    await stage.model.waitForEnd(({ prompt, step }) => prompt.includes('SAY outer') && step === 1);
    const sessions = await stage.seenWorking();
    const innerId = nativeIdIn(readFileSync(stage.path('inner'), 'utf8'));
    held.open();
    const over = await stage.over('outer');
    const outerId = nativeIdIn(await stage.log('outer'));
    expect(innerId).not.toBe(outerId);
    return { run, sessions, over, innerId, outerId };
  };

  test('a harness inside a harness changes nothing about the session it is in', async () => {
    const { run, sessions, over, innerId, outerId } = await nest([
      ...stage.harness.program,
      ...stage.harness.headless('be the inner one'),
    ]);
    expect(
      sessions.map((each) => ({ name: each.name, nativeId: each.nativeId, status: each.status })),
    ).toEqual([{ name: 'outer', nativeId: outerId, status: 'working' }]);
    expect(over).toMatchObject({ nativeId: outerId, run: { id: run.id, outcome: 'completed', exitCode: 0 } });
    expect(await stage.told('outer')).toContain(`refused: it is of conversation ${innerId}`);
  });

  test('a harness that Reeve starts inside a harness is a session of its own', async () => {
    const { run, sessions, over, innerId, outerId } = await nest([
      process.execPath,
      CLI,
      'run',
      '-s',
      'inner',
      '--',
      installed('.bin', name),
      ...stage.harness.headless('be the inner one'),
    ]);
    expect(
      sessions.map((each) => ({ name: each.name, nativeId: each.nativeId, status: each.status })),
    ).toEqual([
      { name: 'outer', nativeId: outerId, status: 'working' },
      { name: 'inner', nativeId: innerId, status: 'done' },
    ]);
    expect(over).toMatchObject({ nativeId: outerId, run: { id: run.id, outcome: 'completed', exitCode: 0 } });
    const told = await stage.told('outer');
    expect(told).not.toContain(innerId);
  });
});

function quoted(word: string): string {
  return /^[\w./-]+$/u.test(word) ? word : `'${word}'`;
}
