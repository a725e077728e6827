/** What is taken, what is kept, what is given up, and who waits for whom. */
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { minuteOfDay } from '../../src/daemon/notifications/clock.ts';
import { openNotifier } from '../../src/daemon/notifications/notifier.ts';
import { replaceWhole } from '../../src/daemon/notifications/whole-file.ts';
import { MAX_AGE_MS, MAX_WAITING } from '../../src/lifecycle/delivery.ts';
import { quietHoursFrom } from '../../src/lifecycle/quiet-hours.ts';
import { eventually } from '../support/processes.ts';
import { hang, startReceiver, status } from './receiver.ts';
import type { Receiver } from './receiver.ts';
import { asks, createStage, failed, NOW_MS, OFF, started } from './stage.ts';
import type { Stage } from './stage.ts';

let stage: Stage;
let receiver: Receiver;
beforeEach(async () => {
  stage = createStage();
  receiver = await startReceiver();
});
afterEach(async () => {
  await receiver.close();
  await stage.cleanUp();
});

const waiting = () => stage.kept().queues['webhook']?.waiting.length;
const nothingWaits = () => eventually('nothing waits any more', () => waiting() === 0);

describe('taking', () => {
  it('takes an event once, however often it comes', async () => {
    const notifier = stage.open({ webhook: receiver.address });
    for (const event of [failed(1), failed(1), asks(2), failed(1), asks(2), asks(3)]) notifier.take(event);
    await receiver.gets(2);
    await nothingWaits();
    expect(receiver.keys()).toEqual([1, 2]);
  });

  it('tells only the changes that were chosen, and remembers the others', async () => {
    const notifier = stage.open({ webhook: receiver.address, on: ['lost'] });
    notifier.take(failed(1));
    notifier.take(asks(2));
    notifier.take({ ...failed(3), data: { outcome: 'lost' } });
    await receiver.gets(1);
    await nothingWaits();
    expect(receiver.keys()).toEqual([3]);
  });

  it('remembers across a restart that a question was told', async () => {
    const first = stage.open({ webhook: receiver.address });
    first.take(asks(1));
    await nothingWaits();
    await first.close();
    const second = stage.open({ webhook: receiver.address });
    second.take(asks(2));
    second.take(failed(3));
    await receiver.gets(2);
    await nothingWaits();
    expect(receiver.keys()).toEqual([1, 3]);
  });

  it('says from where to replay: from what is on disk, and not further', async () => {
    const notifier = stage.open({ webhook: receiver.address }, { latestSeq: 40 });
    await eventually('the beginning is kept', () => notifier.lastSeq() === 40);
    notifier.take(asks(41));
    expect(notifier.lastSeq()).toBe(40);
    await eventually('it is on disk', () => notifier.lastSeq() === 41);
    expect(stage.kept().cursor).toBe(41);
  });

  it('knows of no event on first use when it is not told how far the store is', async () => {
    const notifier = openNotifier({
      settings: OFF,
      directory: stage.directory,
      describe: async () => null,
      log: (text) => stage.log.push(text),
    });
    expect(notifier.lastSeq()).toBeNull();
    notifier.take(started(12));
    await notifier.close();
    expect([notifier.lastSeq(), stage.log]).toEqual([12, []]);
  });

  it('does not write for every event that changes nothing, but keeps up', async () => {
    const notifier = stage.open({ webhook: receiver.address });
    await eventually('the beginning is kept', () => notifier.lastSeq() === 0);
    for (let seq = 1; seq <= 100; seq += 1) notifier.take(started(seq));
    // As long as it takes to write three times: one that had begun before would be done.
    for (const name of ['a', 'b', 'c']) await replaceWhole(join(stage.root, name), '');
    expect([stage.kept().cursor, notifier.lastSeq()]).toEqual([0, 0]);
    notifier.take(started(101));
    await eventually('all is kept', () => notifier.lastSeq() === 101);
    notifier.take(started(102));
    await notifier.close();
    expect(stage.kept().cursor).toBe(102);
  });

  it('begins anew when the store is another one, and says so', async () => {
    const first = stage.open({ webhook: receiver.address }, { latestSeq: 500 });
    receiver.answers.push(status(500));
    first.take(failed(501));
    await receiver.gets(1);
    await first.close();
    const second = stage.open({ webhook: receiver.address }, { latestSeq: 3 });
    second.take(failed(4));
    await receiver.gets(2);
    await nothingWaits();
    expect([receiver.keys(), stage.log.at(-1)]).toEqual([
      [501, 4],
      'notifications: the outbox is of another store; it begins anew with this one',
    ]);
  });
});

