/** What the rules, the session, the run and the event of a claim cost beyond one durable write. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { openStore } from '../src/store/open.ts';
import { claimRequest } from './record.ts';
import { compare, inPlace } from './support.ts';
import type { Built, Figure } from './support.ts';

/** Enough for several checkpoints of the write-ahead log on either side. */
const SAMPLES = 3_000;

export function measureClaim(built: Built): Promise<readonly Figure[]> {
  return inPlace(built, async ({ root }) => {
    const directory = join(root, 'claims');
    mkdirSync(directory);
    const store = await openStore({ sqlite: join(directory, 'reeve.db') });
    const bare = openBare(join(directory, 'bare.db'));
    let claims = 0;
    const claim = async () => {
      claims += 1;
      const request = claimRequest(`claim-${claims}`);
      const begunAt = performance.now();
      const { won } = await store.claim(request);
      const tookMs = performance.now() - begunAt;
      if (!won) throw new Error('A claim of a new session was lost.');
      return tookMs;
    };
    try {
      const { subject, baseline, ratio, quietRatio } = await compare(SAMPLES, claim, bare.transactMs);
      return [
        {
          figure: 'claim to a bare transaction',
          measured: ratio,
          bar: { atMost: 2 },
          unit: 'ratio',
          from: `medians of ${SAMPLES}: ${micro(subject)} to ${micro(baseline)}; fastest tenth ${quietRatio.toFixed(2)}`,
        },
      ];
    } finally {
      bare.close();
      await store.close();
    }
  });
}

/** Compare and insert, as durable as the store's own: the least with which anything could be claimed. */
function openBare(path: string) {
  const database = new DatabaseSync(path);
  database.exec('pragma busy_timeout = 5000; pragma journal_mode = wal; pragma synchronous = full');
  database.exec('create table owners (name text primary key, run text not null)');
  const owner = database.prepare('select run from owners where name = ?');
  const insert = database.prepare('insert into owners (name, run) values (?, ?)');
  let count = 0;
  return {
    transactMs: () => {
      count += 1;
      const name = `claim-${count}`;
      const begunAt = performance.now();
      database.exec('begin immediate');
      if (owner.get(name) !== undefined) throw new Error('The name was free a moment ago.');
      insert.run(name, `r-${name}`);
      database.exec('commit');
      return performance.now() - begunAt;
    },
    close: () => database.close(),
  };
}

function micro(ms: number): string {
  return `${Math.round(ms * 1000)} µs`;
}
