/** A state directory in which another user has begun a run too, as `sudo reeve` does: it is an owner like any other. */
import { chownSync, copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SessionView } from '../../src/api/session-view.ts';
import { removeDatabase } from '../support/lost-store.ts';
import { isAlive, see } from '../support/processes.ts';
import { createSandbox, finished, withJson } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

/** Nobody on this machine has it. */
const USER = 54_321;

let sandbox: Sandbox;
beforeEach(() => {
  sandbox = createSandbox();
  chownSync(sandbox.root, USER, USER);
  mkdirSync(sandbox.path('root'));
});
afterEach(() => sandbox.cleanUp());

interface Refusal {
  readonly error: { readonly code: string; readonly message: string };
}

/** Whose state directory it is. */
async function asUser<T>(args: readonly string[], expected = 0): Promise<T> {
  const { code, stdout, stderr } = await finished(sandbox.start(withJson(args), { uid: USER, gid: USER }));
  expect([code, stderr]).toEqual([expected, expect.anything()]);
  return JSON.parse(stdout) as T;
}

/** With a home of root's own, and so other files of owners. */
async function asRoot<T>(args: readonly string[]): Promise<T> {
  const { code, stdout, stderr } = await sandbox.reeve(withJson(args), {
    env: { HOME: sandbox.path('root') },
  });
  expect([code, stderr]).toEqual([0, expect.anything()]);
  return JSON.parse(stdout) as T;
}

const database = () => join(sandbox.home, 'reeve.db');

const LOSSES: readonly [string, () => void][] = [
  ['was removed', () => removeDatabase(sandbox.home)],
  [
    'was put back to before it',
    () => {
      removeDatabase(sandbox.home);
      copyFileSync(sandbox.path('before.db'), database());
      chownSync(database(), USER, USER);
    },
  ],
];

describe('a run of root in the state directory of a user', { tags: ['root'] }, () => {
  it.each(LOSSES)('is the owner also when the store %s', async (_, lose) => {
    await asUser(['run', '-s', 'other', '--', 'true']);
    copyFileSync(database(), sandbox.path('before.db'));
    const { run } = await asRoot<SessionView>(['run', '-d', '-s', 'web', '--', 'sleep', '60']);
    lose();
    const start = ['run', '-d', '-s', 'web', '--', 'sleep', '61'];
    const { error } = await asUser<Refusal>(start, 7);
    expect(error).toMatchObject({ code: 'unproven', message: expect.stringContaining(run.id) as string });
    expect(error.message).toContain('root');
    // The way on that is named: it puts the run on record again, and then the record says who owns the session.
    await asRoot(['ls']);
    expect((await asUser<Refusal>(start, 4)).error.code).toBe('live_owner');
    expect(isAlive(see(run.pid ?? 0))).toBe(true);
    await asRoot(['stop', 'web']);
    await asUser(['run', '-s', 'web', '--', 'true']);
  });

  it('that is over stands in nobody’s way', async () => {
    await asUser(['run', '-s', 'other', '--', 'true']);
    await asRoot(['run', '-s', 'web', '--', 'true']);
    removeDatabase(sandbox.home);
    await asUser(['run', '-s', 'web', '--', 'true']);
  });
});
