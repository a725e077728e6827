/** What the rest of the machine adds to the end of one run: a stop looks at its own tree, not at everybody's processes. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { commandMs, inPlace, median } from './support.ts';
import type { Built, Figure, Place } from './support.ts';

const [FEW, MANY] = [50, 5_000];
/** The crowd is made anew for each round, so that whatever else the machine does hits both alike. */
const ROUNDS = 3;
const STOPS_A_ROUND = 4;

export function measureStop(built: Built): Promise<readonly Figure[]> {
  return inPlace(built, async (place) => {
    const [few, many]: [number[], number[]] = [[], []];
    await stops(built, place, 1);
    for (let round = 0; round < ROUNDS; round += 1) {
      few.push(...(await amongst(FEW, () => stops(built, place, STOPS_A_ROUND))));
      many.push(...(await amongst(MANY, () => stops(built, place, STOPS_A_ROUND))));
    }
    const [subject, baseline] = [median(many), median(few)];
    return [
      {
        figure: `stop with ${MANY} unrelated processes to the same with ${FEW}`,
        measured: subject / baseline,
        bar: { atMost: 2 },
        unit: 'ratio',
        from: `medians of ${few.length}: ${subject.toFixed(0)} ms to ${baseline.toFixed(0)} ms`,
      },
    ];
  });
}

/** Each of a run that has a child, and ends when it is asked to. */
async function stops(built: Built, place: Place, count: number): Promise<number[]> {
  const taken: number[] = [];
  for (let stop = 0; stop < count; stop += 1) {
    await place.json(['run', '-d', '-s', 'one', '--', 'sh', '-c', 'sleep 600 & wait']);
    taken.push(commandMs([built.cli, 'stop', 'one'], place));
  }
  return taken;
}

/** One process forks them all, ends them when its input does, and is gone only after them. */
const CROWD = `
  my @crowd = map { my $pid = fork // die "no more processes: $!"; if (!$pid) { sleep 600; exit } $pid } 1 .. shift;
  $| = 1; print "here\\n"; <STDIN>; kill 'KILL', @crowd; waitpid $_, 0 for @crowd;`;

async function amongst<T>(count: number, work: () => Promise<T>): Promise<T> {
  const crowd = spawn('perl', ['-e', CROWD, String(count)], { stdio: ['pipe', 'pipe', 'inherit'] });
  const gone = once(crowd, 'exit');
  try {
    await Promise.race([once(crowd.stdout, 'data'), gone.then(() => Promise.reject(new Error('no crowd')))]);
    return await work();
  } finally {
    crowd.stdin.end();
    await gone;
  }
}
