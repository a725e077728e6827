/** The ledger from transcript to store: read once, whoever dies or reads beside another, and no more than is new. */
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Run } from '../../src/lifecycle/run.ts';
import type { Session } from '../../src/lifecycle/session.ts';
import { totalOf } from '../../src/lifecycle/usage.ts';
import { openContext } from '../../src/supervisor/context.ts';
import type { Context } from '../../src/supervisor/context.ts';
import { ledgerFor, readLedger } from '../../src/supervisor/ledger.ts';
import { createFileMemory } from '../../src/supervisor/ledger-files.ts';
import { claudeAnswer, noise } from '../fixtures/usage-transcripts.ts';
import { bundleStoreChild, startAtOnce } from '../store/child-programs.ts';
import { claimOf, end, many, start, won } from '../store/examples.ts';

const CWD = '/home/ada/work';

let root: string;
let context: Context;
let problems: string[];

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'reeve-ledger-'));
  context = await openContext({ home: join(root, 'state'), environment: { HOME: root } });
  problems = [];
});
afterEach(async () => {
  await context.store.close();
  rmSync(root, { recursive: true, force: true });
});

interface Begun {
  readonly session: Session;
  readonly run: Run;
  readonly nativeId: string;
  readonly transcript: string;
}

/** A living run of Claude here, as far as the store knows, and a transcript that begins with nothing. */
async function begin(name: string, nativeId: string = randomUUID()): Promise<Begun> {
  const { table, store } = context;
  const here = { ...table.host, pid: 4_194_304, startTime: '1' };
  const { session, run } = await won(store, claimOf(name, { nativeId, cwd: CWD, launcher: here }));
  await store.step(run.id, { ...start, keeper: here, atMs: Date.now() - 1000 });
  const transcript = join(root, '.claude', 'projects', CWD.replaceAll('/', '-'), `${nativeId}.jsonl`);
  mkdirSync(dirname(transcript), { recursive: true });
  writeFileSync(transcript, noise(0));
  return { session, run, nativeId, transcript };
}

let answers = 0;
const answer = (tokens = 100) => {
  answers += 1;
  return claudeAnswer({ id: `msg_${answers}`, atMs: Date.now(), input: tokens - 1, output: 1 }, 2);
};
const spent = async ({ session }: Begun) => {
  const tokens = (await context.store.usageTotals([session.id])).get(session.id);
  return tokens === undefined ? null : totalOf(tokens);
};
const keep = () => ledgerFor(context, (problem) => problems.push(problem));

