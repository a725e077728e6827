/** A name that looks like an id reaches nobody but whom the id is of. */
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { SessionDetail } from '../../src/supervisor/list.ts';
import { launchIn } from '../support/launch.ts';
import { isAlive } from '../support/processes.ts';
import { createSandbox } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

let sandbox: Sandbox;
beforeEach(() => {
  sandbox = createSandbox();
});
afterEach(() => sandbox.cleanUp());

/** As a session of an older version may be called. */
function rename(from: string, to: string): void {
  const database = new DatabaseSync(join(sandbox.home, 'reeve.db'));
  try {
    database.exec('pragma busy_timeout = 5000');
    database.prepare('update sessions set name = ? where name = ?').run(to, from);
  } finally {
    database.close();
  }
}

it('is refused for a new session: a run’s id, a session’s, or anything of that shape', async () => {
  await launchIn(sandbox, 'real', 'sleep', '60');
  const { id, run } = await sandbox.show('real');
  for (const name of [id, run.id, 'sub-0123456789abcdef', 'rev-0123456789abcdef']) {
    const words = ['run', '-d', '-s', name, '--', 'sleep', '60'];
    const { error } = await sandbox.json<{ error: { code: string; message: string } }>(words, 2);
    expect(error).toMatchObject({ code: 'bad_name', message: expect.stringContaining('shaped like an id') });
  }
  expect((await sandbox.list()).map(({ name }) => name)).toEqual(['real']);
});

it('of an older store does not stand before the one whose id it is, and is reached by its own', async () => {
  const real = await launchIn(sandbox, 'real', 'sleep', '60');
  const impostor = await launchIn(sandbox, 'impostor', 'sleep', '60');
  const { id } = await sandbox.show('impostor');
  rename('impostor', real.run.id);
  await sandbox.json(['stop', real.run.id, '--grace', '0']);
  expect([isAlive(real.harness), isAlive(impostor.harness)]).toEqual([false, true]);
  await sandbox.json(['stop', id, '--grace', '0']);
  expect(isAlive(impostor.harness)).toBe(false);
  // It goes on under its name, for it has no other.
  const resumed = await sandbox.json<SessionDetail>(['resume', id, '-d', '--', 'sleep', '60']);
  expect(resumed).toMatchObject({ id, name: real.run.id, epoch: 2 });
});

it('of an older store may be the id of an earlier run of its own, which names that run', async () => {
  const first = await launchIn(sandbox, 'a', 'sleep', '60');
  const words = ['run', '-d', '-s', 'a', '--on-live', 'retire', '--grace', '0', '--', 'sleep', '60'];
  await sandbox.json(words);
  rename('a', first.run.id);
  const { error } = await sandbox.json<{ error: { code: string } }>(['stop', first.run.id], 5);
  expect(error.code).toBe('fenced');
});

it('that is the beginning of another’s id is ambiguous, and nobody is ended', async () => {
  const real = await launchIn(sandbox, 'real', 'sleep', '60');
  const beginning = real.run.id.slice(0, 6);
  const other = await launchIn(sandbox, beginning, 'sleep', '60');
  const { error } = await sandbox.json<{ error: { code: string } }>(['stop', beginning], 2);
  expect(error.code).toBe('ambiguous');
  expect([isAlive(real.harness), isAlive(other.harness)]).toEqual([true, true]);
});
