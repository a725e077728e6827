/** What it costs to keep the ledger of a long conversation: time, memory, and a look when nothing is new. */
import { execFileSync } from 'node:child_process';
import {
  closeSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { openContext } from '../src/supervisor/context.ts';
import { claudeAnswer, line } from '../test/fixtures/usage-transcripts.ts';
import { bundleStoreChild } from '../test/store/child-programs.ts';
import { copyDatabase } from './history.ts';
import { claimRequest } from './record.ts';
import { compare, median } from './support.ts';
import type { Figure } from './support.ts';

const MEGABYTE = 1024 * 1024;
const BYTES = 200 * MEGABYTE;
const SAMPLES = 5;
const NATIVE_ID = '22222222-2222-4222-8222-222222222222';

interface Pass {
  readonly firstMs: number;
  readonly secondMs: number;
  readonly idleBytes: number;
  readonly peakBytes: number;
  readonly output: number;
}

export async function measureLedger(): Promise<readonly Figure[]> {
  const root = mkdtempSync(join(tmpdir(), 'reeve-bench-ledger-'));
  try {
    const program = await bundleStoreChild(root, 'ledger-pass');
    const { cwd } = claimRequest('long');
    const transcript = join(root, '.claude', 'projects', cwd.replaceAll('/', '-'), `${NATIVE_ID}.jsonl`);
    const answers = generate(transcript);
    const fresh = join(root, 'fresh.db');
    await prepare(root, fresh);
    const run = (...args: string[]): Pass =>
      // The program's own words.
      JSON.parse(
        execFileSync(process.execPath, ['--expose-gc', program, ...args], {
          env: { PATH: process.env['PATH'], HOME: root },
          encoding: 'utf8',
        }),
      ) as Pass;
    const passes: Pass[] = [];
    const read = () => {
      for (const ending of ['-wal', '-shm'])
        rmSync(join(root, 'state', `reeve.db${ending}`), { force: true });
      copyFileSync(fresh, join(root, 'state', 'reeve.db'));
      const pass = run('ledger', join(root, 'state'));
      if (pass.output !== answers)
        throw new Error(`${pass.output} answers are in the ledger, not ${answers}.`);
      passes.push(pass);
      return pass.firstMs;
    };
    const compared = await compare(SAMPLES, read, () => run('plain', transcript).firstMs);
    return figures(compared, passes, statSync(transcript).size);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

function figures(
  { subject, baseline, ratio }: Awaited<ReturnType<typeof compare>>,
  passes: readonly Pass[],
  size: number,
): readonly Figure[] {
  const second = median(passes.map(({ firstMs, secondMs }) => secondMs / firstMs));
  const memory = Math.max(...passes.map(({ idleBytes, peakBytes }) => peakBytes - idleBytes));
  const what = `${(size / MEGABYTE).toFixed(0)} MB`;
  return [
    {
      figure: `the ledger of a transcript of ${what} to parsing each of its lines`,
      measured: ratio,
      bar: { atMost: 1.3 },
      unit: 'ratio',
      from: `medians of ${SAMPLES}: ${subject.toFixed(0)} ms to ${baseline.toFixed(0)} ms`,
    },
    {
      figure: 'a second pass with nothing new to the first',
      measured: second,
      bar: { atMost: 0.01 },
      unit: 'ratio',
      from: `median of ${SAMPLES}: ${median(passes.map(({ secondMs }) => secondMs)).toFixed(2)} ms`,
    },
    {
      figure: `memory above idle while ${what} are read`,
      measured: memory / MEGABYTE,
      bar: { atMost: 60 },
      unit: 'MB',
      from: `the worst of ${SAMPLES}, at its peak`,
    },
  ];
}

/** A session on record as living here, which nobody looks after. */
async function prepare(root: string, fresh: string): Promise<void> {
  const context = await openContext({ home: join(root, 'state'), environment: { HOME: root } });
  const { table, store } = context;
  const here = { ...table.host, pid: 4_194_304, startTime: '1' };
  const request = { ...claimRequest('long'), harness: 'claude', nativeId: NATIVE_ID, launcher: here };
  await store.claim(request);
  await store.step(request.runId, {
    kind: 'start',
    keeper: here,
    containment: { by: 'marks' },
    atMs: 1,
    awakeFromMs: 1,
  });
  await store.close();
  copyDatabase(join(root, 'state', 'reeve.db'), fresh);
}

/** As a long day's work is: an answer in two blocks, and what its tool printed, mostly some kilobytes. The answers. */
function generate(path: string): number {
  mkdirSync(dirname(path), { recursive: true });
  const file = openSync(path, 'w');
  const words = 'It printed a line of "text" with words, numbers like 1024 and a path /src/main.ts\n';
  let answers = 0;
  for (let size = 0; size < BYTES; answers += 1) {
    const lengths = [500, 3_000, 9_000, 30_000];
    const length = answers % 200 === 199 ? MEGABYTE : (lengths[answers % lengths.length] ?? 0);
    const told = { id: `msg_${answers}`, atMs: 1_794_772_573_000 + answers * 1000, input: 20, output: 1 };
    const printed = { type: 'user', message: { content: words.repeat(Math.ceil(length / words.length)) } };
    size += writeSync(file, claudeAnswer({ ...told, cacheRead: 90_000, cacheWrite: 700 }, 2) + line(printed));
  }
  closeSync(file);
  return answers;
}