describe('a round', () => {
  it('reads what is new in every living session, and only looks when nothing is', async () => {
    const [alpha, beta] = [await begin('alpha'), await begin('beta')];
    const ledger = keep();
    appendFileSync(alpha.transcript, answer() + answer());
    expect(await ledger.round()).toMatchObject({ sessions: 2, problems: [] });
    expect([await spent(alpha), await spent(beta)]).toEqual([200, null]);
    expect(await ledger.round()).toEqual({ sessions: 0, bytes: 0, problems: [] });
    const more = answer();
    appendFileSync(beta.transcript, more);
    expect(await ledger.round()).toEqual({ sessions: 1, bytes: more.length, problems: [] });
    expect([await spent(alpha), await spent(beta)]).toEqual([200, 100]);
  });

  it('goes on at once with what was too much for the one before', async () => {
    const alpha = await begin('alpha');
    const text = many(3_000, () => answer()).join('');
    appendFileSync(alpha.transcript, text);
    const ledger = ledgerFor(context, () => {}, 300_000);
    let rounds = 0;
    while ((await ledger.round()).bytes > 0) rounds += 1;
    expect(rounds).toBeGreaterThan(1);
    expect(await spent(alpha)).toBe(300_000);
    await context.store.step(alpha.run.id, end({ endedAtMs: Date.now() }));
    expect((await ledger.round()).sessions).toBe(1);
    expect(await context.store.unsettledRuns(0, 10)).toEqual([]);
  });

  it('goes on where another process, or this one before a restart, left off', async () => {
    const alpha = await begin('alpha');
    appendFileSync(alpha.transcript, answer());
    await keep().round();
    expect((await keep().round()).bytes).toBe(0);
    appendFileSync(alpha.transcript, answer());
    await keep().round();
    expect(await spent(alpha)).toBe(200);
  });

  it('reads a session once more after its end, and then never again', async () => {
    const alpha = await begin('alpha');
    const ledger = keep();
    appendFileSync(alpha.transcript, answer());
    await ledger.round();
    appendFileSync(alpha.transcript, answer());
    await context.store.step(alpha.run.id, end({ endedAtMs: Date.now() }));
    expect((await ledger.round()).sessions).toBe(1);
    expect(await spent(alpha)).toBe(200);
    appendFileSync(alpha.transcript, answer());
    expect((await ledger.round()).sessions).toBe(0);
    expect((await keep().round()).sessions).toBe(0);
    expect(await spent(alpha)).toBe(200);
  });

  it('finds what a run spent after it was over when the next one goes on', async () => {
    const alpha = await begin('alpha');
    appendFileSync(alpha.transcript, answer());
    await context.store.step(alpha.run.id, end({ endedAtMs: Date.now() }));
    await keep().round();
    await new Promise((resolve) => setTimeout(resolve, 5));
    const late = answer();
    const next = await won(
      context.store,
      claimOf('alpha', { nativeId: alpha.nativeId, cwd: CWD, launcher: alpha.run.launcher }),
    );
    await context.store.step(next.run.id, { ...start, keeper: alpha.run.launcher, atMs: Date.now() + 5 });
    appendFileSync(alpha.transcript, late);
    await keep().round();
    expect(await context.store.usageOf({ by: 'run' })).toMatchObject([
      { name: alpha.run.id, input: 198, late: 100 },
    ]);
  });

  it('reads the subagents of a conversation, and every conversation of a session', async () => {
    const alpha = await begin('alpha');
    const ledger = keep();
    await ledger.round();
    const subagent = join(alpha.transcript.replace('.jsonl', ''), 'subagents', 'agent-a1.jsonl');
    mkdirSync(dirname(subagent), { recursive: true });
    writeFileSync(subagent, answer(7));
    appendFileSync(alpha.transcript, answer(10));
    const cleared = randomUUID();
    for (const nativeId of [alpha.nativeId, cleared]) {
      const fact = {
        kind: 'session.began',
        nativeId,
        atMs: Date.now(),
        evidence: 'e',
        isFromHarness: true,
      } as const;
      await context.store.observe(alpha.run.id, fact, nativeId);
    }
    writeFileSync(join(dirname(alpha.transcript), `${cleared}.jsonl`), answer(1000));
    await ledger.round();
    expect(await spent(alpha)).toBe(1017);
  });

  it('says once what it cannot read, and reads all else', async () => {
    const [alpha, beta] = [await begin('alpha'), await begin('beta')];
    rmSync(alpha.transcript);
    symlinkSync(alpha.transcript, alpha.transcript);
    const subagents = join(alpha.transcript.replace('.jsonl', ''), 'subagents');
    mkdirSync(subagents, { recursive: true });
    mkdirSync(join(subagents, 'agent-a1.jsonl'));
    appendFileSync(beta.transcript, answer());
    const ledger = keep();
    expect((await ledger.round()).problems).toHaveLength(2);
    appendFileSync(beta.transcript, answer());
    expect((await ledger.round()).problems).toHaveLength(2);
    // Also when it is tried again, which after its end is every time.
    await context.store.step(alpha.run.id, end({ endedAtMs: Date.now() }));
    expect((await ledger.round()).problems).toHaveLength(2);
    expect((await ledger.round()).problems).toHaveLength(2);
    expect(problems).toHaveLength(2);
    expect(await spent(beta)).toBe(200);
    rmSync(alpha.transcript);
    rmSync(subagents, { recursive: true });
    writeFileSync(alpha.transcript, answer());
    expect((await ledger.round()).problems).toEqual([]);
    expect(await spent(alpha)).toBe(100);
    expect((await ledger.round()).sessions).toBe(0);
  });

  it('leaves the runs of another host to that one', async () => {
    const { session, run } = await won(context.store, claimOf('far', { nativeId: randomUUID(), cwd: CWD }));
    await context.store.step(run.id, start);
    expect((await keep().round()).sessions).toBe(0);
    await context.store.step(run.id, end({ endedAtMs: Date.now() }));
    expect((await keep().round()).sessions).toBe(0);
    expect(await context.store.unsettledRuns(0, 10)).toMatchObject([{ session: { id: session.id } }]);
  });

  it('counts once what a file says that is put in the place of another', async () => {
    const alpha = await begin('alpha');
    const first = answer() + answer();
    const ledger = keep();
    appendFileSync(alpha.transcript, first);
    await ledger.round();
    writeFileSync(`${alpha.transcript}.new`, first + answer());
    renameSync(`${alpha.transcript}.new`, alpha.transcript);
    await ledger.round();
    expect(await spent(alpha)).toBe(300);
    writeFileSync(alpha.transcript, first);
    await ledger.round();
    expect(await spent(alpha)).toBe(300);
  });
});

