/** What goes on until the reader leaves: the log of a run, and the log of all that happened. */
import { statSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { launchIn } from '../support/launch.ts';
import { eventually } from '../support/processes.ts';
import { createSandbox } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';
import { openDaemon, told } from './support.ts';
import type { Daemon } from './support.ts';

let sandbox: Sandbox;
let daemon: Daemon;
beforeAll(async () => {
  sandbox = createSandbox();
  daemon = await openDaemon(sandbox);
  await sandbox.reeve(['run', '-s', 'foreground', '--', 'true']);
  await sandbox.reeve(['run', '-s', 'another', '--', 'true']);
});
afterAll(async () => {
  await daemon.stop();
  await sandbox.cleanUp();
});

describe('streams', () => {
  const events = { headers: { accept: 'text/event-stream' } };

  it('are limited in number, and one that is left makes room for another', async () => {
    const open = await Promise.all(Array.from({ length: 100 }, () => daemon.stream('/v1/events', events)));
    expect(open.filter(({ status }) => status !== 200)).toEqual([]);
    expect(told(await daemon.ask('GET', '/v1/events', events))).toBe('409 busy');
    expect(told(await daemon.ask('GET', '/v1/sessions'))).toBe('200 ok');
    open[0]?.close();
    const next = await eventually('there is room', async () => {
      const stream = await daemon.stream('/v1/events', events);
      return stream.status === 200 && stream;
    });
    for (const stream of [...open, next]) stream.close();
  });

  it('are not begun for those who ask for the head alone', async () => {
    await launchIn(sandbox, 'headed', 'sleep', '60');
    for (const _ of Array.from({ length: 101 })) {
      expect((await daemon.ask('HEAD', '/v1/events', events)).status).toBe(200);
      expect((await daemon.ask('HEAD', '/v1/sessions/headed/logs?follow=true')).status).toBe(200);
    }
    const stream = await daemon.stream('/v1/events', events);
    expect(stream.status).toBe(200);
    stream.close();
    await sandbox.json(['kill', 'headed']);
  });

  it('of a reader that never reads are given up with that reader', async () => {
    const script =
      'yes 0123456789012345678901234567890123456789 | head -c 6000000; touch written; exec sleep 60';
    await launchIn(sandbox, 'long', 'sh', '-c', script);
    await eventually('it has written', () => statSync(sandbox.path('written'), { throwIfNoEntry: false }));
    const connections = Array.from({ length: 100 }, () => {
      const connection = connect(daemon.path('socket'));
      connection.on('error', () => {});
      connection.pause();
      connection.write('GET /v1/sessions/long/logs?follow=true&lines=10000 HTTP/1.1\r\nhost: x\r\n\r\n');
      return connection;
    });
    await eventually('all are open', async () => (await daemon.stream('/v1/events', events)).status === 409);
    for (const connection of connections) connection.destroy();
    await eventually('none is open', async () => {
      const stream = await daemon.stream('/v1/events', events);
      stream.close();
      return stream.status === 200;
    });
    await sandbox.json(['kill', 'long']);
  });
});

describe('a log', () => {
  it('that is followed goes on until its run ends, and says so', async () => {
    const script = 'echo first; until [ -e go ]; do sleep 0.02; done; printf "l\\303\\244st\\n"';
    await launchIn(sandbox, 'followed', 'sh', '-c', script);
    const stream = await daemon.stream('/v1/sessions/followed/logs?follow=true');
    await eventually('the first line', () => stream.events<string>().join('').includes('first'));
    writeFileSync(sandbox.path('go'), '');
    await stream.ended;
    expect(stream.events<string>().join('')).toBe('first\nläst\n');
    expect(stream.text().endsWith('event: end\ndata: \n\n')).toBe(true);
  });

  it('that there is none of is an error, not an empty stream', async () => {
    const codes = await Promise.all(
      ['foreground', 'none', 's-'].map(
        async (name) => (await daemon.ask('GET', `/v1/sessions/${name}/logs?follow=true`)).json().error.code,
      ),
    );
    expect(codes).toEqual(['no_log', 'not_found', 'ambiguous']);
  });

  it('is cut at its beginning, to so many lines and never more than a page can show', async () => {
    const script = 'yes 0123456789abcdef | head -c 3000000; echo; echo end; touch all; exec sleep 60';
    await launchIn(sandbox, 'long', 'sh', '-c', script);
    await eventually('it has written', () => statSync(sandbox.path('all'), { throwIfNoEntry: false }));
    const log = async (lines: number) =>
      (await daemon.ask('GET', `/v1/sessions/long/logs?lines=${lines}`)).json<{
        text: string;
        isCut: boolean;
      }>();
    expect(await log(1)).toMatchObject({ text: 'end\n', isCut: true });
    expect(await log(0)).toMatchObject({ text: '', isCut: true });
    expect((await log(10_000)).text.split('\n')).toHaveLength(10_001);
    expect((await daemon.ask('GET', '/v1/sessions/long/logs?lines=10001')).status).toBe(400);
    await launchIn(
      sandbox,
      'wide',
      'sh',
      '-c',
      'head -c 5000000 /dev/zero | tr "\\0" x; touch wide; exec sleep 60',
    );
    await eventually('it has written', () => statSync(sandbox.path('wide'), { throwIfNoEntry: false }));
    const { text, isCut } = (await daemon.ask('GET', '/v1/sessions/wide/logs')).json<{
      text: string;
      isCut: boolean;
    }>();
    expect(isCut).toBe(true);
    expect(text.length).toBeGreaterThanOrEqual(1024 * 1024);
    expect(text.length).toBeLessThan(1024 * 1024 + 128 * 1024);
  });
});

describe('the stream of events', () => {
  const accept = { accept: 'text/event-stream' };

  it('has every event once, in order, and goes on after the last one that was seen', async () => {
    const all = (await daemon.ask('GET', '/v1/events?after=0&limit=1000')).json<{
      events: { seq: number }[];
    }>().events;
    const from = all.at(-5)?.seq ?? 0;
    const resumed = await daemon.stream('/v1/events', {
      headers: { ...accept, 'last-event-id': String(from) },
    });
    const fresh = await daemon.stream('/v1/events', { headers: accept });
    await eventually('it is connected', () => fresh.text() !== '');
    await sandbox.reeve(['run', '-s', 'told', '--', 'true']);
    const isOver = (events: readonly { kind: string; session: string | null }[]) =>
      events.some(({ kind, session }) => kind === 'run.ended' && session === 'told');
    type Told = { seq: number; kind: string; session: string | null };
    await eventually('both are told', () => isOver(resumed.events<Told>()) && isOver(fresh.events<Told>()));
    const now = (await daemon.ask('GET', `/v1/events?after=${from}&limit=1000`)).json<{ events: Told[] }>()
      .events;
    const end = now.findIndex(({ kind, session }) => kind === 'run.ended' && session === 'told');
    expect(resumed.events<Told>().slice(0, end + 1)).toEqual(now.slice(0, end + 1));
    const own = fresh.events<Told>();
    expect(own).toEqual(now.filter(({ seq }) => seq >= (own[0]?.seq ?? 0)).slice(0, own.length));
    resumed.close();
    fresh.close();
  });

  it.each(['x', '-1', '1.5', '9'.repeat(16), ''])('refuses a place that is none: %j', async (place) => {
    const answer = await daemon.ask('GET', '/v1/events', { headers: { ...accept, 'last-event-id': place } });
    expect([answer.status, answer.json().error.code]).toEqual([400, 'usage']);
  });
});
