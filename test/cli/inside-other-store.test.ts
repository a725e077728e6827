/** A command inside a run of a PostgreSQL that has lost its environment opens no SQLite beside it. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createLockedDatabase } from '../support/locked-database.ts';
import { startPostgres } from '../support/postgres.ts';
import { CLI, createSandbox } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

let server: Awaited<ReturnType<typeof startPostgres>>;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.stop());

let sandbox: Sandbox;
afterEach(() => sandbox.cleanUp());

const STORES = {
  'with a password': async () => ({ REEVE_STORE: (await createLockedDatabase(server)).address }),
  'without a password': async () => ({ REEVE_STORE: await server.createDatabase() }),
};

/** Of each line, executed inside a run of `web`: its exit code, and what it said. */
async function inside(...lines: readonly string[]): Promise<readonly { code: number; said: string }[]> {
  const script = lines.map((line, index) => `${line} >said.${index} 2>&1; echo $? >code.${index}`);
  writeFileSync(sandbox.path('script'), script.join('\n'));
  expect((await sandbox.reeve(['run', '-s', 'web', '--', 'sh', 'script'])).code).toBe(0);
  return lines.map((_, index) => ({
    code: Number(readFileSync(sandbox.path(`code.${index}`), 'utf8')),
    said: readFileSync(sandbox.path(`said.${index}`), 'utf8'),
  }));
}

const reeve = `${process.execPath} ${CLI}`;
const start = `${reeve} run -d -s web -- true`;
const bare = (home = '$REEVE_HOME') => `env -i HOME="$HOME" PATH="$PATH" REEVE_HOME="${home}"`;

describe.each(Object.entries(STORES))('inside a run of a PostgreSQL %s', (_, store) => {
  it.each([
    ['with an empty environment', `${bare()} ${start}`],
    ['without the store and the mark', `env -u REEVE_STORE -u REEVE_RUN ${start}`],
    ['without the store', `env -u REEVE_STORE ${start}`],
    ['that only looks', `${bare()} ${reeve} ls`],
    ['in a session of its own', `${bare()} setsid -w sh -c '${start}'`],
    ['that makes a daemon', `${bare()} ${reeve} serve --detach`],
  ])('a command %s opens no SQLite', async (_what, line) => {
    sandbox = createSandbox(await store());
    expect(await inside(line)).toMatchObject([{ code: 7 }]);
    expect(existsSync(join(sandbox.home, 'reeve.db'))).toBe(false);
    expect((await sandbox.show('web')).runs).toHaveLength(1);
  });

  it('another state directory may be used', async () => {
    sandbox = createSandbox(await store());
    const other = sandbox.path('other');
    expect(await inside(`${bare(other)} ${reeve} run -s web -- true`)).toMatchObject([{ code: 0 }]);
    expect(existsSync(join(other, 'reeve.db'))).toBe(true);
  });
});

it('it is told which run this is, although the files of owners are lost', async () => {
  sandbox = createSandbox(await STORES['without a password']());
  const owners = join(sandbox.root, '.local', 'state', 'reeve-owners');
  const [refused] = await inside(`rm -r ${owners}; ${bare()} ${reeve} ls`);
  const { run } = await sandbox.show('web');
  expect(refused?.said).toContain(`This is inside run ${run.id} of web, whose store is postgres://`);
});

it('inside a run of SQLite, a command without an environment finds the same store', async () => {
  sandbox = createSandbox();
  const [ls] = await inside(`${bare()} ${reeve} ls`);
  expect(ls).toMatchObject({ code: 0, said: expect.stringContaining('web') });
});
