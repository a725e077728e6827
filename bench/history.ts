/** Whether looking at what lives stays as cheap after years of use as on the first day. */
import { copyFileSync, existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { openStore } from '../src/store/open.ts';
import { recordEnded } from './record.ts';
import { commandMs, compare, inPlace } from './support.ts';
import type { Built, Figure, Place } from './support.ts';

const ENDED = 10_000;
const LIVE = 100;
const SAMPLES = 25;
/** Longer than the figure takes, short enough that a bench which was killed leaves nothing for long. */
const SLEEP_SECONDS = '600';

export function measureHistory(built: Built): Promise<readonly Figure[]> {
  return inPlace(built, async (place) => {
    await startLive(place);
    const withHistory = await copyWithHistory(place);
    const list = (of: Place) => () => commandMs([built.cli, 'ls'], of);
    list(place)();
    list(withHistory)();
    const { subject, baseline, ratio } = await compare(SAMPLES, list(withHistory), list(place));
    return [
      {
        figure: `\`ls\` of ${LIVE} live with ${ENDED} ended to none ended`,
        measured: ratio,
        bar: { atMost: 1.5 },
        unit: 'ratio',
        from: `medians of ${SAMPLES}: ${subject.toFixed(1)} ms to ${baseline.toFixed(1)} ms`,
      },
    ];
  });
}

async function startLive(place: Place): Promise<void> {
  const reeve = await place.open();
  try {
    for (let index = 0; index < LIVE; index += 1) {
      const result = await reeve.launch({ session: `live-${index}`, argv: ['sleep', SLEEP_SECONDS] });
      if (result.is !== 'started') throw new Error(`A live session was ${result.is}.`);
      result.release();
      // It ends long after this store was closed, and nobody here waits for that.
      result.over.catch(() => {});
    }
  } finally {
    await reeve.close();
  }
}

/** The same live runs, seen from a second state directory: they are on record there too, and only looked at. */
async function copyWithHistory(place: Place): Promise<Place> {
  const home = join(place.root, 'state-with-history');
  mkdirSync(home, { mode: 0o700 });
  const database = join(home, 'reeve.db');
  if (existsSync(join(place.home, 'reeve.db-wal'))) throw new Error('The store is still open somewhere.');
  copyFileSync(join(place.home, 'reeve.db'), database);
  const store = await openStore({ sqlite: database });
  try {
    for (let index = 0; index < ENDED; index += 1) await recordEnded(store, `ended-${index}`);
    const live = await store.live();
    if (live.length !== LIVE) throw new Error(`${live.length} sessions are live, not ${LIVE}.`);
  } finally {
    await store.close();
  }
  return { ...place, home, env: { ...place.env, REEVE_HOME: home } };
}
