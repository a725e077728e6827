/** What a list costs: each engine goes from the runs that it shows to their sessions by indexes, however many there are. */
import { describe, expect, test } from 'vitest';
import { createStore } from '../../src/store/sql-store.ts';
import type { SqlDriver } from '../../src/store/sql.ts';
import type { Database, Engine } from './engine.ts';
import { claimOf, end, won } from './examples.ts';

const HISTORY = 3_000;

export function describeStoreLists(engine: Engine): void {
  describe(`lists on ${engine.name}`, () => {
    test('of what lives and what ended last read neither all sessions nor all runs', async () => {
      const database = await engine.createDatabase();
      try {
        const { driver, asked } = recording(await database.driver());
        const store = createStore(driver);
        const live = await won(store, claimOf('live'));
        const ended = await won(store, claimOf('ended'));
        await store.step(ended.run.id, end());
        await addHistory(database, ended.session.id, ended.run.id);
        asked.length = 0;
        expect((await store.live()).map(({ session }) => session.id)).toStrictEqual([live.session.id]);
        expect(await store.liveHarnesses()).toHaveLength(1);
        const overview = await store.overview(2);
        expect([overview.live.length, overview.ended.length]).toStrictEqual([1, 2]);
        expect(asked).toHaveLength(3);
        for (const text of asked) {
          const plan = await planOf(engine, database, text);
          expect(plan).toContain('sessions_of_current');
          expect(plan).toContain('runs_one_live');
          expect(plan).not.toMatch(/Seq Scan|SCAN s\b/);
        }
        expect(await planOf(engine, database, asked.at(-1) ?? '')).toContain('runs_ended_last');
      } finally {
        await database.close();
      }
    });

    test('of what ended last have a session once, by its latest run, however often it was resumed', async () => {
      const database = await engine.createDatabase();
      try {
        const store = await database.open();
        for (const name of ['alpha', 'beta', 'alpha', 'alpha', 'gamma', 'beta']) {
          const { run } = await won(store, claimOf(name));
          await store.step(run.id, end({ endedAtMs: Date.now() }));
        }
        await won(store, claimOf('gamma'));
        const { live, ended } = await store.overview(10);
        const shown = [...live, ...ended].map(({ session, run }) => `${session.name} ${run.epoch}`);
        expect(shown.toSorted((a, b) => a.localeCompare(b))).toStrictEqual(['alpha 3', 'beta 2', 'gamma 2']);
        const [rows] = await database.sql('select count(*) as left_out from runs where has_successor = 1');
        expect(Number(rows?.['left_out'])).toBe(4);
      } finally {
        await database.close();
      }
    });
  });
}

/** The statements that are asked through it. */
function recording(driver: SqlDriver): { driver: SqlDriver; asked: string[] } {
  const asked: string[] = [];
  return {
    asked,
    driver: {
      ...driver,
      read: (work) =>
        driver.read((sql) =>
          work({
            ...sql,
            all: (text, values) => {
              asked.push(text);
              return sql.all(text, values);
            },
          }),
        ),
    },
  };
}

/** Sessions that ended like this one. */
async function addHistory(database: Database, sessionId: string, runId: string): Promise<void> {
  const numbers = `with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < ${HISTORY})`;
  await database.sql(
    `insert into sessions (id, name, harness, cwd, argv, epoch, current_run_id, created_at)
     ${numbers} select 's' || n, 's' || n, harness, cwd, argv, epoch, 'r' || n, created_at
     from numbers, sessions where id = '${sessionId}'`,
  );
  await database.sql(
    `insert into runs (id, session_id, epoch, state, mode, argv, cwd, actor, launcher, token_hash, claimed_at, ending,
       outcome, ended_at)
     ${numbers} select 'r' || n, 's' || n, epoch, state, mode, argv, cwd, actor, launcher, token_hash, claimed_at, ending,
       outcome, ended_at - n from numbers, runs where id = '${runId}'`,
  );
  await database.sql('analyze');
}

async function planOf({ name }: Engine, database: Database, text: string): Promise<string> {
  const explain = name === 'sqlite' ? 'explain query plan' : 'explain';
  const rows = await database.sql(`${explain} ${text.replace('?', '2')}`);
  return rows.map((row) => String(row['detail'] ?? row['QUERY PLAN'])).join('\n');
}