describe('what is kept', () => {
  it('is for the owner alone, and whole', async () => {
    const notifier = stage.open({ webhook: receiver.address });
    notifier.take(failed(1));
    await nothingWaits();
    const modes = ['', 'outbox.json'].map((name) =>
      (statSync(join(stage.directory, name)).mode & 0o777).toString(8),
    );
    expect([modes, readdirSync(stage.directory)]).toEqual([['700', '600'], ['outbox.json']]);
  });

  it('has neither what a harness asked nor any value of the environment', async () => {
    const notifier = stage.open(
      { webhook: receiver.address, webhookTokenEnv: 'TOKEN' },
      { environment: { TOKEN: 'hunter2' } },
    );
    receiver.answers.push(hang);
    notifier.take(asks(1, 'r-1', 'Shall I tell Bob the password swordfish?'));
    await receiver.gets(1);
    const kept = readFileSync(join(stage.directory, 'outbox.json'), 'utf8');
    expect(kept + JSON.stringify([receiver.at(0).body, stage.log])).not.toMatch(/hunter2|swordfish/);
    await stage.clock.pass(10_000);
  });

  it('survives half a file that a crash left', async () => {
    mkdirSync(stage.directory);
    writeFileSync(join(stage.directory, 'outbox.json.new'), '{"cur', { mode: 0o644 });
    stage.open({ webhook: receiver.address }).take(failed(1));
    await receiver.gets(1);
    await nothingWaits();
    expect(readdirSync(stage.directory)).toEqual(['outbox.json']);
    expect(statSync(join(stage.directory, 'outbox.json')).mode & 0o777).toBe(0o600);
  });

  it('of an earlier Reeve is read: what it owes is sent, and what it told is not told again', async () => {
    mkdirSync(stage.directory);
    const owed = {
      key: 3,
      status: 'failed',
      sessionId: 's-1',
      runId: 'r-3',
      atMs: NOW_MS,
      what: 'It failed.',
    };
    const kept = {
      cursor: 3,
      watch: { 'r-1': { waitingSinceMs: NOW_MS, isIntended: false } },
      queues: { webhook: { waiting: [{ notification: owed, attempts: 0 }], missed: 0 } },
    };
    writeFileSync(join(stage.directory, 'outbox.json'), JSON.stringify(kept));
    const notifier = stage.open({ webhook: receiver.address }, { latestSeq: 3 });
    notifier.take(asks(4));
    notifier.take(failed(5));
    await receiver.gets(2);
    await nothingWaits();
    expect([receiver.keys(), stage.log]).toEqual([[3, 5], []]);
  });

  it.each([
    '',
    'null',
    '[]',
    ...['"question":1', '"question":{"tool":1,"digest":null}', '"turnSinceMs":"x"', '"budget":{}'].map(
      (field) => `{"cursor":1,"watch":{"r":{"waitingSinceMs":null,"isIntended":true,${field}}},"queues":{}}`,
    ),
    ...['"budget":{}', '"review":1', '"runId":2'].map(
      (field) =>
        `{"cursor":1,"watch":{},"queues":{"webhook":{"waiting":[{"attempts":0,"notification":{"key":1,"status":"failed","sessionId":"s","runId":"r","atMs":1,"what":"x",${field}}}],"missed":0}}}`,
    ),
    '{"cursor":-1,"watch":{},"queues":{}}',
    '{"cursor":1,"watch":{"r":1},"queues":{}}',
    '{"cursor":1,"watch":{},"queues":{"webhook":{"waiting":[{"attempts":0}],"missed":0}}}',
    '{"cursor":1,"watch":{},"queues":{"webhook":{"waiting":[],"missed":"x"}}}',
  ])('is put aside when it is damaged (%s), which is said', async (text) => {
    mkdirSync(stage.directory);
    const path = join(stage.directory, 'outbox.json');
    writeFileSync(path, text);
    const notifier = stage.open({ webhook: receiver.address }, { latestSeq: 9 });
    notifier.take(failed(10));
    await receiver.gets(1);
    await nothingWaits();
    expect([readFileSync(`${path}.unreadable`, 'utf8'), stage.log]).toEqual([
      text,
      [
        `notifications: the outbox was damaged, so what it still had to deliver is lost; it is kept as ${path}.unreadable`,
      ],
    ]);
  });

  it('is an error when its directory cannot be', () => {
    writeFileSync(stage.directory, '');
    expect(() => stage.open({})).toThrow(expect.objectContaining({ code: 'state_directory' }));
  });

  it('is written before anything is sent, and tried until it can be', async () => {
    const notifier = stage.open({ webhook: receiver.address });
    await eventually('the beginning is kept', () => notifier.lastSeq() === 0);
    const inTheWay = join(stage.directory, 'outbox.json.new');
    mkdirSync(inTheWay);
    writeFileSync(join(inTheWay, 'file'), '');
    notifier.take(failed(1));
    await eventually('writing is tried again later', () => stage.clock.pending().includes(5_000));
    expect([receiver.received, notifier.lastSeq(), notifier.health()]).toEqual([
      [],
      0,
      { is: 'failing', says: expect.stringMatching(/^the outbox cannot be written \(E\w+\)$/) },
    ]);
    rmSync(inTheWay, { recursive: true });
    await stage.clock.pass(5_000);
    await receiver.gets(1);
    await nothingWaits();
    expect([notifier.health().is, stage.log.at(-1)]).toEqual([
      'good',
      'notifications: the outbox can be written again',
    ]);
  });
});

