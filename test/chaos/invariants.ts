/**
 * The invariants, checked against the real process table:
 *   1 never two live runs of a session; 2 no run lost; 3 each ended once; 4 nothing of a run alive after its end;
 *   5 no stranger signalled; 6 no child left undealt with after the end of its owner; 7 none lost whose keeper nobody killed.
 */
import type { Ending, Run } from '../../src/lifecycle/run.ts';
import { eventually, isAlive, startedWith } from '../support/processes.ts';
import type { Seen } from '../support/processes.ts';
import { taggedProcesses } from './world.ts';
import type { Tagged, World } from './world.ts';

/** What is known from earlier looks, so that one costs the same after a day. */
export interface Watch {
  readonly strangers: readonly Seen[];
  /** The events up to this one were read. */
  seq: number;
  /** The tags of runs, by their ids. */
  readonly tags: Map<string, string>;
  /** The endings as first told, by run: they must never change. */
  readonly ended: Map<string, Ending>;
  /** The ended runs by their tags. */
  readonly endedTags: Map<string, string>;
  samples: number;
  mostLiveRuns: number;
}

export function createWatch(strangers: readonly Seen[]): Watch {
  const maps = { tags: new Map(), ended: new Map(), endedTags: new Map() };
  return { strangers, seq: 0, ...maps, samples: 0, mostLiveRuns: 0 };
}

export async function sample(world: World, watch: Watch): Promise<string[]> {
  // The record first, then the processes: what was on record as ended before a process was seen alive is a violation.
  const twice = await readEvents(world, watch);
  const seen = taggedProcesses(world);
  const live = await world.store.live();
  watch.samples += 1;
  watch.mostLiveRuns = Math.max(watch.mostLiveRuns, live.length);
  return [
    ...twice,
    ...twoOwners(world, seen),
    ...aliveAfterEnd(watch, seen),
    ...signalledStrangers(watch),
    ...(await forgottenChildren(
      world,
      watch,
      live.map(({ run }) => run),
    )),
  ];
}

/** One read of the log. */
const EVENTS_AT_ONCE = 1000;

async function readEvents(world: World, watch: Watch): Promise<string[]> {
  const problems: string[] = [];
  for (;;) {
    const events = await world.store.events({ after: watch.seq, limit: EVENTS_AT_ONCE });
    for (const { seq, kind, runId, data } of events) {
      watch.seq = seq;
      if (runId === null) continue;
      if (kind === 'run.claimed') watch.tags.set(runId, tagOf(data));
      if (kind !== 'run.ended') continue;
      // As `takeStep` writes it.
      const ending = data as unknown as Ending;
      if (watch.ended.has(runId)) problems.push(`run ${runId} ended again: ${JSON.stringify(ending)}`);
      watch.ended.set(runId, watch.ended.get(runId) ?? ending);
      watch.endedTags.set(watch.tags.get(runId) ?? '', runId);
    }
    if (events.length < EVENTS_AT_ONCE) return problems;
  }
}

/** Both were alive at one moment if the first is still the same living process after the second was seen. */
function twoOwners(world: World, seen: readonly Tagged[]): string[] {
  const bySession = new Map<string, Tagged[]>();
  for (const process of seen) {
    const session = world.sessionOf.get(process.tag);
    if (session !== undefined) bySession.set(session, [...(bySession.get(session) ?? []), process]);
  }
  return [...bySession].flatMap(([session, processes]) => {
    const [first, second] = processes.filter(
      (each, index) => processes.findIndex(({ tag }) => tag === each.tag) === index,
    );
    if (first === undefined || second === undefined) return [];
    const wereTogether = isAlive(second) && isAlive(first);
    return wereTogether
      ? [`two live runs of ${session}: ${first.tag} (pid ${first.pid}) and ${second.tag} (pid ${second.pid})`]
      : [];
  });
}

function aliveAfterEnd(watch: Watch, seen: readonly Tagged[]): string[] {
  return seen.flatMap((process) => {
    const id = watch.endedTags.get(process.tag);
    return id === undefined || !isAlive(process)
      ? []
      : [
          `pid ${process.pid} of ${process.tag} (${id}) is alive although it ended: ${JSON.stringify(watch.ended.get(id))}`,
        ];
  });
}

/** Read one after another, so what seems to be is asked for again. */
async function forgottenChildren(world: World, watch: Watch, live: readonly Run[]): Promise<string[]> {
  const problems: string[] = [];
  for (const { id } of live.filter(({ parent }) => watch.ended.has(parent?.ownerId ?? ''))) {
    const run = await world.store.run(id);
    const owner = run?.parent?.ownerId ?? '';
    if (run === null || run.state === 'ended' || !watch.ended.has(owner)) continue;
    if (run.parent?.waitsUntilMs !== null) continue;
    problems.push(`run ${id} lives, undealt with, although its owner ${owner} is over`);
  }
  return problems;
}

function signalledStrangers(watch: Watch): string[] {
  return watch.strangers.flatMap((stranger) =>
    isAlive(stranger) ? [] : [`the stranger with pid ${stranger.pid} is gone`],
  );
}

/** At the end of it all: every launch that claimed has exactly one end on record, the one that was told of it. */
export async function settled(world: World, watch: Watch): Promise<string[]> {
  const { live, ended } = await world.store.overview(Number.MAX_SAFE_INTEGER);
  const problems = live.map(({ run }) => `run ${run.id} never ended`);
  for (const { session } of [...live, ...ended]) {
    const runs = await world.store.runsOf(session.id);
    const epochs = runs.map(({ epoch }) => epoch);
    if (epochs.some((epoch, index) => epoch !== index + 1))
      problems.push(`epochs of ${session.name}: ${epochs.join(', ')}`);
    for (const { id, ending } of runs) {
      const told = JSON.stringify(watch.ended.get(id));
      if (told !== JSON.stringify(ending ?? undefined))
        problems.push(`the ending of ${id} is ${JSON.stringify(ending)}, and was told as ${told}`);
    }
  }
  const left = taggedProcesses(world).map(({ pid, tag }) => `pid ${pid} of ${tag} is left`);
  return [...problems, ...left, ...lostByThemselves(world, watch), ...(await supervisorsLeft(world, watch))];
}

/** A keeper that dies of something else takes a working session with it. */
function lostByThemselves(world: World, { ended, tags }: Watch): string[] {
  return [...ended].flatMap(([id, { outcome, reason }]) => {
    const tag = tags.get(id) ?? '';
    if (outcome !== 'lost' || world.keeperKilled.has(tag)) return [];
    return [`run ${id} (${tag}) is lost although nobody killed its keeper: ${reason}`];
  });
}

/** A keeper or a finaliser that was stopped, and that nobody came back to: it would hold its session for ever. */
async function supervisorsLeft(world: World, { strangers }: Watch): Promise<string[]> {
  const ofWorld = () =>
    startedWith(`REEVE_HOME=${world.home}`).filter(({ pid }) => strangers.every((each) => each.pid !== pid));
  // The outcome is on record a moment before its finaliser is gone.
  await eventually('everything of this world is gone', () => ofWorld().length === 0).catch(() => {});
  return ofWorld().map(({ pid }) => `pid ${pid} of Reeve is left`);
}

/** The tag is the third word of every command: perl misbehave.pl KIND TAG. As a claim writes it. */
function tagOf(claimed: Readonly<Record<string, unknown>>): string {
  const { argv } = claimed as { readonly argv: readonly string[] };
  return argv[3] ?? '';
}
