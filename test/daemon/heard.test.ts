/** What the daemon puts on record by itself: nobody else looks at the sessions of these tests. */
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { installStandIns } from '../fixtures/stand-in-harness.ts';
import type { StandIns } from '../fixtures/stand-in-harness.ts';
import { launchReporting, leave, report } from '../fixtures/stand-in-reports.ts';
import { eventually } from '../support/processes.ts';
import { createSandbox } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';
import { readEvents } from './event-reader.ts';

const NATIVE = '11111111-1111-4111-8111-111111111111';

let sandbox: Sandbox;
let standIns: StandIns;
beforeEach(() => {
  sandbox = createSandbox();
  standIns = installStandIns(sandbox, 'claude');
});
afterEach(async () => {
  await sandbox.json(['serve', 'stop']);
  await sandbox.cleanUp();
});

it('takes in what a harness reports while nobody looks, sooner than the next sweep', async () => {
  await sandbox.json(['serve', '--detach']);
  const run = await launchReporting({ sandbox, standIns }, NATIVE);
  const reader = readEvents(() => join(sandbox.home, 'daemon', 'socket'), 0);
  const kinds = () => reader.seen.map(({ kind }) => kind);
  await eventually('the stream', () => kinds().includes('run.executing'));
  const begunAt = performance.now();
  for (const round of [1, 2, 3]) {
    const count = (kind: string) => kinds().filter((each) => each === kind).length;
    leave(run, `9000${round}.1`, report('UserPromptSubmit', NATIVE, { prompt: 'go' }));
    await eventually('the turn', () => count('harness.turn.started') === round);
    leave(run, `9000${round}.2`, report('Stop', NATIVE));
    await eventually('its end', () => count('harness.turn.ended') >= round);
  }
  // Six of them, one behind the other: by sweeps alone, five seconds apart, that would take half a minute.
  expect(performance.now() - begunAt).toBeLessThan(15_000);
  reader.close();
});
