/** What the bearer of one run's token may do: act for that run alone, and look at its own session. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TriggerView } from '../../src/api/http-views.ts';
import { reviewingIn } from '../support/reviewer.ts';
import { createSandbox } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';
import { openDaemon, runWithToken, told } from './support.ts';
import type { Daemon, Holder, Question } from './support.ts';

let sandbox: Sandbox;
let daemon: Daemon;
beforeAll(async () => {
  sandbox = createSandbox();
  daemon = await openDaemon(sandbox);
});
afterAll(async () => {
  await daemon.stop();
  await sandbox.cleanUp();
});

describe('a run’s token', () => {
  let own: Holder;
  let other: Holder;
  beforeAll(async () => {
    own = await runWithToken(sandbox, 'own');
    other = await runWithToken(sandbox, 'other');
  });
  afterAll(async () => {
    await sandbox.json(['kill', 'own']);
    await sandbox.json(['kill', 'other']);
  });
  const both = async (method: string, path: string, question: Question = {}, bearer = own.bearer) => {
    const ask = async (via: 'socket' | 'loopback') =>
      told(await daemon.ask(method, path, { via, headers: { authorization: bearer }, ...question }));
    return [...new Set([await ask('socket'), await ask('loopback')])].join(' and ');
  };

  it.each(['', '/runs', '/why', '/events', '/logs'])('shows its own session%s', async (path) => {
    expect(await both('GET', `/v1/sessions/own${path}`)).toBe('200 ok');
    expect(await both('GET', `/v1/sessions/${own.run.id}${path}`)).toBe('200 ok');
    expect(await both('GET', `/v1/sessions/%6fwn${path}`)).toBe('200 ok');
  });

  it.each([
    '/v1/sessions/other',
    '/v1/sessions/other/logs',
    '/v1/sessions/other/logs?follow=true',
    '/v1/sessions/other/why',
    '/v1/sessions/own/tree',
    '/v1/sessions/own/screen',
    '/v1/sessions/own/../other',
    '/v1/sessions/own%2f..%2fother',
    '/v1/sessions/own/logs/../../other',
    '/v1/sessions/own%00other',
    '/v1/sessions/%zz',
    '/v1/sessions/none',
    // Several begin so; which ones is not for a run to know.
    '/v1/sessions/s-',
    '/v1/sessions/r-',
    '/v1/sessions',
    '/v1/sessions?ids=own',
    '/v1/events',
    '/v1/reviews',
    '/v1/reviews/rev-',
    '/v1/daemon',
    '/v1/scan',
    '/v1/hooks',
    '/v1/paths',
    '/v1/doctor',
    '/metrics',
    '/openapi.json',
    '/docs',
    '/v1/none',
  ])('does not show %s', async (path) => {
    expect(await both('GET', path)).toBe('403 forbidden');
    expect(await both('HEAD', path)).toBe('403');
  });

  it.each([
    ['POST', '/v1/run', { argv: ['true'], cwd: '/' }],
    ['POST', '/v1/sessions/own/stop', {}],
    ['POST', '/v1/sessions/own/kill', {}],
    ['POST', '/v1/sessions/own/retire', {}],
    ['POST', '/v1/sessions/own/resume', { onLive: 'retire' }],
    ['POST', '/v1/sessions/own/send', { text: 'x' }],
    ['POST', '/v1/sessions/own/attach', {}],
    ['POST', '/v1/sessions/other/kill', {}],
    ['POST', '/v1/adopt', { pid: 1 }],
    ['POST', '/v1/reviews/trigger', { worker: 'own', pullRequests: [{ pr: '1', head: 'abcd' }] }],
    ['POST', '/v1/reviews/cancel', { worker: 'own' }],
    ['POST', '/v1/hooks/install', { harnesses: ['claude'] }],
    ['POST', '/v1/shim/install', { harnesses: ['claude'] }],
    ['POST', '/v1/link', {}],
    ['DELETE', '/v1/sessions/other', undefined],
    ['DELETE', '/v1/sessions/own', undefined],
    ['POST', '/v1/heartbeat/', {}],
    ['PUT', '/v1/heartbeat', {}],
  ])('does not let it %s %s', async (method, path, body) => {
    expect(await both(method, path, { body })).toBe('403 forbidden');
    for (const { run } of [own, other])
      expect((await sandbox.show(run.id)).run).toMatchObject({ id: run.id, state: 'running' });
  });

  it('is that run’s: with another’s, a made-up one, or one of no run, nothing is shown', async () => {
    const token = (holder: Holder) => holder.bearer.split('.')[1] ?? '';
    for (const bearer of [
      `Bearer ${own.run.id}.${token(other)}`,
      `Bearer ${own.run.id}.${token(own).slice(0, -1)}`,
      `Bearer ${own.run.id}.x`,
      `Bearer r-made.${token(own)}`,
      `Bearer ${own.run.id}`,
      `Bearer ${own.run.id}.`,
      `Bearer ${token(own)}`,
    ])
      expect({ bearer, is: await both('GET', '/v1/sessions/own', {}, bearer) }).toEqual({
        bearer,
        is: '401 unauthorised',
      });
  });

  it('submits the reviews that it has, and no other’s; nor does it learn which others there are', async () => {
    const reviews = reviewingIn(sandbox);
    const submit = (id: string, bearer: string) =>
      both('POST', `/v1/reviews/${id}/submit`, { body: { verdict: 'approve', body: 'fine' } }, bearer);
    const words = [
      'trigger',
      '-w',
      'other',
      '--pr',
      '1=aaaa1',
      '--pr',
      '2=bbbb1',
      '--reviewer',
      reviews.command,
    ];
    const { reviewer, pullRequests } = await reviews.json<TriggerView>(words);
    const { token } = await reviews.reviewer(reviewer?.run);
    const id = pullRequests[0]?.review.id ?? '';
    expect(await submit(id, own.bearer)).toBe('409 fenced');
    expect(await submit('rev-', own.bearer)).toBe('400 usage');
    expect(await submit('rev-0000000000000000', own.bearer)).toBe('404 not_found');
    expect(await submit(id, `Bearer ${reviewer?.run}.${token}`)).toBe('200 ok');
    expect(await reviews.show(id)).toMatchObject({ verdict: 'approve', body: 'fine', late: null });
    await sandbox.json(['kill', 'review-other']);
  });

  it('beats for the current run alone; a superseded one is fenced, and so is one that nobody knows', async () => {
    const beat = (bearer: string) => both('POST', '/v1/heartbeat', { body: {} }, bearer);
    const first = await runWithToken(sandbox, 'beating');
    expect(await beat(first.bearer)).toBe('200 ok');
    const second = await runWithToken(sandbox, 'beating', '--on-live', 'retire', '--grace', '0');
    expect([await beat(first.bearer), await beat(second.bearer)]).toEqual(['409 fenced', '200 ok']);
    const { error } = (
      await daemon.ask('POST', '/v1/heartbeat', { body: {}, headers: { authorization: first.bearer } })
    ).json();
    expect(error.details).toEqual({ run: first.run.id, current: second.run.id });
    // It was its session's, and still may look what became of it.
    expect(await both('GET', '/v1/sessions/beating', {}, first.bearer)).toBe('200 ok');
    await sandbox.json(['kill', 'beating']);
    expect(await beat(second.bearer)).toBe('409 fenced');
    expect(await beat('Bearer r-made.up')).toBe('409 fenced');
    await sandbox.json(['rm', 'beating']);
    expect(await beat(second.bearer)).toBe('409 fenced');
    expect(await both('GET', '/v1/sessions/own', {}, second.bearer)).toBe('401 unauthorised');
  });

  it('is needed for a heartbeat: the user’s own is none', async () => {
    expect(told(await daemon.ask('POST', '/v1/heartbeat', { body: {} }))).toBe('400 usage');
  });
});
