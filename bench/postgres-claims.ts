/** Whether claims of different sessions go side by side on a PostgreSQL whose commits are slow. */
import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { openStore } from '../src/store/open.ts';
import { startPostgres } from '../test/support/postgres.ts';
import { median } from './support.ts';
import type { Figure } from './support.ts';

const PROCESSES = 10;
const ROUNDS = 5;
const ROUND_MS = 2_000;
/** Ten milliseconds more for each commit, as on a disk or with a standby that takes its time. */
const SLOW_COMMITS = ['fsync=on', 'synchronous_commit=on', 'commit_delay=10000', 'commit_siblings=0'];
const WRITER = fileURLToPath(new URL('postgres-writer.ts', import.meta.url));

export async function measurePostgresClaims(): Promise<readonly Figure[]> {
  const server = await startPostgres({ settings: SLOW_COMMITS });
  const writers: ChildProcess[] = [];
  try {
    const url = await server.createDatabase();
    await (await openStore({ postgres: url })).close();
    for (let index = 0; index < PROCESSES; index += 1) {
      const writer = fork(WRITER, [url, `${index}`]);
      writers.push(writer);
      await once(writer, 'message');
    }
    const [claims, bare]: [number[], number[]] = [[], []];
    for (let round = 0; round < ROUNDS; round += 1) {
      bare.push(await rate(writers, 'bare'));
      claims.push(await rate(writers, 'claim'));
    }
    return [
      {
        figure: `PostgreSQL: claims a second of ${PROCESSES} processes, commits 10 ms slower, to bare inserts`,
        measured: median(claims) / median(bare),
        bar: { atLeast: 0.5 },
        unit: 'ratio',
        from: `medians of ${ROUNDS}: ${median(claims).toFixed(0)} a second to ${median(bare).toFixed(0)}`,
      },
    ];
  } finally {
    await Promise.all(writers.map(ended));
    await server.stop();
  }
}

async function ended(writer: ChildProcess): Promise<void> {
  if (writer.connected) writer.disconnect();
  if (writer.exitCode === null && writer.signalCode === null) await once(writer, 'exit');
}

/** Of all together, a second. */
async function rate(writers: readonly ChildProcess[], what: 'claim' | 'bare'): Promise<number> {
  const done = writers.map(async (writer) => {
    const answer = once(writer, 'message');
    writer.send({ what, forMs: ROUND_MS });
    const [{ perSecond }] = (await answer) as [{ perSecond: number }]; // As postgres-writer.ts sends it.
    return perSecond;
  });
  return (await Promise.all(done)).reduce((sum, each) => sum + each, 0);
}
