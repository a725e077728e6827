/** Notifications from the daemon itself: a real one, with real runs, told to a real receiver. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { installStandIns } from '../fixtures/stand-in-harness.ts';
import { eventually, isAlive, see, signalSeen } from '../support/processes.ts';
import { createSandbox } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';
import { startReceiver, status } from './receiver.ts';
import type { Receiver } from './receiver.ts';

let sandbox: Sandbox;
let receiver: Receiver;
beforeEach(async () => {
  sandbox = createSandbox();
  receiver = await startReceiver();
  mkdirSync(sandbox.path('.config/reeve'), { recursive: true });
  configure(`webhook = "${receiver.address}"`);
});
afterEach(async () => {
  await sandbox.json(['serve', 'stop']);
  await receiver.close();
  await sandbox.cleanUp();
});

function configure(lines: string): void {
  writeFileSync(sandbox.path('.config/reeve/config.toml'), `[notify]\n${lines}\n`);
}

function waiting(): number {
  const outbox = readFileSync(join(sandbox.home, 'daemon', 'notifications', 'outbox.json'), 'utf8');
  const { queues } = JSON.parse(outbox) as { queues: Record<string, { waiting: unknown[] }> };
  return queues['webhook']?.waiting.length ?? 0;
}

const serve = () => sandbox.json<{ pid: number }>(['serve', '--detach']);
const fail = (session: string) => sandbox.json(['run', '-d', '-s', session, '--', 'sh', '-c', 'exit 3']);
const told = () => receiver.received.map(({ body }) => [body['session'], body['status']]);

it('tells once that a run failed, and nothing of one that was stopped or is done', async () => {
  await serve();
  await sandbox.json(['run', '-d', '-s', 'good', '--', 'true']);
  await sandbox.json(['run', '-d', '-s', 'asked', '--', 'sleep', '600']);
  await sandbox.json(['stop', 'asked']);
  await fail('bad');
  await receiver.gets(1);
  await fail('worse');
  await receiver.gets(2);
  expect(told()).toEqual([
    ['bad', 'failed'],
    ['worse', 'failed'],
  ]);
});

it('tells what is done where that is asked for, and of an adopted run that it ended, not that it is lost', async () => {
  configure(`webhook = "${receiver.address}"\non = ["lost", "ended", "done"]`);
  const standIns = installStandIns(sandbox, 'claude');
  const outsider = await standIns.outsider('claude', ['--resume', randomUUID()]);
  await serve();
  await sandbox.json(['run', '-d', '-s', 'good', '--', 'true']);
  await receiver.gets(1);
  await sandbox.json(['adopt', String(outsider.pid), '-s', 'adopted']);
  signalSeen(outsider, 'SIGTERM');
  await receiver.gets(2);
  expect(receiver.received.map(({ body }) => [body['session'], body['status'], body['next']])).toEqual([
    ['good', 'done', 'Look: reeve logs good'],
    ['adopted', 'ended', 'Look: reeve why adopted'],
  ]);
  standIns.endOutsiders();
});

it('tells nothing of a muted session, says so in `show` and `why`, and tells of it again afterwards', async () => {
  await serve();
  await fail('a');
  await receiver.gets(1);
  expect(await sandbox.json(['notify', 'mute', 'a'])).toMatchObject({
    session: 'a',
    muted: true,
    until: null,
  });
  expect((await sandbox.show('a')).mute).toEqual({ until: null });
  await fail('a');
  await eventually('it has failed', async () => (await sandbox.show('a')).runs.at(-1)?.outcome === 'failed');
  await fail('b');
  await receiver.gets(2);
  expect(await sandbox.json(['notify', 'unmute', 'a'])).toMatchObject({ session: 'a', muted: false });
  await fail('a');
  await receiver.gets(3);
  expect(told().map(([session]) => session)).toEqual(['a', 'b', 'a']);
  const { stdout } = await sandbox.reeve(['why', 'a']);
  expect(stdout).toMatch(/muted its notifications\.[^]*ended the mute/);
});

it('tells by the next daemon what happened while none was there, and nothing twice', async () => {
  const first = await serve();
  await fail('a');
  await receiver.gets(1);
  // Between the answer and its being on record is the one moment in which a death makes it come twice.
  await eventually('the answer is on record', () => waiting() === 0);
  const process = see(first.pid);
  signalSeen(process, 'SIGKILL');
  await eventually('the daemon is dead', () => !isAlive(process));
  await fail('b');
  await eventually('its end is on record', async () => (await sandbox.show('b')).run.state === 'ended');
  await serve();
  await receiver.gets(2);
  await fail('c');
  await receiver.gets(3);
  expect(told().map(([session]) => session)).toEqual(['a', 'b', 'c']);
});

it('goes on, and says so, when the receiver answers 500', async () => {
  for (let index = 0; index < 2; index += 1) receiver.answers.push(status(500));
  await serve();
  await fail('a');
  await receiver.gets(1);
  const broken = await eventually('it is said', async () => {
    const { parts } = await sandbox.json<{ parts: Record<string, { is: string }> }>(['serve', 'status']);
    return parts['notifications']?.is === 'broken' && parts;
  });
  expect(broken['sessions']).toMatchObject({ is: 'good' });
  await receiver.gets(3);
  expect(new Set(receiver.keys()).size).toBe(1);
});

it('is off without a way to tell, and does not start with a configuration that makes no sense', async () => {
  configure('');
  await serve();
  const { parts } = await sandbox.json<{ parts: Record<string, { is: string }> }>(['serve', 'status']);
  expect(parts['notifications']).toMatchObject({ is: 'off' });
  await sandbox.json(['serve', 'stop']);
  configure('webhok = "http://127.0.0.1:1"');
  for (const flags of [[], ['--detach'], ['--replace']]) {
    expect(await sandbox.json(['serve', ...flags], 2)).toMatchObject({ error: { code: 'bad_config' } });
  }
});

it('goes by an edit of the configuration within seconds, and by the one before while that cannot be used', async () => {
  rmSync(sandbox.path('.config/reeve/config.toml'));
  await serve();
  const part = async (name: string) => {
    const { parts } = await sandbox.json<{ parts: Record<string, { is: string; says: string }> }>([
      'serve',
      'status',
    ]);
    return parts[name];
  };
  expect((await part('notifications'))?.is).toBe('off');
  configure(`webhook = "${receiver.address}"`);
  await eventually('it is on', async () => (await part('notifications'))?.is === 'good');
  await fail('a');
  await receiver.gets(1);
  const go = sandbox.path('go');
  const wait = `until [ -e ${go} ]; do sleep 0.05; done; exit 3`;
  await sandbox.json(['run', '-d', '-s', 'b', '--', 'sh', '-c', wait]);
  configure('webhok = 7');
  await eventually('that is told', async () => (await part('configuration'))?.is === 'broken');
  writeFileSync(go, '');
  await receiver.gets(2);
  configure(`webhook = "${receiver.address}"\non = ["done"]`);
  await eventually('it is in order', async () => (await part('configuration'))?.is === 'good');
  await fail('c');
  await sandbox.json(['run', '-d', '-s', 'd', '--', 'true']);
  await receiver.gets(3);
  expect(told()).toEqual([
    ['a', 'failed'],
    ['b', 'failed'],
    ['d', 'done'],
  ]);
});
