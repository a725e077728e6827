/** What the chaos run does to Reeve, each with the outcome that is allowed. */
import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { CHILD_POLICIES } from '../../src/lifecycle/child.ts';
import type { ProcessIdentity } from '../../src/lifecycle/process-identity.ts';
import type { Checkpoint } from '../../src/process/checkpoint.ts';
import { isAlive, see, signalSeen } from '../support/processes.ts';
import type { Random } from './random.ts';
import { CLI, MISBEHAVE } from './world.ts';
import type { World } from './world.ts';

const KINDS = [
  'sleeper',
  'quick',
  'failing',
  'talker',
  'deaf',
  'nohup',
  'escaped',
  'wiped',
  'leaver',
  'stopped',
  'grouped',
  'family',
  'hopper',
  'parent',
  'begetter',
] as const;

/** Kinds of which something is found only through the keeper, as subreaper, or through a cgroup. */
const NEEDS_KEEPER: ReadonlySet<string> = new Set(['wiped', 'leaver', 'hopper']);

const LAUNCH_POINTS: readonly Checkpoint[] = [
  'launch.claimed',
  'launch.keeper_spawned',
  'launch.started',
  'launch.released',
  'launch.executing',
  'retire.intended',
  'retire.tree_gone',
  'retire.ended',
  'finalise.begun',
  'finalise.children',
  'finalise.swept',
  'finalise.ended',
];
const KEEPER_POINTS = ['keeper.released', 'keeper.executing', 'keeper.exited', 'keeper.recorded'] as const;
/** 7 is allowed: at a crash point the other side may be held in a state that proves nothing for a while. */
const ALLOWED_CODES: ReadonlySet<number> = new Set([0, 1, 3, 4, 7]);

export interface Action {
  readonly name: string;
  readonly weight: number;
  /** Whether it is also done to the sessions of children; they are started by their parents alone. */
  readonly reaches?: 'children too';
  perform(world: World, random: Random, session: string): Promise<string[]>;
}

let launches = 0;

export const ACTIONS: readonly Action[] = [
  { name: 'start', weight: 6, perform: (world, random, session) => start(world, random, session, []) },
  {
    name: 'take over',
    weight: 6,
    perform: (world, random, session) => start(world, random, session, ['--force', '--grace', '0.3']),
  },
  {
    name: 'start, killed at a crash point',
    weight: 4,
    perform: (world, random, session) => {
      const isKeepers = random.chance(0.4);
      const point = isKeepers ? random.pick(KEEPER_POINTS) : random.pick(LAUNCH_POINTS);
      return start(world, random, session, ['--force', '--grace', '0.3'], `${point}=kill`);
    },
  },
  {
    name: 'stop',
    weight: 3,
    reaches: 'children too',
    perform: (world, _random, session) => reeve(world, ['stop', '--grace', '0.2', session]),
  },
  {
    name: 'kill',
    weight: 2,
    reaches: 'children too',
    perform: (world, _random, session) => reeve(world, ['kill', session]),
  },
  {
    name: 'stop, killed at a crash point',
    weight: 2,
    reaches: 'children too',
    perform: (world, random, session) => {
      const point = random.pick(LAUNCH_POINTS.filter((name) => !name.startsWith('launch.')));
      return reeve(world, ['stop', '--grace', '0.1', session], { REEVE_CHECKPOINT: `${point}=kill` });
    },
  },
  { name: 'ls', weight: 3, perform: (world) => reeve(world, ['ls', '--json']) },
  {
    name: 'show',
    weight: 2,
    perform: (world, _random, session) => reeve(world, ['show', '--json', session]),
  },
  {
    name: 'ls, killed at a crash point',
    weight: 2,
    perform: (world, random) => {
      const point = random.pick(LAUNCH_POINTS.filter((name) => name.startsWith('finalise.')));
      return reeve(world, ['ls'], { REEVE_CHECKPOINT: `${point}=kill` });
    },
  },
  { name: 'kill the keeper', weight: 3, reaches: 'children too', perform: killKeeper },
  { name: 'kill the harness', weight: 2, reaches: 'children too', perform: killHarness },
  { name: 'hold the keeper', weight: 1, reaches: 'children too', perform: holdKeeper },
];

async function start(
  world: World,
  random: Random,
  session: string,
  flags: readonly string[],
  checkpoint?: string,
): Promise<string[]> {
  const kinds = isWeakAt(world, checkpoint) ? KINDS.filter((kind) => !NEEDS_KEEPER.has(kind)) : KINDS;
  const kind = random.pick(kinds);
  const tag = `${world.prefix}${(launches += 1)}`;
  world.sessionOf.set(tag, session);
  const env = {
    ...(checkpoint === undefined ? {} : { REEVE_CHECKPOINT: checkpoint }),
    ...(isParent(kind) ? { CHAOS_CHILD: childFor(world, random, session, tag) } : {}),
  };
  // What the parent starts inherits the order.
  if (checkpoint?.startsWith('keeper.') === true)
    for (const each of [tag, `${tag}-child`]) world.keeperKilled.add(each);
  const killAfterMs = checkpoint === undefined && random.chance(0.2) ? random.below(250) : undefined;
  const command = ['perl', MISBEHAVE, kind, tag];
  return reeve(
    world,
    ['run', '--detach', '--session', session, ...flags, '--', ...command],
    env,
    killAfterMs,
  );
}

