/**
 * npm run chaos -- --seconds 60 --seed N [--containment cgroup|subreaper|marks] [--actors 4]
 * Starts sessions whose commands misbehave, kills what supervises them at crash points and at random, takes over,
 * stops, and samples the process table throughout. Ends with `violations: 0`, or with the seed and the history.
 */
import { parseArgs } from 'node:util';
import { setTimeout as sleep } from 'node:timers/promises';
import { execFileSync } from 'node:child_process';
import { ACTIONS, childSessionOf, startStrangers } from './actions.ts';
import { allRuns, sample, settled } from './invariants.ts';
import type { Watch } from './invariants.ts';
import { createRandom } from './random.ts';
import { CLI, createWorld } from './world.ts';
import type { World } from './world.ts';

const SAMPLE_EVERY_MS = 25;
const SESSIONS = ['anna', 'bert', 'carl', 'dora', 'emil'] as const;
/** Parents before their children, some of which end with them. */
const ALL_SESSIONS = [...SESSIONS, ...SESSIONS.map(childSessionOf)];
const HISTORY_SHOWN = 80;

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '30' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    containment: { type: 'string', default: 'cgroup' },
    actors: { type: 'string', default: '4' },
  },
});
const seed = Number(values.seed);
const deadline = Date.now() + Number(values.seconds) * 1000;
const world = await createWorld(seed, values.containment);
const strangers = startStrangers(world);
const watch: Watch = { endings: new Map(), strangers: strangers.seen, samples: 0, mostLiveRuns: 0 };
const counts = new Map<string, number>();
const violations: string[] = [];

console.log(`chaos: seed ${seed}, ${values.seconds} s, containment ${values.containment}`);
try {
  const isOver = () => Date.now() > deadline || violations.length > 0;
  const actors = Array.from({ length: Number(values.actors) }, (_, index) =>
    act(world, seed + index, isOver),
  );
  await Promise.all([...actors, watchOver(isOver)]);
  violations.push(...(violations.length === 0 ? await windDown() : []));
  await report();
} finally {
  endWhatIsLeft();
  strangers.stop();
  await world.dispose();
}
process.exitCode = violations.length === 0 ? 0 : 1;

async function act(in_: World, actorSeed: number, isOver: () => boolean): Promise<void> {
  const random = createRandom(actorSeed);
  const weighted = ACTIONS.flatMap((action) => Array.from({ length: action.weight }, () => action));
  while (!isOver()) {
    const action = random.pick(weighted);
    counts.set(action.name, (counts.get(action.name) ?? 0) + 1);
    violations.push(
      ...(await action.perform(
        in_,
        random,
        random.pick(action.reaches === 'children too' ? ALL_SESSIONS : SESSIONS),
      )),
    );
  }
}

async function watchOver(isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    violations.push(...(await sample(world, watch)));
    await sleep(SAMPLE_EVERY_MS);
  }
}

/** Ends everything through the front door; then every run must have ended, once, with nothing left. */
async function windDown(): Promise<string[]> {
  for (const session of ALL_SESSIONS) {
    try {
      execFileSync(process.execPath, [CLI, 'kill', session], {
        env: world.env,
        cwd: world.directory,
        stdio: 'pipe',
      });
    } catch (error) {
      const { status, stderr } = error as { status: number; stderr: Buffer };
      // 3: no launch of this session ever got as far as its claim.
      if (status !== 3) return [`the last kill of ${session} exited ${status}: ${String(stderr)}`];
    }
  }
  return [...(await settled(world)), ...(await sample(world, watch))];
}

async function report(): Promise<void> {
  const runs = await allRuns(world);
  const outcomes = new Map<string, number>();
  for (const { ending } of runs) {
    const outcome = ending?.outcome ?? 'live';
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
  }
  console.log(
    `samples of the process table: ${watch.samples}; most runs live at once: ${watch.mostLiveRuns}`,
  );
  console.log(`actions: ${listed(counts)}`);
  console.log(`runs: ${runs.length} (${listed(outcomes)})`);
  if (violations.length > 0) {
    console.log(
      `seed ${seed}; what was done, latest last:\n${world.history.slice(-HISTORY_SHOWN).join('\n')}`,
    );
    for (const violation of violations) console.log(`VIOLATION ${violation}`);
  }
  console.log(`violations: ${violations.length}`);
}

/** After a violation too, nothing that this program started may stay. */
function endWhatIsLeft(): void {
  for (const session of ALL_SESSIONS) {
    try {
      execFileSync(process.execPath, [CLI, 'kill', session], {
        env: world.env,
        cwd: world.directory,
        stdio: 'ignore',
      });
    } catch {
      // Nothing of it to end, or already reported above.
    }
  }
}

function listed(numbers: ReadonlyMap<string, number>): string {
  return [...numbers].map(([name, number]) => `${name} ${number}`).join(', ');
}
