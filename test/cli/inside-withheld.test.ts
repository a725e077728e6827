/**
 * `reeve` inside a run whose store has a password: the address is withheld from the run, what it writes goes by the daemon
 * or by the run's spool, and nothing else is opened in the place of the store.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { SubmissionsView } from '../../src/api/submission-view.ts';
import { openReeve } from '../../src/supervisor/reeve.ts';
import { createLockedDatabase } from '../support/locked-database.ts';
import type { LockedDatabase } from '../support/locked-database.ts';
import { startPostgres } from '../support/postgres.ts';
import { CLI, createSandbox } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';
import { openDaemon } from '../daemon/support.ts';
import type { Daemon } from '../daemon/support.ts';

let server: Awaited<ReturnType<typeof startPostgres>>;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.stop());

let sandbox: Sandbox;
let locked: LockedDatabase;
beforeEach(async () => {
  locked = await createLockedDatabase(server);
  sandbox = createSandbox({ REEVE_STORE: locked.address });
});
afterEach(() => sandbox.cleanUp());

interface Answer {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** What each of these commands answered, inside a run of `outer` that then exits 0. */
async function inside(...commands: readonly string[]): Promise<readonly Answer[]> {
  const lines = commands.map(
    (words, index) =>
      `${process.execPath} ${CLI} ${words} >out.${index} 2>err.${index}; echo $? >code.${index}`,
  );
  const seen = ['env >environment', 'cat /proc/[0-9]*/cmdline >arguments 2>/dev/null'];
  const script = [...lines, ...seen, 'exit 0'].join('\n');
  const result = await sandbox.reeve(['run', '-s', 'outer', '--', 'sh', '-c', script]);
  if (result.code !== 0) throw new Error(`The run exited ${result.code}: ${result.stderr}`);
  const read = (name: string) => readFileSync(sandbox.path(name), 'utf8');
  return commands.map((_, index) => ({
    code: Number(read(`code.${index}`)),
    stdout: read(`out.${index}`),
    stderr: read(`err.${index}`),
  }));
}

const jsonOf = async <T>(...words: readonly string[]) =>
  JSON.parse((await sandbox.reeve([...words, '--json'])).stdout) as T;
const submissions = async () => (await jsonOf<SubmissionsView>('submit', 'ls', 'outer')).submissions;

const WRITES = [
  'heartbeat --json',
  'submit --data finding --json',
  'usage add --model m --input 7 --key once --json',
] as const;

/** What every write leaves on record, once, and what it does not. */
async function expectWrittenOnce(): Promise<void> {
  const shown = await sandbox.show('outer');
  expect(shown.run).toMatchObject({ outcome: 'completed', exitCode: 0 });
  expect(await submissions()).toMatchObject([{ accepted: true, bytes: 5, run: shown.run.id }]);
  expect(await jsonOf('usage', 'outer')).toMatchObject({ all: { total: 7, late: 0 } });
  expect((await sandbox.reeve(['why', 'outer'])).stdout).not.toContain('refused');
  expect(existsSync(join(sandbox.home, 'reeve.db'))).toBe(false);
}