describe('one call', () => {
  it('reads on from where somebody else has come to meanwhile', async () => {
    const alpha = await begin('alpha');
    appendFileSync(alpha.transcript, answer() + answer());
    let calls = 0;
    const beaten: Context['store'] = {
      ...context.store,
      recordUsage: async (batch) => {
        calls += 1;
        if (calls > 1) return context.store.recordUsage(batch);
        await readLedger(context, alpha);
        appendFileSync(alpha.transcript, answer());
        return context.store.recordUsage(batch);
      },
    };
    const reading = await readLedger({ ...context, store: beaten }, alpha);
    expect([reading.records, reading.isComplete, calls]).toEqual([1, true, 2]);
    expect(await spent(alpha)).toBe(300);
  });

  it('finds a file that was read before, wherever its harness had it', async () => {
    const alpha = await begin('alpha');
    appendFileSync(alpha.transcript, answer());
    await readLedger(context, alpha);
    appendFileSync(alpha.transcript, answer());
    await readLedger({ ...context, environment: { HOME: '/nonexistent' } }, alpha);
    expect(await spent(alpha)).toBe(200);
  });

  it('reads no more than it may, and says that there is more', async () => {
    const alpha = await begin('alpha');
    appendFileSync(alpha.transcript, many(3_000, () => answer()).join(''));
    const memory = createFileMemory();
    let calls = 0;
    for (; calls < 100; calls += 1) {
      const reading = await readLedger(context, alpha, memory, 300_000);
      expect(reading.bytes).toBeLessThan(1_200_000);
      if (reading.isComplete) break;
    }
    expect(calls).toBeGreaterThan(1);
    expect(await spent(alpha)).toBe(300_000);
    expect(await readLedger(context, alpha, memory)).toMatchObject({ bytes: 0, isComplete: true });
  });

  it('of a session that is forgotten meanwhile leaves nothing behind', async () => {
    const alpha = await begin('alpha');
    appendFileSync(alpha.transcript, answer());
    await context.store.step(alpha.run.id, end());
    await context.store.removeSession(alpha.session.id, 'ada');
    expect(await readLedger(context, alpha)).toMatchObject({ records: 0 });
    expect(await context.store.usagePositions(alpha.session.id)).toEqual([]);
  });
});

describe('with other processes', () => {
  const ANSWERS = 9_000;
  let directory: string;
  let program: string;
  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'reeve-ledger-child-'));
    program = await bundleStoreChild(directory, 'ledger-child');
  });
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  const command = (rounds = 1) => [process.execPath, program, join(root, 'state'), String(rounds)];
  const env = (more: Record<string, string> = {}) => ({ PATH: process.env['PATH'], HOME: root, ...more });

  async function run(checkpoint?: string) {
    const more: Record<string, string> = checkpoint === undefined ? {} : { REEVE_CHECKPOINT: checkpoint };
    const [child] = await startAtOnce([command()], env(more));
    if (child === undefined) throw new Error('There is a child for each command.');
    return child.ended;
  }

  /** What is on record is what stands before the position, neither more nor less. */
  async function expectConsistent(alpha: Begun, text: string): Promise<number> {
    const [file] = await context.store.usagePositions(alpha.session.id);
    const read = Buffer.from(text)
      .subarray(0, file?.position.offset ?? 0)
      .toString();
    const ids = new Set([...read.matchAll(/"id":"(msg_\d+)"/g)].map(([, id]) => id));
    const rows = await context.store.usageOf({ by: 'session', sinceMs: 0 });
    expect(rows.map(({ output }) => output)).toEqual(ids.size === 0 ? [] : [ids.size]);
    expect(await spent(alpha)).toBe(ids.size === 0 ? null : ids.size * 100);
    return ids.size;
  }

  it('neither loses nor doubles anything when it is killed before or behind any record', async () => {
    const alpha = await begin('alpha');
    const text = noise(0) + many(ANSWERS, () => answer()).join('');
    writeFileSync(alpha.transcript, text);
    const seen: number[] = [];
    for (let attempt = 0; attempt < 20; attempt += 1) {
      expect((await run('ledger.read=kill')).signal).toBe(seen.at(-1) === ANSWERS ? null : 'SIGKILL');
      seen.push(await expectConsistent(alpha, text));
      const { signal } = await run('ledger.recorded=kill');
      seen.push(await expectConsistent(alpha, text));
      if (signal === null) break;
    }
    expect(seen.at(-1)).toBe(ANSWERS);
    expect(new Set(seen).size).toBeGreaterThan(3);
    expect((await context.store.figures()).tokens['claude']?.output).toBe(ANSWERS);
  });

  it('neither loses nor doubles anything when it is killed at any moment', async () => {
    const alpha = await begin('alpha');
    const text = noise(0) + many(ANSWERS, () => answer()).join('');
    writeFileSync(alpha.transcript, text);
    for (let attempt = 0; attempt < 12; attempt += 1) {
      const [child] = await startAtOnce([command()], env());
      // A child of this process that was not collected yet is still itself.
      const timer = setTimeout(() => child?.process.kill('SIGKILL'), 40 + attempt * 15);
      await child?.ended;
      clearTimeout(timer);
      await expectConsistent(alpha, text);
    }
    expect((await run()).code).toBe(0);
    expect(await expectConsistent(alpha, text)).toBe(ANSWERS);
  });

  it('records everything once while several read the same, and it grows', async () => {
    const alpha = await begin('alpha');
    writeFileSync(alpha.transcript, many(ANSWERS / 2, () => answer()).join(''));
    const children = await startAtOnce(
      many(3, () => command(30)),
      env(),
    );
    for (let index = 0; index < 30; index += 1) {
      appendFileSync(alpha.transcript, many(ANSWERS / 60, () => answer()).join(''));
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    const ends = await Promise.all(children.map(({ ended }) => ended));
    expect(ends.map(({ code, stderr }) => [code, stderr])).toEqual(many(3, () => [0, '']));
    await keep().round();
    expect(await spent(alpha)).toBe(ANSWERS * 100);
    expect((await context.store.figures()).tokens['claude']?.output).toBe(ANSWERS);
  });
});
