/** The daemon is killed at each step of a delivery, and another one goes on from what is on disk. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { finished } from '../support/sandbox.ts';
import { eventually } from '../support/processes.ts';
import { hang, startReceiver, status } from './receiver.ts';
import type { Receiver } from './receiver.ts';
import { asks, createStage, failed, started } from './stage.ts';
import type { Stage } from './stage.ts';

const CHILD = fileURLToPath(new URL('../fixtures/notifier-child.ts', import.meta.url));
/** Now, for these processes have the real time, and what is too old is given up. */
const now = { atMs: Date.now() };
const EVENTS = [
  started(1),
  { ...asks(2), data: { waitingFor: 'an answer', ...now } },
  { ...asks(3), data: { waitingFor: 'an answer', ...now } },
  { ...failed(4), data: { outcome: 'failed', exitCode: 1, endedAtMs: now.atMs } },
];

let stage: Stage;
let receiver: Receiver;
const children: ChildProcess[] = [];
beforeEach(async () => {
  stage = createStage();
  receiver = await startReceiver();
});
afterEach(async () => {
  for (const child of children.splice(0)) {
    // Only a test that failed leaves one; as long as it is this process's own child, its pid is nobody else's.
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
  }
  await receiver.close();
  await stage.cleanUp();
});

function start(dieAt: { step: string; key: number } | null): ChildProcess {
  const order = { directory: stage.directory, webhook: receiver.address, events: EVENTS, dieAt };
  const child = spawn(process.execPath, ['--import', 'tsx', CHILD, JSON.stringify(order)], {
    env: { PATH: process.env['PATH'], HOME: stage.root, REEVE_HOME: stage.root },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  children.push(child);
  return child;
}

async function diesAt(step: string, key: number, says = ''): Promise<void> {
  const { signal, stderr } = await finished(start({ step, key }));
  expect([signal, stderr]).toEqual(['SIGKILL', says]);
}

/** The next daemon: it delivers what is owed, and another one after it finds nothing to do. */
async function goOn(): Promise<void> {
  for (const _ of ['the next', 'the one after']) {
    const child = start(null);
    const end = finished(child);
    await eventually(
      'nothing is owed',
      () => stage.kept().cursor === 4 && stage.kept().queues['webhook']?.waiting.length === 0,
    );
    child.stdin?.end();
    expect(await end).toMatchObject({ code: 0, signal: null, stderr: '' });
  }
}

it.each([
  ['taking', 'unwritten', 2],
  ['taking the last', 'unwritten', 4],
  ['keeping and sending', 'taken', 2],
  ['keeping and sending the second', 'taken', 4],
  ['recording', 'recorded', 2],
  ['recording the last', 'recorded', 4],
])('killed right after %s, nothing is lost and nothing is sent twice', async (_, step, key) => {
  await diesAt(step, key);
  await goOn();
  expect(receiver.keys()).toEqual([2, 4]);
});

it.each([2, 4])(
  'killed between the answer to %i and its record, that one is sent again under the same key: the documented double',
  async (key) => {
    await diesAt('answered', key);
    await goOn();
    expect(receiver.keys()).toEqual([2, 2, 4, 4].filter((each, index) => each === key || index % 2 === 0));
    expect(
      receiver.received.every(({ headers, body }) => headers['reeve-notification'] === String(body['key'])),
    ).toBe(true);
  },
);

it('killed while it waits for an answer, it is sent again: nobody knows whether it arrived', async () => {
  receiver.answers.push(hang);
  const child = start(null);
  const end = finished(child);
  await receiver.gets(1);
  child.kill('SIGKILL');
  expect((await end).signal).toBe('SIGKILL');
  await goOn();
  expect(receiver.keys()).toEqual([2, 2, 4]);
});

it('killed in the pause after a failure, the attempt counts, and the next one tries at once', async () => {
  receiver.answers.push(status(500));
  await diesAt('recorded', 2, 'notifications: webhook does not work: it answered 500\n');
  const outbox = readFileSync(join(stage.directory, 'outbox.json'), 'utf8');
  expect(outbox).toContain('"attempts":1');
  await goOn();
  expect(receiver.keys()).toEqual([2, 4, 2]);
});
