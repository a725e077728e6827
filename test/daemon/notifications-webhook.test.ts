/** A webhook's receiver that is slow, down, broken or hostile, and what it gets. */
import { subscribe } from 'node:diagnostics_channel';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readPage } from '../docs/page.ts';
import { eventually } from '../support/processes.ts';
import { brokenBody, endlessBody, flood, hang, hangUp, startReceiver, status } from './receiver.ts';
import type { Answer, Receiver } from './receiver.ts';
import { asks, createStage, failed, NOW_MS } from './stage.ts';
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

const nothingWaits = () =>
  eventually('nothing waits any more', () => stage.kept().queues['webhook']?.waiting.length === 0);

it('posts what happened as JSON, with its key in a header', async () => {
  const notifier = stage.open({ webhook: receiver.address });
  notifier.take(asks(7));
  await receiver.gets(1);
  const { path, headers, body } = receiver.at(0);
  expect({ path, key: headers['reeve-notification'], type: headers['content-type'], body }).toEqual({
    path: '/hook',
    key: '7',
    type: 'application/json',
    body: {
      key: 7,
      status: 'needs-input',
      session: 'web',
      sessionId: 's-1',
      run: 'r-1',
      harness: 'claude',
      directory: '/src/web',
      at: new Date(NOW_MS).toISOString(),
      text: 'web needs input. It waits for permission to use Bash. Answer: reeve attach web',
      next: 'Answer: reeve attach web',
      budget: null,
      missed: 0,
    },
  });
  await nothingWaits();
  expect([notifier.health(), stage.log]).toEqual([{ is: 'good', says: 'webhook' }, []]);
});

it('posts what docs/config.md has as an example, field by field', async () => {
  const page = readPage('docs/config.md');
  const example = page.blocks.find(({ language }) => language === 'json')?.text ?? '';
  const budget = page.spans.find(({ text }) => text.startsWith('{"scope"'))?.text ?? '';
  const notifier = stage.open({ webhook: receiver.address, on: ['budget'] });
  const figures = { scope: 'session', kind: 'tokens', spent: 1, limit: 2 };
  notifier.take({ ...failed(7), kind: 'budget.warned', data: figures });
  await receiver.gets(1);
  const { body } = receiver.at(0);
  expect(Object.keys(JSON.parse(example) as object)).toEqual(Object.keys(body));
  expect(Object.keys(JSON.parse(budget) as object)).toEqual(Object.keys(Object(body['budget']) as object));
});

it('tells of a budget with its figures, for people and for programs', async () => {
  const notifier = stage.open({ webhook: receiver.address, on: ['budget'] });
  const figures = { scope: 'session', kind: 'tokens', spent: 1_690_000, limit: 2_000_000 };
  notifier.take({ ...failed(7), kind: 'budget.warned', data: figures });
  await receiver.gets(1);
  const { text, next, budget } = receiver.at(0).body;
  expect({ text, next, budget }).toEqual({
    text: 'web is at its budget. It is close to its limit. It has used 84%: 1.69M of 2M tokens, session. Raise it: reeve budget set web --max-tokens MORE',
    next: 'Raise it: reeve budget set web --max-tokens MORE',
    budget: { ...figures, percent: 84 },
  });
  await nothingWaits();
});

it('sends the configured headers and the token, and logs neither', async () => {
  const notifier = stage.open(
    {
      webhook: receiver.address,
      webhookHeaders: { 'X-Team': 'web', 'Reeve-Notification': '0' },
      webhookTokenEnv: 'TOKEN',
    },
    { environment: { TOKEN: 'hunter2' } },
  );
  receiver.answers.push(status(400));
  notifier.take(failed(1));
  await receiver.gets(1);
  const { headers } = receiver.at(0);
  expect([headers['x-team'], headers['authorization'], headers['reeve-notification']]).toEqual([
    'web',
    'Bearer hunter2',
    '1',
  ]);
  await nothingWaits();
  expect(JSON.stringify([stage.log, notifier.health(), stage.kept()])).not.toMatch(/hunter2|127\.0\.0\.1/);
});

it.each([
  ['is not set', {}, 'the environment variable TOKEN for its token is not set'],
  [
    'cannot be a header',
    { TOKEN: 'hunter2\nX: y' },
    'its token or a header has characters that cannot be sent',
  ],
])('sends nothing when the token %s, and does not log it', async (_, environment, because) => {
  const notifier = stage.open({ webhook: receiver.address, webhookTokenEnv: 'TOKEN' }, { environment });
  notifier.take(failed(1));
  await nothingWaits();
  expect([receiver.received, notifier.health(), stage.log]).toEqual([
    [],
    { is: 'failing', says: `webhook: ${because}` },
    [`notifications: webhook does not work: ${because}`],
  ]);
});

