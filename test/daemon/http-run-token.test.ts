/** What the bearer of one run's token may do: act for that run alone, and look at its own session. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SubmissionDetailView, SubmissionsView } from '../../src/api/submission-view.ts';
import { MAX_SUBMISSION_BYTES } from '../../src/lifecycle/submission.ts';
import type { TriggerView } from '../../src/api/http-views.ts';
import { reviewingIn, sha } from '../support/reviewer.ts';
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

  it('shows what its own session spent, and of no other', async () => {
    expect(await both('GET', '/v1/usage?session=own')).toBe('200 ok');
    expect(await both('GET', `/v1/usage?tree=true&session=${own.run.id}`)).toBe('200 ok');
    expect(await both('GET', '/v1/budget?session=own')).toBe('200 ok');
    // Whatever is asked for twice is refused, whichever of the two it is.
    expect(await both('GET', '/v1/budget?session=own&session=other')).toBe('400 usage');
    expect(await both('GET', '/v1/usage?session=own&session=other')).toBe('400 usage');
    expect(await both('GET', '/v1/usage?session=own&sessions=other')).toBe('400 usage');
  });

  it.each([
    '/v1/usage',
    '/v1/usage?by=session',
    '/v1/usage?session=other',
    '/v1/usage?session=other&session=own',
    '/v1/usage?session=none',
    '/v1/usage?session=s-',
    '/v1/usage?session=%256fwn',
    '/v1/usage/?session=own',
    '/v1/budget',
    '/v1/budget?session=other',
    '/v1/budget?session=other&session=own',
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
    '/v1/submissions',
    '/v1/submissions?session=other',
    '/v1/submissions?session=none',
    '/v1/submissions?session=',
    '/v1/submissions?refused=true',
    '/v1/submissions?session=other&session=own',
    // The session of a question counts only where it is asked for.
    '/v1/events?session=own',
    '/v1/sessions?session=own',
    '/v1/scan?session=own',
    '/v1/submissions/none',
    '/v1/submissions/',
    '/v1/submissions/sub-',
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
    ['POST', '/v1/sessions/own/children', { argv: ['true'], cwd: '/' }],
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
    ['POST', '/v1/submit/', { data: 'x' }],
    ['POST', '/v1/submissions', { data: 'x' }],
    ['PUT', '/v1/submit', { data: 'x' }],
    ['POST', '/v1/usage', {}],
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
      `1=${sha('aaaa1')}`,
      '--pr',
      `2=${sha('bbbb1')}`,
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

  const REPORTS = [
    ['/v1/heartbeat', {}],
    ['/v1/submit', { data: 'x' }],
    ['/v1/usage/add', { model: 'm', input: 1 }],
  ] as const;

  it.each(REPORTS)('is needed for %s: the user’s own is none', async (path, body) => {
    expect(told(await daemon.ask('POST', path, { body }))).toBe('400 usage');
  });

  it.each(REPORTS)('that is wrong does not write by %s, and nothing is kept', async (path, body) => {
    for (const bearer of [`${own.bearer}x`, `Bearer r-made.up`]) {
      expect(await both('POST', path, { body }, bearer)).toBe('409 fenced');
    }
    expect((await daemon.ask('GET', '/v1/submissions')).json()).toEqual({ submissions: [], isCut: false });
  });

  it('submits for its own run, and shows what its own session submitted, and no other', async () => {
    const submit = async (bearer: string, data: string) =>
      (await daemon.ask('POST', '/v1/submit', { body: { data }, headers: { authorization: bearer } })).json<{
        id: string;
      }>();
    const [mine, foreign] = [await submit(own.bearer, 'mine'), await submit(other.bearer, 'foreign')];
    expect(mine).toEqual({ accepted: true, again: false, id: expect.stringMatching(/^sub-/) });
    expect(await submit(own.bearer, 'mine')).toEqual({ ...mine, again: true });
    const asked = { headers: { authorization: own.bearer } };
    const list = (await daemon.ask('GET', '/v1/submissions?session=own', asked)).json<SubmissionsView>();
    expect(list.submissions.map(({ id }) => id)).toEqual([mine.id]);
    const shown = (await daemon.ask('GET', `/v1/submissions/${mine.id}`, asked)).json<SubmissionDetailView>();
    expect(shown).toMatchObject({ id: mine.id, session: 'own', data: 'mine' });
    for (const path of [
      `/v1/submissions/${foreign.id}`,
      `/v1/submissions/${foreign.id.slice(0, -1)}`,
      `/v1/submissions/%73ub${foreign.id.slice(3)}`,
      `/v1/submissions/${mine.id}%2f..%2f${foreign.id}`,
      // Both begin so.
      '/v1/submissions/sub-',
      '/v1/submissions?session=other',
    ]) {
      expect({ path, is: await both('GET', path) }).toEqual({ path, is: '403 forbidden' });
    }
    expect(await both('GET', '/v1/submissions?session=own&session=other')).toBe('400 usage');
    expect(told(await daemon.ask('GET', `/v1/submissions/${foreign.id}`))).toBe('200 ok');
  });

  it('of a superseded run has its submission kept, and is told as what', async () => {
    const first = await runWithToken(sandbox, 'late');
    const second = await runWithToken(sandbox, 'late', '--on-live', 'retire', '--grace', '0');
    const { error } = (
      await daemon.ask('POST', '/v1/submit', {
        body: { data: 'found' },
        headers: { authorization: first.bearer },
      })
    ).json();
    const list = (
      await daemon.ask('GET', '/v1/submissions?session=late&refused=true')
    ).json<SubmissionsView>();
    expect(error.details).toEqual({
      run: first.run.id,
      current: second.run.id,
      kept: list.submissions[0]?.id,
    });
    expect(await both('POST', '/v1/usage/add', { body: { model: 'm', input: 1 } }, first.bearer)).toBe(
      '409 fenced',
    );
    await sandbox.json(['kill', 'late']);
  });

  it('submits the largest text in the worst encoding; one byte more, or a larger body, is too large', async () => {
    const ask = async (body: unknown) => {
      const headers = { authorization: own.bearer, 'content-type': 'application/json' };
      return told(await daemon.ask('POST', '/v1/submit', { body, headers }));
    };
    // Six bytes for each of these.
    expect(await ask({ data: '\u0001'.repeat(MAX_SUBMISSION_BYTES) })).toBe('200 ok');
    expect(await ask({ data: 'x'.repeat(MAX_SUBMISSION_BYTES + 1) })).toBe('413 too_large');
    expect(await ask('{"data":"\\ud800"}')).toBe('400 usage');
    expect(await ask({ data: 'a\0b' })).toBe('400 usage');
    expect(await ask({ data: 'a', more: 1 })).toBe('400 usage');
    // Only said to be so large: what is cut off while it is being sent may not come to read the answer.
    const announce = (bytes: number, path: string) => {
      const headers = {
        authorization: own.bearer,
        'content-type': 'application/json',
        'content-length': String(bytes),
      };
      return both('POST', path, { body: '{}', headers });
    };
    expect(await announce(7 * MAX_SUBMISSION_BYTES, '/v1/submit')).toBe('413 too_large');
    for (const path of ['/v1/usage/add', '/v1/heartbeat']) {
      expect(await announce(MAX_SUBMISSION_BYTES + 1, path)).toBe('413 too_large');
    }
  });
});
