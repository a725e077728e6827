/** What a trigger is asked for, as only the library can be given it: refused before anything is looked at. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openContext } from '../../src/supervisor/context.ts';
import type { Context } from '../../src/supervisor/context.ts';
import { checkRequest, reviewerCommand } from '../../src/supervisor/review-request.ts';
import type { TriggerRequest } from '../../src/supervisor/review-request.ts';
import { triggerReviews } from '../../src/supervisor/review-trigger.ts';
import { claimOf, end, won } from '../store/examples.ts';
import { sha } from '../support/reviewer.ts';
import { createSandbox } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

let sandbox: Sandbox;
let context: Context;
beforeAll(async () => {
  sandbox = createSandbox();
  context = await openContext({ home: sandbox.home, environment: sandbox.env });
  const { run } = await won(context.store, claimOf('w', { cwd: sandbox.root }));
  await context.store.step(run.id, end());
});
afterAll(async () => {
  await context.store.close();
  await sandbox.cleanUp();
});

const LONGEST = 'k'.repeat(200);
const pullRequests = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ pr: `${index}`, head: sha('aaaa1') }));
const keyed = (pr: string) => ({ pullRequests: [{ pr, head: sha('aaaa1') }] });
const headed = (head: string) => ({ pullRequests: [{ pr: '1', head }] });

describe('a request', () => {
  it.each<[string, Partial<TriggerRequest>]>([
    ['a negative grace', { graceMs: -1 }],
    ['a grace that is no number', { graceMs: Number.NaN }],
    ['no pull request', { pullRequests: [] }],
    ['too many pull requests', { pullRequests: pullRequests(101) }],
    ['a key that is empty', keyed('')],
    ['a key that is too long', keyed(`${LONGEST}k`)],
    ['a key with a control character', keyed('1\n2')],
    ['a key with half a character', keyed('\uD83D')],
    ['a head that is empty', headed('')],
    ['a head with a line behind it', headed(`${sha('aaaa1')}\n`)],
    ['a head of no known length', headed(sha('aaaa1').slice(0, 39))],
    ['an empty reviewer', { reviewer: [] }],
    ['a reviewer and a harness', { harness: 'codex' }],
    ['a command for a harness', { reviewer: undefined, harness: 'command' }],
    [
      'one pull request with two heads',
      { pullRequests: [...pullRequests(1), { pr: '0', head: sha('aaaa2') }] },
    ],
  ])('with %s is refused as bad usage, and nothing is on record', async (_, changes) => {
    const request = { worker: 'w', pullRequests: pullRequests(1), reviewer: ['true'], ...changes };
    await expect(triggerReviews(context, request)).rejects.toMatchObject({ code: 'usage' });
    expect(await context.store.reviews({})).toStrictEqual([]);
  });

  it.each<[string, Partial<TriggerRequest>]>([
    ['no grace at all', { graceMs: 0 }],
    ['as many pull requests as may be', { pullRequests: pullRequests(100) }],
    ['the longest key', keyed(LONGEST)],
    ['a head of either length, in whatever letters', headed(sha('AAAA1').padEnd(64, 'F'))],
  ])('with %s is in order', (_, changes) => {
    expect(() => checkRequest({ worker: 'w', pullRequests: pullRequests(1), ...changes })).not.toThrow();
  });

  it.each<[string, Pick<TriggerRequest, 'reviewer' | 'harness'>]>([
    ['none is configured', {}],
    ['it has no words', { reviewer: [] }],
    ['it is a command, and no harness', { harness: 'command' }],
  ])('has no reviewer when %s', (_, request) => {
    expect(() => reviewerCommand(context, request)).toThrow(expect.objectContaining({ code: 'usage' }));
  });
});