describe('a receiver that', () => {
  it.each<[string, Answer, string, number]>([
    ['answers 500', status(500), 'it answered 500', 1_000],
    ['answers 503 and asks for time', status(503, { 'retry-after': '30' }), 'it answered 503', 30_000],
    ['answers 429', status(429), 'it answered 429', 1_000],
    [
      'answers 429 and asks for a date',
      status(429, { 'retry-after': 'Mon, 04 May' }),
      'it answered 429',
      1_000,
    ],
    ['hangs up', hangUp, 'the connection failed (ECONNRESET)', 1_000],
  ])('%s is tried again, and then has it', async (_, answer, because, pauseMs) => {
    receiver.answers.push(answer);
    const notifier = stage.open({ webhook: receiver.address });
    notifier.take(failed(1));
    await eventually('it is left alone for a while', () => stage.clock.pending().includes(pauseMs));
    expect([receiver.keys(), notifier.health()]).toEqual([
      [1],
      { is: 'failing', says: `webhook: ${because} (1 waiting)` },
    ]);
    await stage.clock.pass(pauseMs);
    await receiver.gets(2);
    await nothingWaits();
    expect([receiver.keys(), notifier.health().is, stage.log]).toEqual([
      [1, 1],
      'good',
      [`notifications: webhook does not work: ${because}`, 'notifications: webhook works again'],
    ]);
  });

  it.each([300, 301, 302, 307, 308, 400, 401, 404, 408, 410])(
    'answers %i is not tried again, nor followed elsewhere, and the next one tells of it',
    async (code) => {
      const elsewhere = await startReceiver();
      receiver.answers.push(status(code, { location: elsewhere.address }));
      const notifier = stage.open({ webhook: receiver.address });
      notifier.take(failed(1));
      await nothingWaits();
      expect(notifier.health()).toEqual({ is: 'failing', says: `webhook: it answered ${code}` });
      notifier.take(failed(2));
      await receiver.gets(2);
      await nothingWaits();
      const { body } = receiver.at(1);
      expect([receiver.keys(), body['missed'], body['text'], elsewhere.received]).toEqual([
        [1, 2],
        1,
        'web has failed. It exited with code 3. 1 earlier notification was missed. Look: reeve why web',
        [],
      ]);
      expect(stage.kept().queues['webhook']).toEqual({ waiting: [], missed: 0 });
      await elsewhere.close();
    },
  );

  it('hangs for ever is given up on after the timeout, and tried again', async () => {
    receiver.answers.push(hang);
    const notifier = stage.open({ webhook: receiver.address, timeoutSeconds: 7 });
    notifier.take(failed(1));
    await receiver.gets(1);
    await stage.clock.pass(7_000);
    await stage.clock.pass(1_000);
    await receiver.gets(2);
    await nothingWaits();
    expect([receiver.keys(), stage.log[0]]).toEqual([
      [1, 1],
      'notifications: webhook does not work: it did not answer in time',
    ]);
  });

  it('says 200 and never ends its answer has it, and is left', async () => {
    receiver.answers.push(endlessBody);
    // Node tells when the head of an answer has come; the receiver only knows that it has sent it.
    const answered = new Promise<void>((resolve) =>
      subscribe('http.client.response.finish', () => resolve()),
    );
    stage.open({ webhook: receiver.address }).take(failed(1));
    await answered;
    await stage.clock.pass(10_000);
    await nothingWaits();
    expect([receiver.keys(), stage.log]).toEqual([[1], []]);
  });

  it.each([
    ['dies in the middle of it', brokenBody],
    ['floods', flood],
  ])('says 200 and %s has it', async (_, answer) => {
    receiver.answers.push(answer);
    stage.open({ webhook: receiver.address }).take(failed(1));
    await nothingWaits();
    expect([receiver.keys(), stage.log, stage.clock.pending()]).toEqual([[1], [], []]);
  });

  it('is down at first has it once it is there', async () => {
    const { address } = receiver;
    await receiver.close();
    const notifier = stage.open({ webhook: address });
    notifier.take(failed(1));
    await stage.clock.pass(1_000);
    await eventually('it is tried a second time', () => stage.clock.pending().includes(2_000));
    expect(stage.log).toEqual(['notifications: webhook does not work: the connection failed (ECONNREFUSED)']);
    receiver = await startReceiver(Number(new URL(address).port));
    await stage.clock.pass(2_000);
    await nothingWaits();
    expect(receiver.keys()).toEqual([1]);
  });

  it('fails for one message still gets the others', async () => {
    receiver.answers.push(status(500));
    const notifier = stage.open({ webhook: receiver.address });
    notifier.take(failed(1));
    notifier.take(failed(2));
    receiver.answers.push(status(200), status(500));
    await stage.clock.pass(1_000);
    await stage.clock.pass(1_000);
    await nothingWaits();
    expect(receiver.keys()).toEqual([1, 2, 1, 1]);
  });
});