describe('limits', () => {
  it('drops the oldest when too many wait, and the next that arrives tells how many', async () => {
    receiver.answers.push(status(500));
    const notifier = stage.open({ webhook: receiver.address });
    notifier.take(failed(1));
    await eventually('it is left alone', () => stage.clock.pending().includes(1_000));
    for (let seq = 2; seq <= MAX_WAITING + 3; seq += 1) notifier.take(failed(seq));
    await stage.clock.pass(1_000);
    await receiver.gets(1 + MAX_WAITING);
    await nothingWaits();
    const missed = receiver.received.map(({ body }) => body['missed']);
    expect([receiver.keys().slice(0, 3), missed.slice(0, 3), receiver.keys().length]).toEqual([
      [1, 4, 5],
      [0, 3, 0],
      1 + MAX_WAITING,
    ]);
  });

  it('gives up after a day, and does not send what is older than that', async () => {
    receiver.answers.push(status(500));
    const notifier = stage.open({ webhook: receiver.address });
    notifier.take(failed(1));
    await eventually('it is left alone', () => stage.clock.pending().includes(1_000));
    stage.clock.advance(MAX_AGE_MS);
    await stage.clock.pass(1_000);
    notifier.take({ ...failed(2), data: { outcome: 'failed', endedAtMs: stage.clock.nowMs() } });
    await receiver.gets(2);
    await nothingWaits();
    expect(receiver.received.map(({ body }) => [body['key'], body['missed']])).toEqual([
      [1, 0],
      [2, 1],
    ]);
  });

  it('gives up after twenty attempts, restarts included', async () => {
    for (let attempt = 1; attempt <= 20; attempt += 1) {
      receiver.answers.push(status(500));
      const notifier = stage.open({ webhook: receiver.address });
      notifier.take(failed(1));
      await receiver.gets(attempt);
      await notifier.close();
    }
    expect(stage.kept().queues).toEqual({ webhook: { waiting: [], missed: 1 } });
    await stage.open({ webhook: receiver.address }).close();
    expect(receiver.received.length).toBe(20);
  });

  it('sends without a name when the session is forgotten, or looking it up fails or takes too long', async () => {
    const describes = [
      async () => null,
      () => Promise.reject(new Error('locked')),
      () => new Promise<never>(() => {}),
    ];
    const notifier = stage.open(
      { webhook: receiver.address },
      { describe: () => describes.shift()?.() ?? Promise.resolve(null) },
    );
    for (const seq of [1, 2, 3]) notifier.take(failed(seq));
    await receiver.gets(2);
    await stage.clock.pass(3_000);
    await receiver.gets(3);
    await nothingWaits();
    const { body } = receiver.at(2);
    expect([body['session'], body['harness'], body['directory'], body['text']]).toEqual([
      null,
      null,
      null,
      's-1 has failed. It exited with code 3. See what there is: reeve ls',
    ]);
  });
});

