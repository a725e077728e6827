/** Whether looking at what lives stays as cheap on PostgreSQL after a hundred thousand runs as on the first day. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { startPostgres } from '../test/support/postgres.ts';
import { startLive } from './history.ts';
import { addEnded, copyDatabase } from './postgres-history.ts';
import { commandMs, compare, inPlace } from './support.ts';
import type { Built, Figure, Place } from './support.ts';

const ENDED = 100_000;
const LIVE = 100;
const SAMPLES = 15;

export async function measurePostgresLs(built: Built): Promise<readonly Figure[]> {
  const server = await startPostgres();
  try {
    const url = await server.createDatabase();
    return await inPlace(
      built,
      async (place) => {
        await startLive(place, 0, LIVE);
        const withHistory = await seenFrom(place, await copyDatabase(server, url));
        await addEnded(withHistory.env['REEVE_STORE'] ?? '', ENDED);
        const list = (of: Place) => () => commandMs([built.cli, 'ls'], of);
        for (const of of [place, withHistory]) list(of)();
        const { subject, baseline, ratio, quietRatio } = await compare(
          SAMPLES,
          list(withHistory),
          list(place),
        );
        return [
          {
            figure: `PostgreSQL: \`ls\` of ${LIVE} live with ${ENDED} ended to none ended`,
            measured: ratio,
            bar: { atMost: 1.5 },
            unit: 'ratio',
            from: `medians of ${SAMPLES}: ${subject.toFixed(1)} ms to ${baseline.toFixed(1)} ms; fastest tenth ${quietRatio.toFixed(2)}`,
          },
        ];
      },
      { REEVE_STORE: url },
    );
  } finally {
    await server.stop();
  }
}

/** The same live runs, on record in another store and only looked at. */
async function seenFrom(place: Place, url: string): Promise<Place> {
  const home = join(place.root, 'state-with-history');
  mkdirSync(home, { mode: 0o700 });
  return { ...place, home, env: { ...place.env, REEVE_HOME: home, REEVE_STORE: url } };
}
