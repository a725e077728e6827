/** Whether looking at what lives stays as cheap after years of use as on the first day. */
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { openStore } from '../src/store/open.ts';
import { recordEnded } from './record.ts';
import { commandMs, compare, inPlace } from './support.ts';
import type { Built, Figure, Place } from './support.ts';

const ENDED = 10_000;
const LIVE = 100;
const SAMPLES = 25;
/** Longer than the figure takes, short enough that a bench which was killed leaves nothing for long. */
const SLEEP_SECONDS = '600';
/** Forty thousand durable writes take a minute on a disk and seconds in memory; the figure is taken on the disk. */
const MEMORY = '/dev/shm';

export function measureHistory(built: Built): Promise<readonly Figure[]> {
  return inPlace(built, async (place) => {
    await startLive(place, 0, LIVE);
    const withHistory = await copyWithHistory(place, LIVE);
    const list = (of: Place) => () => commandMs([built.cli, 'ls'], of);
    list(place)();
    list(withHistory)();
    const { subject, baseline, ratio, quietRatio } = await compare(SAMPLES, list(withHistory), list(place));
    return [
      {
        figure: `\`ls\` of ${LIVE} live with ${ENDED} ended to none ended`,
        measured: ratio,
        bar: { atMost: 1.5 },
        unit: 'ratio',
        from: `medians of ${SAMPLES}: ${subject.toFixed(1)} ms to ${baseline.toFixed(1)} ms; fastest tenth ${quietRatio.toFixed(2)}`,
      },
    ];
  });
}

export async function startLive(place: Place, from: number, to: number): Promise<void> {
  const reeve = await place.open();
  try {
    for (let index = from; index < to; index += 1) {
      const result = await reeve.launch({ session: `live-${index}`, argv: ['sleep', SLEEP_SECONDS] });
      if (result.is !== 'started') throw new Error(`A live session was ${result.is}.`);
      result.release();
    }
  } finally {
    await reeve.close();
  }
}

/** The same live runs, seen from a second state directory: they are on record there too, and only looked at. */
export async function copyWithHistory(place: Place, live: number): Promise<Place> {
  const home = join(place.root, 'state-with-history');
  mkdirSync(home, { mode: 0o700 });
  const workshop = mkdtempSync(join(existsSync(MEMORY) ? MEMORY : place.root, 'reeve-bench-history-'));
  try {
    copyDatabase(join(place.home, 'reeve.db'), join(workshop, 'reeve.db'));
    await addHistory(join(workshop, 'reeve.db'), live);
    copyDatabase(join(workshop, 'reeve.db'), join(home, 'reeve.db'));
  } finally {
    rmSync(workshop, { recursive: true, force: true });
  }
  return { ...place, home, env: { ...place.env, REEVE_HOME: home } };
}

async function addHistory(database: string, expected: number): Promise<void> {
  const store = await openStore({ sqlite: database });
  try {
    for (let index = 0; index < ENDED; index += 1) await recordEnded(store, `ended-${index}`);
    const live = await store.live();
    if (live.length !== expected) throw new Error(`${live.length} sessions are live, not ${expected}.`);
  } finally {
    await store.close();
  }
}

/** By SQLite itself, since part of a database may still be in its write-ahead log. */
export function copyDatabase(from: string, to: string): void {
  const database = new DatabaseSync(from);
  database.prepare('vacuum into ?').run(to);
  database.close();
}
