/** What one more run costs for as long as it lives: its keeper. */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RunView } from '../src/index.ts';
import { inPlace, median } from './support.ts';
import type { Built, Figure, Place } from './support.ts';

const ALONE_SAMPLES = 5;
const TOGETHER = 20;
const BAR_MB = 3;
/** A keeper gives memory back just after it has reported; two equal looks so far apart mean that it has. */
const STILL_MS = 50;
const MAX_LOOKS = 40;

export async function measureMemory(built: Built): Promise<readonly Figure[]> {
  const alone: number[] = [];
  for (let sample = 0; sample < ALONE_SAMPLES; sample += 1) {
    alone.push(...(await inPlace(built, (place) => keepersMb(place, 1))));
  }
  const together = await inPlace(built, (place) => keepersMb(place, TOGETHER));
  const mean = together.reduce((sum, each) => sum + each, 0) / together.length;
  const figure = (name: string, measured: number, from: string): Figure => ({
    figure: name,
    measured,
    bar: { atMost: BAR_MB },
    unit: 'MB',
    from,
  });
  return [
    figure('memory of a run alone', median(alone), `median of ${ALONE_SAMPLES}, ${range(alone)}`),
    figure(`memory of a run among ${TOGETHER}`, mean, `mean, ${range(together)}`),
  ];
}

/** The proportional memory of the keepers of so many runs that live at once. */
async function keepersMb(place: Place, count: number): Promise<readonly number[]> {
  const keepers: number[] = [];
  for (let index = 0; index < count; index += 1) {
    const { run } = await place.json<{ run: RunView }>(['run', '--detach', '--', 'sleep', '300']);
    if (run.keeperPid === null) throw new Error('A run executes without a keeper on record.');
    keepers.push(run.keeperPid);
  }
  let last = keepers.map(proportionalMb);
  for (let look = 0; look < MAX_LOOKS; look += 1) {
    await sleep(STILL_MS);
    const now = keepers.map(proportionalMb);
    if (now.every((mb, index) => mb === last[index])) return now;
    last = now;
  }
  return last;
}

/** The kernel's kB are 1,024 bytes, a megabyte here is a million. */
function proportionalMb(pid: number): number {
  const [, kilobytes] = /^Pss:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8')) ?? [];
  if (kilobytes === undefined) throw new Error(`The memory of process ${pid} cannot be read.`);
  return (Number(kilobytes) * 1024) / 1e6;
}

function range(values: readonly number[]): string {
  return `${Math.min(...values).toFixed(2)} to ${Math.max(...values).toFixed(2)} MB`;
}