function isParent(kind: string): boolean {
  return kind === 'parent' || kind === 'begetter';
}

/** How the fixture starts a child of its run: program, CLI, session, policy, tag. */
function childFor(world: World, random: Random, session: string, tag: string): string {
  const child = childSessionOf(session);
  world.sessionOf.set(`${tag}-child`, child);
  return [process.execPath, CLI, child, random.pick(CHILD_POLICIES), `${tag}-child`].join('|');
}

/** One for each, so that children of one session's runs contend for it. */
export function childSessionOf(session: string): string {
  return `${session}-child`;
}

function isWeakAt(world: World, checkpoint = ''): boolean {
  const containment = world.env['REEVE_CONTAINMENT'];
  return containment === 'marks' || (containment === 'subreaper' && checkpoint.startsWith('keeper.'));
}

async function reeve(
  world: World,
  args: readonly string[],
  env: Record<string, string> = {},
  killAfterMs?: number,
): Promise<string[]> {
  const child = spawn(process.execPath, [CLI, ...args], {
    cwd: world.directory,
    env: { ...world.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  child.stdout.on('data', (chunk) => (output += String(chunk)));
  child.stderr.on('data', (chunk) => (output += String(chunk)));
  const exit = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) =>
    child.once('exit', (code, signal) => resolve({ code, signal })),
  );
  if (killAfterMs !== undefined) setTimeout(() => child.kill('SIGKILL'), killAfterMs);
  const { code, signal } = await exit;
  if (signal === 'SIGKILL') world.countKill(killAfterMs === undefined ? 'at a crash point' : 'at random');
  const told = `reeve ${args.join(' ')} ${JSON.stringify(env)} -> ${code ?? 'killed'}`;
  world.log(told);
  if (/busy|locked/i.test(output)) return [`"busy" reached a person: ${told}: ${output}`];
  return code === null || ALLOWED_CODES.has(code) ? [] : [`unexpected exit: ${told}: ${output}`];
}

async function killKeeper(world: World, _random: Random, session: string): Promise<string[]> {
  const found = await world.store.sessionByName(session);
  if (found?.run.state !== 'running') return [];
  if (world.env['REEVE_CONTAINMENT'] !== 'cgroup' && NEEDS_KEEPER.has(found.run.argv[2] ?? '')) return [];
  world.keeperKilled.add(found.run.argv[3] ?? '');
  killNow(world, 'keeper', session, found.run.keeper);
  return [];
}

async function killHarness(world: World, _random: Random, session: string): Promise<string[]> {
  const found = await world.store.sessionByName(session);
  if (found?.run.state !== 'running' || found.run.harness === null) return [];
  killNow(world, 'harness', session, found.run.harness);
  return [];
}

function killNow(
  world: World,
  what: 'keeper' | 'harness',
  session: string,
  { pid, startTime }: ProcessIdentity,
): void {
  const seen = { pid, startTime: startTime ?? '' };
  if (!isAlive(seen)) return;
  signalSeen(seen, 'SIGKILL');
  world.countKill(`of a ${what}`);
  world.log(`kill -9 of the ${what} of ${session} (pid ${pid})`);
}

async function holdKeeper(world: World, random: Random, session: string): Promise<string[]> {
  const found = await world.store.sessionByName(session);
  if (found?.run.state !== 'running') return [];
  const { pid, startTime } = found.run.keeper;
  const keeper = { pid, startTime: startTime ?? '' };
  signalSeen(keeper, 'SIGSTOP');
  world.log(`the keeper of ${session} is held (pid ${pid})`);
  await sleep(random.below(800));
  signalSeen(keeper, 'SIGCONT');
  return [];
}

/**
 * Look-alikes that Reeve never started: the same program in the same place, one with a mark of another run. They live for
 * as long as this process does, and no longer: their standard input is a pipe from it.
 */
export function startStrangers(world: World): { stop(): void; seen: ReturnType<typeof see>[] } {
  const marks = [{}, { REEVE_RUN: 'r-0000000000000000' }, { REEVE_HOME: world.home }];
  const children = marks.map((mark) =>
    spawn('perl', [MISBEHAVE, 'stranger', 'stranger'], {
      cwd: world.directory,
      env: { PATH: world.env['PATH'] ?? '', ...mark },
      stdio: ['pipe', 'ignore', 'ignore'],
      detached: true,
    }),
  );
  const seen = children.map(({ pid }) => see(pid ?? 0));
  return { seen, stop: () => seen.forEach((stranger) => signalSeen(stranger, 'SIGKILL')) };
}
