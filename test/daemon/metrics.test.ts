/** The figures for Prometheus, after runs of which every end is known. */
import { readFileSync, statSync } from 'node:fs';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { launchIn } from '../support/launch.ts';
import { eventually, signalSeen } from '../support/processes.ts';
import { createSandbox } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';
import { openDaemon } from './support.ts';
import type { Daemon } from './support.ts';

let sandbox: Sandbox;
let daemon: Daemon;
beforeEach(async () => {
  sandbox = createSandbox();
  daemon = await openDaemon(sandbox);
});
afterEach(async () => {
  await daemon.stop();
  await sandbox.cleanUp();
});

/** Every figure but those of a histogram's buckets. */
async function figures(): Promise<Readonly<Record<string, number>>> {
  const { text } = await daemon.ask('GET', '/metrics');
  const lines = [...text.matchAll(/^(reeve_[^\s]+) (\S+)$/gm)];
  return Object.fromEntries(
    lines
      .filter(([, name = '']) => !name.includes('_bucket'))
      .map(([, name, value]) => [name, Number(value)]),
  );
}
const ended = (name: string) =>
  eventually(`${name} has ended`, async () => (await sandbox.show(name)).run.state === 'ended');
const post = (path: string, body: unknown = {}, headers = {}) => daemon.ask('POST', path, { body, headers });

it('are exactly what happened, by the command line and over HTTP', async () => {
  const inRoot = { cwd: sandbox.root };
  // Two that end by themselves, one that never began.
  await sandbox.reeve(['run', '-s', 'completed', '--', 'true']);
  await post('/v1/run', { ...inRoot, session: 'failed', argv: ['false'] });
  await ended('failed');
  await post('/v1/run', { ...inRoot, session: 'never', argv: ['no-such-program'] });
  // One that is stopped by each way in, one that is killed, one that nobody saw die.
  await launchIn(sandbox, 'stopped', 'sleep', '60');
  await sandbox.json(['stop', 'stopped']);
  await launchIn(sandbox, 'killed', 'sleep', '60');
  await post('/v1/sessions/killed/kill');
  const { keeper, harness } = await launchIn(sandbox, 'lost', 'sleep', '60');
  for (const process of [keeper, harness]) signalSeen(process, 'SIGKILL');
  await ended('lost');
  // One that is taken over, and refused three times.
  const script = 'echo "$REEVE_RUN.$REEVE_TOKEN" > told.new; mv told.new told; exec sleep 60';
  await launchIn(sandbox, 'live', 'sh', '-c', script);
  await eventually('its token', () => statSync(sandbox.path('told'), { throwIfNoEntry: false }));
  const authorization = `Bearer ${readFileSync(sandbox.path('told'), 'utf8').trim()}`;
  await sandbox.json(['run', '--detach', '--on-live', 'retire', '-s', 'live', '--', 'sleep', '60']);
  for (const _ of [1, 2]) await post('/v1/run', { ...inRoot, session: 'live', argv: ['true'] });
  await sandbox.json(['resume', '--detach', 'live'], 4);
  // The old owner is fenced twice; one that is nobody's is as well.
  for (const _ of [1, 2]) expect((await post('/v1/heartbeat', {}, { authorization })).status).toBe(409);

  const expected = {
    'reeve_runs{outcome="completed"}': 1,
    'reeve_runs{outcome="failed"}': 1,
    'reeve_runs{outcome="never_started"}': 1,
    'reeve_runs{outcome="stopped"}': 2,
    'reeve_runs{outcome="lost"}': 1,
    'reeve_runs{outcome="superseded"}': 1,
    'reeve_runs{outcome="live"}': 1,
    'reeve_sessions{status="done"}': 1,
    'reeve_sessions{status="failed"}': 2,
    'reeve_sessions{status="stopped"}': 2,
    'reeve_sessions{status="lost"}': 1,
    'reeve_sessions{status="working"}': 1,
    reeve_claims_won_total: 8,
    reeve_claims_lost_total: 3,
    reeve_writes_fenced_total: 2,
    reeve_stop_seconds_count: 2,
    reeve_takeover_seconds_count: 1,
  };
  const measured = ['reeve_stop_seconds_sum', 'reeve_takeover_seconds_sum', 'reeve_event_lag_seconds_sum'];
  const now = await eventually('all is told', async () => {
    const found = await figures();
    const isTold = found['reeve_claims_won_total'] === 8 && found['reeve_sessions{status="working"}'] === 1;
    return isTold && found;
  });
  const { seq } = (await daemon.ask('GET', '/v1/sessions')).json<{ seq: number }>();
  expect(now).toEqual({
    ...expected,
    ...Object.fromEntries(measured.map((name) => [name, expect.any(Number)])),
    // Of every event there is: it was there from the first on.
    reeve_event_lag_seconds_count: seq,
  });
  expect(measured.filter((name) => !((now[name] ?? -1) >= 0 && (now[name] ?? 99) < 60))).toEqual([]);

  // What is on record is the same for the next daemon; what was seen begins anew.
  await daemon.restart();
  const next = await eventually('the next one has looked', async () => {
    const found = await figures();
    return found['reeve_sessions{status="working"}'] === 1 && found;
  });
  const seen = [
    'reeve_claims_won_total',
    'reeve_stop_seconds',
    'reeve_takeover_seconds',
    'reeve_event_lag_seconds',
  ];
  expect(next).toEqual(
    Object.fromEntries(
      Object.entries({ ...expected, ...Object.fromEntries(measured.map((name) => [name, 0])) })
        .map(([name, value]) => [name, seen.some((one) => name.startsWith(one)) ? 0 : value])
        .concat([['reeve_event_lag_seconds_count', 0]]),
    ),
  );
});

it('a session that ended is not counted as live any more, and one that is forgotten not at all', async () => {
  const sessions = async () =>
    Object.fromEntries(Object.entries(await figures()).filter(([name]) => name.startsWith('reeve_sessions')));
  await launchIn(sandbox, 'a', 'sleep', '60');
  await eventually('it is seen', async () => (await sessions())['reeve_sessions{status="working"}'] === 1);
  await sandbox.json(['kill', 'a']);
  // Sooner than the next sweep would find it.
  await eventually(
    'it is not live',
    async () => {
      const { 'reeve_sessions{status="stopped"}': stopped, ...others } = await sessions();
      return stopped === 1 && Object.keys(others).length === 0;
    },
    3_000,
  );
  await sandbox.json(['rm', 'a']);
  expect(await sessions()).toEqual({});
});

it('are text that Prometheus reads, with nothing of a session in it', async () => {
  await launchIn(sandbox, 'secret-name', 'sleep', '60');
  const { text, headers } = await daemon.ask('GET', '/metrics');
  expect(headers['content-type']).toMatch(/^text\/plain; version=0\.0\.4/);
  expect(text).not.toContain('secret-name');
  const odd = text
    .split('\n')
    .filter(
      (line) =>
        line !== '' && !/^(# (HELP|TYPE) reeve_\w+ .+|reeve_\w+(\{\w+="[^"]*"\})? [\d.e+-]+)$/.test(line),
    );
  expect(odd).toEqual([]);
});
