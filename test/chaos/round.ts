/** One world from its first start to the proof that nothing of it is left. */
import { execFileSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { ACTIONS, childSessionOf, startStrangers } from './actions.ts';
import { createWatch, sample, settled } from './invariants.ts';
import type { Watch } from './invariants.ts';
import { createRandom } from './random.ts';
import { CLI, createWorld } from './world.ts';
import type { World } from './world.ts';

const SAMPLE_EVERY_MS = 25;
const SESSIONS = ['anna', 'bert', 'carl', 'dora', 'emil'] as const;
/** Parents before their children, some of which end with them. */
const ALL_SESSIONS = [...SESSIONS, ...SESSIONS.map(childSessionOf)];

export interface RoundOrder {
  readonly seed: number;
  readonly containment: string;
  readonly actors: number;
  /** It is over when either is reached. */
  readonly kills: number;
  readonly seconds: number;
}

export interface RoundReport {
  readonly violations: readonly string[];
  /** What was done, latest last. */
  readonly history: readonly string[];
  readonly kills: ReadonlyMap<string, number>;
  readonly actions: ReadonlyMap<string, number>;
  readonly outcomes: ReadonlyMap<string, number>;
  readonly samples: number;
  readonly mostLiveRuns: number;
}

export async function runRound(order: RoundOrder): Promise<RoundReport> {
  const world = await createWorld(order.seed, order.containment);
  const strangers = startStrangers(world);
  const watch = createWatch(strangers.seen);
  const actions = new Map<string, number>();
  const violations: string[] = [];
  const deadlineMs = performance.now() + order.seconds * 1000;
  const isOver = () =>
    performance.now() > deadlineMs || sumOf(world.kills) >= order.kills || violations.length > 0;
  try {
    const actors = Array.from({ length: order.actors }, (_, index) =>
      act(world, order.seed + index, { isOver, actions, violations }),
    );
    await Promise.all([...actors, watchOver(world, watch, { isOver, violations })]);
    if (violations.length === 0) violations.push(...(await windDown(world, watch)));
    return {
      violations,
      history: world.history,
      kills: world.kills,
      actions,
      outcomes: outcomesOf(watch),
      samples: watch.samples,
      mostLiveRuns: watch.mostLiveRuns,
    };
  } finally {
    endWhatIsLeft(world);
    strangers.stop();
    await world.dispose();
  }
}

export function sumOf(numbers: ReadonlyMap<string, number>): number {
  return [...numbers.values()].reduce((sum, number) => sum + number, 0);
}

interface Course {
  readonly isOver: () => boolean;
  readonly violations: string[];
}

async function act(
  world: World,
  seed: number,
  { isOver, actions, violations }: Course & { readonly actions: Map<string, number> },
): Promise<void> {
  const random = createRandom(seed);
  const weighted = ACTIONS.flatMap((action) => Array.from({ length: action.weight }, () => action));
  while (!isOver()) {
    const action = random.pick(weighted);
    actions.set(action.name, (actions.get(action.name) ?? 0) + 1);
    const session = random.pick(action.reaches === 'children too' ? ALL_SESSIONS : SESSIONS);
    violations.push(...(await action.perform(world, random, session)));
  }
}

async function watchOver(world: World, watch: Watch, { isOver, violations }: Course): Promise<void> {
  while (!isOver()) {
    violations.push(...(await sample(world, watch)));
    await sleep(SAMPLE_EVERY_MS);
  }
}

/** Ends everything through the front door; then every run must have ended, once, with nothing left. */
async function windDown(world: World, watch: Watch): Promise<string[]> {
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
  return [...(await sample(world, watch)), ...(await settled(world, watch))];
}

function outcomesOf({ ended }: Watch): ReadonlyMap<string, number> {
  const outcomes = new Map<string, number>();
  for (const { outcome } of ended.values()) outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
  return outcomes;
}

/** After a violation too, nothing that this program started may stay. */
function endWhatIsLeft(world: World): void {
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
