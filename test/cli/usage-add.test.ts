/** `usage add`: what a plain command says that it spent. */
import { DatabaseSync } from '@photostructure/sqlite';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openReeve } from '../../src/supervisor/reeve.ts';
import { openStore } from '../../src/store/open.ts';
import { insideRun } from '../support/credentials.ts';
import { CLI, createSandbox } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

let sandbox: Sandbox;
beforeEach(() => {
  sandbox = createSandbox();
});
afterEach(() => sandbox.cleanUp());

type Environment = Record<string, string>;

async function add(env: Environment, ...words: readonly string[]) {
  const { code, signal, stdout } = await sandbox.reeve(['usage', 'add', ...words, '--json'], { env });
  const json = (stdout === '' ? {} : JSON.parse(stdout)) as { again?: boolean; error?: { code: string } };
  return { code, signal, json };
}

async function spentBy(runId: string) {
  const store = await openStore({ sqlite: `${sandbox.home}/reeve.db` });
  try {
    return await store.usageOf({ by: 'run', runId });
  } finally {
    await store.close();
  }
}

const ALL = '--model m1 --input 10 --output 4 --cache-read 300 --cache-write 20 --reasoning 3'.split(' ');
const SPENT = { input: 10, output: 4, cacheRead: 300, cacheWrite: 20, reasoning: 3 };

it('from inside a run counts for that run', async () => {
  const script = `${process.execPath} ${CLI} usage add ${ALL.join(' ')}`;
  expect((await sandbox.reeve(['run', '-s', 'a', '--', 'sh', '-c', script])).code).toBe(0);
  const { run } = await sandbox.show('a');
  expect(await spentBy(run.id)).toEqual([{ name: run.id, ...SPENT, late: 0 }]);
});

it('counts every call without a key, and one with a key once, however many make it at once', async () => {
  const { run, env } = await insideRun(sandbox, 'a');
  expect(await add(env, ...ALL)).toEqual({
    code: 0,
    signal: null,
    json: { accepted: true, again: false, run: run.id, model: 'm1', ...SPENT },
  });
  await add(env, ...ALL);
  const keyed = await Promise.all(
    Array.from({ length: 6 }, () => add(env, '--model', 'm1', '--input', '1000', '--key', 'k')),
  );
  expect(keyed.map(({ code }) => code)).toEqual([0, 0, 0, 0, 0, 0]);
  expect(keyed.filter(({ json }) => json.again === false)).toHaveLength(1);
  expect((await spentBy(run.id))[0]).toMatchObject({ input: 1020, output: 8, late: 0 });
  const other = await add(env, '--model', 'm1', '--input', '1001', '--key', 'k');
  expect([other.code, other.json.error?.code]).toEqual([2, 'conflict']);
  expect((await spentBy(run.id))[0]).toMatchObject({ input: 1020 });
});

it('of a run that is over, or of a stranger, is refused and not counted', async () => {
  const { run, env } = await insideRun(sandbox, 'a');
  await insideRun(sandbox, 'a', '--on-live', 'retire', '--grace', '0');
  for (const given of [env, { ...env, REEVE_TOKEN: 'forged' }, { ...env, REEVE_RUN: 'r-nobody' }]) {
    const late = await add(given, ...ALL);
    expect([late.code, late.json.error?.code]).toEqual([5, 'fenced']);
  }
  expect(await spentBy(run.id)).toEqual([]);
  expect((await sandbox.reeve(['why', 'a'])).stdout).toContain(`A late usage of run ${run.id} was refused`);
  expect((await add({}, ...ALL)).code).toBe(2);
});

it('that was recorded before its process was killed counts once when it is sent again', async () => {
  const { run, env } = await insideRun(sandbox, 'a');
  const words = [...ALL, '--key', 'k'];
  const killed = await add({ ...env, REEVE_CHECKPOINT: 'usage.recorded=kill' }, ...words);
  expect(killed.signal).toBe('SIGKILL');
  expect(await add(env, ...words)).toMatchObject({ code: 0, json: { again: true } });
  expect(await spentBy(run.id)).toEqual([{ name: run.id, ...SPENT, late: 0 }]);
});

it('is refused for a harness whose transcripts tell it', async () => {
  const { run, env } = await insideRun(sandbox, 'a');
  const database = new DatabaseSync(`${sandbox.home}/reeve.db`);
  database.exec(`update sessions set harness = 'claude'`);
  database.close();
  const refused = await add(env, ...ALL);
  expect([refused.code, refused.json.error?.code]).toEqual([2, 'usage']);
  expect(await spentBy(run.id)).toEqual([]);
});

it('takes whole numbers within bounds, a model and a plain key, and nothing else', async () => {
  const { run, env } = await insideRun(sandbox, 'a');
  const wrong = [
    ['--input', '1'],
    ['--model', 'm'],
    ['--model', 'm', '--input', '0', '--output', '0'],
    ['--model', 'm', '--input', '-1'],
    ['--model', 'm', '--input', '1.5'],
    ['--model', 'm', '--input', '1e3'],
    ['--model', 'm', '--input', ''],
    ['--model', 'm', '--input', '1000000000001'],
    ['--model', 'm', '--input', '1', '--reasoning', '1'],
    ['--model', '', '--input', '1'],
    ['--model', 'a\nb', '--input', '1'],
    ['--model', 'x'.repeat(201), '--input', '1'],
    ['--model', 'm', '--input', '1', '--key', ''],
    ['--model', 'm', '--input', '1', '--key', 'x'.repeat(101)],
  ];
  for (const words of wrong) {
    const { code, json } = await add(env, ...words);
    expect({ words, code, is: json.error?.code }).toEqual({ words, code: 2, is: 'usage' });
  }
  expect(await spentBy(run.id)).toEqual([]);
  expect((await add(env, '--model', 'm', '--input', '1000000000000')).code).toBe(0);
});

it('cannot be given by the library what the command line cannot spell', async () => {
  const { run, env } = await insideRun(sandbox, 'a');
  const reeve = await openReeve({ home: sandbox.home, environment: { ...sandbox.env, ...env } });
  const holder = { run: run.id, token: env.REEVE_TOKEN };
  try {
    for (const input of [Number.NaN, Number.POSITIVE_INFINITY, -1, 0.5, 1e12 + 1]) {
      await expect(reeve.addUsage({ model: 'm', input })).rejects.toMatchObject({ code: 'usage' });
    }
    for (const data of ['a\0b', '\uD800', '']) {
      await expect(reeve.submit({ data }, holder)).rejects.toMatchObject({ code: 'usage' });
    }
    const submitted = await reeve.submit({ data: 'found' }, holder);
    const id = submitted.accepted ? submitted.id : '';
    expect(await reeve.submission(id)).toMatchObject({ id, session: 'a', data: 'found', accepted: true });
    expect(await reeve.submissions({ session: 'a', refused: true })).toEqual({
      submissions: [],
      isCut: false,
    });
    expect(await reeve.addUsage({ model: 'm', input: 1 }, holder)).toMatchObject({
      accepted: true,
      again: false,
    });
  } finally {
    await reeve.close();
  }
});

it('is suggested when it is mistyped, unless a session has that name', async () => {
  const stderrOf = async (...words: readonly string[]) => (await sandbox.reeve(['usage', ...words])).stderr;
  expect(await stderrOf('ad')).toContain('Did you mean usage add?');
  expect(await stderrOf('web')).toContain('`reeve ls --all` lists the sessions.');
  await sandbox.reeve(['run', '-s', 'ad', '--', 'true']);
  expect(await stderrOf('ad')).not.toContain('Did you mean');
});