describe('who waits for whom', () => {
  it('one receiver that hangs delays no other, nor whoever reports', async () => {
    const rings: string[] = [];
    receiver.answers.push(hang);
    const notifier = stage.open(
      { webhook: receiver.address, bell: true },
      { terminal: { isTTY: true, write: (text) => rings.push(text) } },
    );
    notifier.take(failed(1));
    notifier.take(failed(2));
    notifier.take(failed(3));
    await eventually('the bell has rung for each', () => rings.length === 3);
    expect([rings, receiver.keys()]).toEqual([['\u0007', '\u0007', '\u0007'], [1]]);
    await stage.clock.pass(10_000);
  });

  it('closing lets what is under way end, records it, and leaves the rest for the next one', async () => {
    let answer = () => {};
    receiver.answers.push((response) => (answer = () => response.writeHead(200).end()));
    const first = stage.open({ webhook: receiver.address });
    first.take(failed(1));
    first.take(failed(2));
    await receiver.gets(1);
    const closed = first.close();
    first.take(failed(3));
    answer();
    await closed;
    expect([receiver.keys(), stage.kept().cursor, waiting()]).toEqual([[1], 2, 1]);
    stage.open({ webhook: receiver.address }).take(failed(3));
    await receiver.gets(3);
    await nothingWaits();
    expect(receiver.keys()).toEqual([1, 2, 3]);
  });

  it('closing does not wait for a pause to be over, nor for a disk to be freed', async () => {
    receiver.answers.push(status(500));
    const notifier = stage.open({ webhook: receiver.address });
    notifier.take(failed(1));
    await eventually('it is left alone', () => stage.clock.pending().includes(1_000));
    const inTheWay = join(stage.directory, 'outbox.json.new');
    mkdirSync(inTheWay);
    writeFileSync(join(inTheWay, 'file'), '');
    notifier.take(failed(2));
    await notifier.close();
    expect([stage.kept().cursor, stage.clock.pending()]).toEqual([1, []]);
  });
});

