/** Promise 5 where it is hardest: the tree of a run that was taken over, members that tried to get away included. */
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually, isAlive, see, signalSeen } from '../test/support/processes.ts';
import type { Seen } from '../test/support/processes.ts';
import type { SessionDetail } from '../src/index.ts';
import { inPlace } from './support.ts';
import type { Built, Figure, Place } from './support.ts';

const TAKEOVERS = 10;
/** One member ignores the request to end, so every takeover takes the whole grace. */
const GRACE_SECONDS = '0.2';
const CONTAINMENTS = ['cgroup', 'subreaper'] as const;

/** How each member is started; every one then leaves its pid in a file of its own and sleeps in the same process. */
const MEMBERS: Readonly<Record<string, (command: string) => string>> = {
  plain: (command) => `sh -c '${command}' &`,
  nohup: (command) => `nohup sh -c '${command}' >/dev/null 2>&1 &`,
  stubborn: (command) => `sh -c 'trap "" TERM HUP; ${command}' &`,
  setsid: (command) => `setsid sh -c '${command}' &`,
  escapee: (command) => `( ( setsid env -i /bin/sh -c '${command}' & ) & )`,
};

export async function measureTakeover(built: Built): Promise<readonly Figure[]> {
  const figures: Figure[] = [];
  for (const containment of CONTAINMENTS) {
    figures.push(
      await inPlace(built, (place) => survivorsOf(place, containment), { REEVE_CONTAINMENT: containment }),
    );
  }
  return figures;
}

async function survivorsOf(place: Place, wanted: (typeof CONTAINMENTS)[number]): Promise<Figure> {
  let owner = await start(place, 0);
  const survivors: Seen[] = [];
  let processes = 0;
  for (let round = 1; round <= TAKEOVERS; round += 1) {
    const former = owner.members;
    if (!former.every(isAlive)) throw new Error('A member had ended before it was taken over.');
    processes += former.length;
    owner = await start(place, round);
    survivors.push(...former.filter(isAlive));
  }
  // Nobody else could end them: they have left the run, and perhaps carry no mark of it.
  for (const survivor of survivors) signalSeen(survivor, 'SIGKILL');
  const held = owner.containment === wanted ? wanted : `${owner.containment}, for want of a ${wanted}`;
  return {
    figure: `survivors of a takeover (${wanted})`,
    measured: survivors.length,
    bar: { exactly: 0 },
    unit: 'count',
    from: `${processes} processes in ${TAKEOVERS} takeovers, held by ${held}`,
  };
}

/** Takes the session over, and returns when every member of the new tree is where it wanted to be. */
async function start(place: Place, round: number) {
  const directory = join(place.root, `round-${round}`);
  mkdirSync(directory);
  const lines = Object.entries(MEMBERS).map(([name, started]) =>
    started(`echo $$ >${directory}/${name}; exec sleep 300`),
  );
  const script = `${lines.join('\n')}\necho $$ >${directory}/harness\nwait`;
  const options = ['--detach', '--session', 'tree', '--on-live', 'retire', '--grace', GRACE_SECONDS];
  const { run } = await place.json<SessionDetail>(['run', ...options, '--', 'sh', '-c', script]);
  const names = ['harness', ...Object.keys(MEMBERS)];
  const members = await Promise.all(names.map((name) => pidIn(join(directory, name))));
  return { members, containment: run.containment };
}

async function pidIn(file: string): Promise<Seen> {
  const pid = await eventually(`a pid in ${file}`, () => {
    try {
      return /^\d+(?=\n)/.exec(readFileSync(file, 'utf8'))?.[0];
    } catch {
      return null;
    }
  });
  return see(Number(pid));
}
