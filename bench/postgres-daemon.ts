/** What a daemon asks of PostgreSQL while nothing happens. */
import { setTimeout as sleep } from 'node:timers/promises';
import { startPostgres } from '../test/support/postgres.ts';
import { REST_MS, served } from './daemon.ts';
import { startLive } from './history.ts';
import { inDatabase } from './postgres-history.ts';
import { inPlace } from './support.ts';
import type { Built, Figure } from './support.ts';

const IDLE = 100;
const WATCHED_MS = 60_000;
/** The server counts what a connection did within ten seconds after it fell idle; a daemon's never is for so long. */
const QUIET_SERVER = ['autovacuum=off'];

export async function measurePostgresDaemon(built: Built): Promise<readonly Figure[]> {
  const server = await startPostgres({ settings: QUIET_SERVER });
  try {
    const url = await server.createDatabase();
    const name = new URL(url).pathname.slice(1);
    // From another database, so that asking is not counted.
    const transactions = () =>
      inDatabase(server.url('postgres'), async (client) => {
        const { rows } = await client.query<{ count: string }>(
          'select xact_commit + xact_rollback as count from pg_stat_database where datname = $1',
          [name],
        );
        return Number(rows[0]?.count);
      });
    return await inPlace(
      built,
      (place) =>
        served(built, place, async () => {
          // After the daemon began, as most sessions are.
          await startLive(place, 0, IDLE);
          await sleep(REST_MS);
          const [before, begunAt] = [await transactions(), performance.now()];
          await sleep(WATCHED_MS);
          const [count, tookMs] = [(await transactions()) - before, performance.now() - begunAt];
          return [
            {
              figure: `PostgreSQL: transactions a minute of a daemon while ${IDLE} sessions idle`,
              measured: Math.round((count / tookMs) * 60_000),
              bar: { atMost: 150 },
              unit: 'count',
              from: `${count} in ${(tookMs / 1000).toFixed(0)} s, as the server counts them`,
            },
          ];
        }),
      { REEVE_STORE: url },
    );
  } finally {
    await server.stop();
  }
}