describe('quiet hours', () => {
  const clockAt = (atMs: number) => {
    const at = new Date(atMs);
    return `${String(at.getHours()).padStart(2, '0')}:${String(at.getMinutes()).padStart(2, '0')}`;
  };
  const HOUR_MS = 3_600_000;

  it('keep what happens, and tell it one by one when the clock says that they are over', async () => {
    const end = clockAt(stage.clock.nowMs() + HOUR_MS);
    const quiet = quietHoursFrom(`${clockAt(stage.clock.nowMs() - HOUR_MS)}-${end}`);
    const notifier = stage.open({ webhook: receiver.address, quiet });
    notifier.take(failed(1));
    notifier.take(failed(2));
    await stage.clock.pass(60_000);
    await eventually('it looks again later', () => stage.clock.pending().includes(60_000));
    await eventually('both are on disk', () => waiting() === 2);
    expect([receiver.keys(), notifier.health().says]).toEqual([[], `webhook; quiet until ${end}`]);
    stage.clock.advance(HOUR_MS);
    await stage.clock.pass(60_000);
    await receiver.gets(2);
    await nothingWaits();
    expect([receiver.keys(), notifier.health().says]).toEqual([[1, 2], 'webhook']);
  });

  it('hold nothing back outside of them, and do not hold up the end of the daemon', async () => {
    const quiet = quietHoursFrom(
      `${clockAt(stage.clock.nowMs() + HOUR_MS)}-${clockAt(stage.clock.nowMs() + 2 * HOUR_MS)}`,
    );
    const notifier = stage.open({ webhook: receiver.address, quiet });
    notifier.take(failed(1));
    await receiver.gets(1);
    stage.clock.advance(HOUR_MS);
    notifier.take({ ...failed(2), data: { outcome: 'failed', endedAtMs: stage.clock.nowMs() } });
    await eventually('it waits', () => stage.clock.pending().includes(60_000));
    await notifier.close();
    expect([receiver.keys(), waiting()]).toEqual([[1], 1]);
  });

  it('go by the clock on the wall on a day that lacks an hour', () => {
    const before = process.env['TZ'];
    process.env['TZ'] = 'Europe/Berlin';
    try {
      const minutes = ['2026-03-29T00:59:00Z', '2026-03-29T01:00:00Z'].map((at) =>
        minuteOfDay(Date.parse(at)),
      );
      expect(minutes).toEqual([1 * 60 + 59, 3 * 60]);
    } finally {
      if (before === undefined) delete process.env['TZ'];
      else process.env['TZ'] = before;
    }
  });
});

describe('a mute', () => {
  const mute = (seq: number, untilMs: number | null = null) => ({
    ...started(seq),
    runId: null,
    kind: 'notify.muted',
    data: { untilMs },
  });

  it('keeps what happens from being told, and what waited for its receiver, and calls neither missed', async () => {
    receiver.answers.push(status(500));
    const notifier = stage.open({ webhook: receiver.address });
    notifier.take(failed(1));
    await eventually('it is left alone', () => stage.clock.pending().includes(1_000));
    notifier.take(mute(2));
    notifier.take(failed(3), 'muted');
    notifier.take({ ...failed(4), sessionId: 's-2' });
    await stage.clock.pass(1_000);
    await receiver.gets(2);
    await nothingWaits();
    expect(receiver.received.map(({ body }) => [body['key'], body['missed']])).toEqual([
      [1, 0],
      [4, 0],
    ]);
  });

  it('that is over by the time it is read, or comes again, takes nothing back', async () => {
    receiver.answers.push(status(500));
    const notifier = stage.open({ webhook: receiver.address });
    notifier.take(mute(1));
    notifier.take(failed(2));
    await eventually('it is left alone', () => stage.clock.pending().includes(1_000));
    notifier.take(mute(1));
    notifier.take(mute(3, stage.clock.nowMs()));
    await stage.clock.pass(1_000);
    await receiver.gets(2);
    await nothingWaits();
    expect(receiver.keys()).toEqual([2, 2]);
  });
});

describe('what is configured', () => {
  it('may be nothing: then events are only read, so that switching it on later tells nothing old', async () => {
    const off = stage.open({});
    off.take(failed(1));
    expect(off.health()).toEqual({ is: 'off', says: 'no way to notify is configured' });
    await off.close();
    const on = stage.open({ webhook: receiver.address });
    expect(on.lastSeq()).toBe(1);
    on.take(failed(1));
    on.take(failed(2));
    await receiver.gets(1);
    await nothingWaits();
    expect(receiver.keys()).toEqual([2]);
  });

  it('may be to tell nothing', () => {
    const notifier = stage.open({ webhook: receiver.address, on: [] });
    expect(notifier.health()).toEqual({ is: 'off', says: 'nothing is to be notified' });
  });

  it('is what counts for what still waits: a way that was switched off gives it up', async () => {
    receiver.answers.push(status(500));
    const first = stage.open({ webhook: receiver.address });
    first.take(failed(1));
    await receiver.gets(1);
    await first.close();
    const second = stage.open({ bell: true });
    await second.close();
    expect([stage.kept().queues, stage.log.at(-1)]).toEqual([
      {},
      'notifications: webhook was switched off; 1 that it had not delivered are given up',
    ]);
  });
});
