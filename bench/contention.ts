/** Promise 1 under a stampede, on a state directory that does not exist yet. */
import { readdirSync, readFileSync } from 'node:fs';
import { constants, getPriority, setPriority } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { inPlace } from './support.ts';
import type { Built, Figure, Place } from './support.ts';

const STARTS = 50;
const SAMPLE_PAUSE_MS = 2;
const LIVE_OWNER = 4;
const HIGHEST_PRIORITY = constants.priority.PRIORITY_HIGHEST;

export function measureContention(built: Built): Promise<readonly Figure[]> {
  return inPlace(built, async (place) => {
    const args = ['run', '--detach', '--session', 'same', '--', 'sleep', '60'];
    const starts = Array.from({ length: STARTS }, () => place.reeve(args));
    const watch = watchRuns(place.home);
    const results = await Promise.all(starts);
    const { most, samples } = await watch.stop();
    const codes = results.map(({ code }) => code);
    const complaints = results.filter(({ stdout, stderr }) => /\b(busy|locked)\b/i.test(stdout + stderr));
    const from = `${STARTS} starts of one session at once`;
    const exactly = (figure: string, measured: number, expected: number, how = from): Figure => ({
      figure,
      measured,
      bar: { exactly: expected },
      unit: 'count',
      from: how,
    });
    return [
      exactly('live runs at any moment', most, 1, `${from}, ${samples} looks at the process table`),
      exactly('winners', codes.filter((code) => code === 0).length, 1, `exit codes ${tally(codes)}`),
      exactly('refused with exit code 4', codes.filter((code) => code === LIVE_OWNER).length, STARTS - 1),
      exactly('outputs with "busy" or "locked"', complaints.length, 0),
    ];
  });
}

/** The most runs that were seen alive in one look: processes that carry the mark of a run in this state directory. */
function watchRuns(home: Place['home']) {
  let most = 0;
  let samples = 0;
  let isOver = false;
  const priority = getPriority();
  prefer(HIGHEST_PRIORITY);
  const watching = (async () => {
    while (!isOver) {
      most = Math.max(most, runsAlive(home).size);
      samples += 1;
      await sleep(SAMPLE_PAUSE_MS);
    }
  })();
  return {
    stop: async () => {
      isOver = true;
      await watching;
      prefer(priority);
      return { most: Math.max(most, runsAlive(home).size), samples };
    },
  };
}

/** Among fifty busy processes this one would seldom get to look. Only a privileged user may do better. */
function prefer(priority: number): void {
  try {
    setPriority(priority);
  } catch {
    // Fewer looks then: a second run would still be seen, since it would sleep for a minute.
  }
}

function runsAlive(home: string): Set<string> {
  const runs = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      const environment = environmentOf(pid);
      return environment.includes(`REEVE_HOME=${home}`)
        ? environment.filter((entry) => entry.startsWith('REEVE_RUN='))
        : [];
    });
  return new Set(runs);
}

/** A zombie has none, and neither has a process that is gone or somebody else's. */
function environmentOf(pid: string): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0');
  } catch {
    return [];
  }
}

function tally(codes: readonly (number | null)[]): string {
  const counts = new Map<number | null, number>();
  for (const code of codes) counts.set(code, (counts.get(code) ?? 0) + 1);
  return [...counts].map(([code, count]) => `${code}: ${count}`).join(', ');
}