describe('inside a run whose store has a password, without a daemon', () => {
  it('what it writes is left in its spool, taken in before its end, and counts once', async () => {
    writeFileSync(sandbox.path('finding'), 'found');
    const [beat, first, spent, again] = await inside(...WRITES, 'submit --data finding');
    expect([beat, first, spent].map((answer) => answer?.code)).toEqual([0, 0, 0]);
    const queued = { accepted: false, queued: true };
    expect(JSON.parse(beat?.stdout ?? '')).toEqual({ ...queued, run: expect.stringMatching(/^r-/) });
    expect(JSON.parse(first?.stdout ?? '')).toEqual({
      ...queued,
      key: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    expect(JSON.parse(spent?.stdout ?? '')).toMatchObject({ ...queued, model: 'm', input: 7 });
    expect(again?.code).toBe(0);
    await expectWrittenOnce();
    const { run } = await sandbox.show('outer');
    expect(
      readdirSync(join(sandbox.home, 'runs', run.id, 'hooks')).filter((name) => name.startsWith('.write')),
    ).toEqual([]);
  });

  it('looking and starting are refused in one sentence, and no second owner comes to be', async () => {
    const answers = await inside(
      'ls',
      'ls --json',
      'show outer',
      'why outer',
      'run -s outer -- true',
      'run -d -s outer --force -- sleep 60',
      'resume outer',
      'child run -- true',
      'stop outer',
      'review ls',
      'top --json',
      'send outer hello',
      'budget',
    );
    expect(answers.map(({ code }) => code)).toEqual(answers.map(() => 7));
    for (const { stdout } of answers) expect(stdout).not.toContain('No sessions');
    expect(JSON.parse(answers[1]?.stdout ?? '')).toMatchObject({ error: { code: 'store_withheld' } });
    const shown = await sandbox.show('outer');
    expect(shown.runs).toHaveLength(1);
    expect(shown.run).toMatchObject({ outcome: 'completed', epoch: 1 });
    expect(existsSync(join(sandbox.home, 'reeve.db'))).toBe(false);
  });

  it('is not deceived by a variable that was taken away', async () => {
    const verbs = ['ls', 'run -d -s outer -- sleep 60', 'doctor'];
    const lines = verbs.map((verb, index) => `${process.execPath} ${CLI} ${verb}; echo $? >bare.${index}`);
    writeFileSync(sandbox.path('bare'), ['unset REEVE_STORE', ...lines].join('\n'));
    await sandbox.reeve(['run', '-s', 'outer', '--', 'sh', 'bare']);
    const codes = verbs.map((_, index) => readFileSync(sandbox.path(`bare.${index}`), 'utf8'));
    expect(codes).toEqual(['7\n', '7\n', '1\n']);
    expect(existsSync(join(sandbox.home, 'reeve.db'))).toBe(false);
    expect((await sandbox.show('outer')).runs).toHaveLength(1);
  });

  it('what can be seen to be wrong is refused at once', async () => {
    writeFileSync(sandbox.path('empty'), '');
    const answers = await inside(
      'submit --data empty',
      'usage add --model m',
      'submit --data none',
      'usage add --model m --input 1 --output 1 --reasoning 2',
    );
    expect(answers.map(({ code }) => code)).toEqual([2, 2, 2, 2]);
    expect(await submissions()).toEqual([]);
  });

  it('the password is in no environment, argument or file of the run', async () => {
    await inside('paths');
    for (const seen of ['environment', 'arguments'])
      expect(readFileSync(sandbox.path(seen), 'latin1')).not.toContain(locked.password);
    expect(readFileSync(sandbox.path('out.0'), 'utf8')).toContain('withheld');
    const files = readdirSync(sandbox.root, { recursive: true, withFileTypes: true }).filter((entry) =>
      entry.isFile(),
    );
    expect(files.length).toBeGreaterThan(0);
    for (const file of files)
      expect(readFileSync(join(file.parentPath, file.name), 'latin1')).not.toContain(locked.password);
  });
});

it('a run that a program starts on a store of its choice is told that it is withheld, and ends there', async () => {
  const { REEVE_STORE: _, ...environment } = sandbox.env;
  const reeve = await openReeve({ home: sandbox.home, store: locked.address, environment });
  try {
    const script = 'echo "$REEVE_STORE" >told';
    const started = await reeve.launch({ session: 'a', cwd: sandbox.root, argv: ['sh', '-c', script] });
    if (started.is !== 'started') throw new Error(`It was ${started.is}.`);
    expect((await started.over()).ending.evidence).toContain('its keeper saw it exit');
  } finally {
    await reeve.close();
  }
  expect(readFileSync(sandbox.path('told'), 'utf8')).toBe('withheld\n');
});

describe('inside a run whose store has a password, with a daemon', () => {
  let daemon: Daemon;
  beforeEach(async () => {
    daemon = await openDaemon(sandbox);
  });
  afterEach(() => daemon.stop());

  it('what it writes goes to the daemon, and is answered as ever', async () => {
    writeFileSync(sandbox.path('finding'), 'found');
    const [beat, first, spent, again] = await inside(...WRITES, 'submit --data finding --json');
    expect(JSON.parse(beat?.stdout ?? '')).toEqual({ accepted: true, run: expect.stringMatching(/^r-/) });
    const accepted = { accepted: true, again: false, id: expect.stringMatching(/^sub-/) };
    expect(JSON.parse(first?.stdout ?? '')).toEqual(accepted);
    expect(JSON.parse(spent?.stdout ?? '')).toMatchObject({ accepted: true, again: false, input: 7 });
    expect(JSON.parse(again?.stdout ?? '')).toMatchObject({ accepted: true, again: true });
    await expectWrittenOnce();
  });

  it('it sees its own session, and nobody else’s; and starts nothing', async () => {
    await sandbox.json(['run', '-d', '-s', 'other', '--', 'sleep', '60']);
    const [ls, show, why, usage, other, run] = await inside(
      'ls --json',
      'show outer',
      'why outer --json',
      'usage --json',
      'show other',
      'run -d -s outer --force -- sleep 60',
    );
    expect((JSON.parse(ls?.stdout ?? '') as { name: string }[]).map(({ name }) => name)).toEqual(['outer']);
    expect(ls?.stderr).toContain('own session');
    expect(show?.stdout).toContain('outer');
    expect(JSON.parse(why?.stdout ?? '')).toMatchObject({ session: 'outer' });
    expect(JSON.parse(usage?.stdout ?? '')).toMatchObject({ session: 'outer' });
    expect([ls, show, why, usage, other, run].map((answer) => answer?.code)).toEqual([0, 0, 0, 0, 1, 7]);
    expect((await sandbox.show('outer')).runs).toHaveLength(1);
    await sandbox.json(['kill', 'other']);
  });
});
