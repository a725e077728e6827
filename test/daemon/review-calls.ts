/** The operations about reviews, called rightly and wrongly. */
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import type { ErrorCode } from '../../src/api/errors.ts';
import type { TriggerView } from '../../src/api/http-views.ts';
import { eventually } from '../support/processes.ts';
import { REVIEWER, sha } from '../support/reviewer.ts';
import type { Sandbox } from '../support/sandbox.ts';
import type { Answer, Daemon } from './support.ts';

export interface Call {
  readonly good: () => Promise<Answer>;
  readonly bad: () => Promise<Answer>;
  readonly code: ErrorCode;
}

/** Of a worker called `live`. */
export function reviewCalls(
  place: () => { readonly daemon: Daemon; readonly sandbox: Sandbox },
): Readonly<Record<string, Call>> {
  const get = (path: string) => place().daemon.ask('GET', path);
  const post = (path: string, body: unknown) => place().daemon.ask('POST', path, { body });
  /** A fresh head each time, under a reviewer that waits. */
  const trigger = (pr: string) =>
    post('/v1/reviews/trigger', {
      worker: 'live',
      pullRequests: [{ pr, head: sha(randomUUID().replaceAll('-', '')) }],
      reviewer: [process.execPath, REVIEWER, place().sandbox.root, 'waits'],
      graceSeconds: 1,
    });
  const reviewIdOf = async (pr: string) =>
    (await trigger(pr)).json<TriggerView>().pullRequests[0]?.review.id ?? '';
  const submit = async (id: string, bearer: string) =>
    place().daemon.ask('POST', `/v1/reviews/${id}/submit`, {
      body: { verdict: 'approve', body: 'fine' },
      headers: { authorization: `Bearer ${bearer}` },
    });
  return {
    reviewTrigger: {
      good: () => trigger('triggered'),
      bad: () => post('/v1/reviews/trigger', { worker: 'live', pullRequests: [{ pr: '1', head: 'main' }] }),
      code: 'usage',
    },
    reviewLs: {
      good: async () => (await trigger('listed'), get('/v1/reviews?worker=live&all=true')),
      bad: () => get('/v1/reviews?worker=none'),
      code: 'not_found',
    },
    reviewShow: {
      good: async () => get(`/v1/reviews/${await reviewIdOf('shown')}`),
      bad: () => get('/v1/reviews/rev-none'),
      code: 'not_found',
    },
    reviewSubmit: {
      good: async () => {
        const { reviewer, pullRequests } = (await trigger('submitted')).json<TriggerView>();
        const file = place().sandbox.path(`${reviewer?.run}.json`);
        await eventually('the reviewer runs', () => existsSync(file));
        const { token } = JSON.parse(readFileSync(file, 'utf8')) as { token: string };
        return submit(pullRequests[0]?.review.id ?? '', `${reviewer?.run}.${token}`);
      },
      bad: async () => submit(await reviewIdOf('forged'), 'r-x.y'),
      code: 'fenced',
    },
    reviewCancel: {
      good: async () => (await trigger('cancelled'), post('/v1/reviews/cancel', { worker: 'live' })),
      bad: () => post('/v1/reviews/cancel', { pr: '1' }),
      code: 'usage',
    },
  };
}
