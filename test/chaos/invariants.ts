/**
 * The invariants, checked against the real process table:
 *   1 never two live runs of a session; 2 no run lost; 3 each ended once; 4 nothing of a run alive after its end;
 *   5 no stranger signalled; 6 no child left undealt with after the end of its owner.
 */
import type { EndedRun, Run } from '../../src/lifecycle/run.ts';
import { isAlive } from '../support/processes.ts';
import type { Seen } from '../support/processes.ts';
import { taggedProcesses } from './world.ts';
import type { Tagged, World } from './world.ts';

export interface Watch {
  /** The endings as first seen: they must never change. */
  readonly endings: Map<string, string>;
  readonly strangers: readonly Seen[];
  samples: number;
  mostLiveRuns: number;
}

export async function sample(world: World, watch: Watch): Promise<string[]> {
  // The record first, then the processes: what was on record as ended before a process was seen alive is a violation.
  const runs = await allRuns(world);
  const seen = taggedProcesses(world);
  watch.samples += 1;
  watch.mostLiveRuns = Math.max(watch.mostLiveRuns, runs.filter(({ state }) => state !== 'ended').length);
  return [
    ...twoOwners(world, seen),
    ...aliveAfterEnd(runs, seen),
    ...changedEndings(runs, watch),
    ...signalledStrangers(watch),
    ...(await forgottenChildren(world, runs)),
  ];
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

function aliveAfterEnd(runs: readonly Run[], seen: readonly Tagged[]): string[] {
  const ended = new Map(runs.flatMap((run) => (run.state === 'ended' ? [[tagOf(run), run] as const] : [])));
  return seen.flatMap((process) => {
    const run = ended.get(process.tag);
    return run === undefined || !isAlive(process)
      ? []
      : [
          `pid ${process.pid} of ${process.tag} (${run.id}) is alive although it ended: ${JSON.stringify(run.ending)}`,
        ];
  });
}

/** Runs are read one session after the other, so what seems to be is asked for again. */
async function forgottenChildren(world: World, runs: readonly Run[]): Promise<string[]> {
  const ended = new Set(runs.flatMap(({ id, state }) => (state === 'ended' ? [id] : [])));
  const suspects = runs.filter(({ state, parent }) => state !== 'ended' && ended.has(parent?.ownerId ?? ''));
  const problems: string[] = [];
  for (const { id } of suspects) {
    const run = await world.store.run(id);
    const owner = run?.parent?.ownerId ?? '';
    if (run === null || run.state === 'ended' || !ended.has(owner) || run.parent?.waitsUntilMs !== null)
      continue;
    problems.push(`run ${id} lives, undealt with, although its owner ${owner} is over`);
  }
  return problems;
}

function changedEndings(runs: readonly Run[], watch: Watch): string[] {
  return runs
    .filter((run): run is EndedRun => run.state === 'ended')
    .flatMap((run) => {
      const now = JSON.stringify(run.ending);
      const before = watch.endings.get(run.id) ?? now;
      watch.endings.set(run.id, before);
      return before === now ? [] : [`the ending of ${run.id} changed from ${before} to ${now}`];
    });
}

function signalledStrangers(watch: Watch): string[] {
  return watch.strangers.flatMap((stranger) =>
    isAlive(stranger) ? [] : [`the stranger with pid ${stranger.pid} is gone`],
  );
}

/** At the end of it all: every launch that claimed has exactly one end on record. */
export async function settled(world: World): Promise<string[]> {
  const runs = await allRuns(world);
  const unended = runs.filter(({ state }) => state !== 'ended').map(({ id }) => `run ${id} never ended`);
  const problems: string[] = [];
  for (const sessionId of new Set(runs.map((run) => run.sessionId))) {
    const events = await world.store.eventsOf(sessionId);
    const epochs = runs.filter((run) => run.sessionId === sessionId).map(({ epoch }) => epoch);
    if (epochs.some((epoch, index) => epoch !== index + 1))
      problems.push(`epochs of ${sessionId}: ${epochs.join(', ')}`);
    for (const { id } of runs.filter((run) => run.sessionId === sessionId)) {
      const ends = events.filter((event) => event.kind === 'run.ended' && event.runId === id).length;
      if (ends !== 1) problems.push(`run ${id} has ${ends} ends on record`);
    }
  }
  return [
    ...unended,
    ...problems,
    ...taggedProcesses(world).map(({ pid, tag }) => `pid ${pid} of ${tag} is left`),
  ];
}

export async function allRuns(world: World): Promise<Run[]> {
  const { live, ended } = await world.store.overview(10_000);
  const sessions = [...live, ...ended];
  const runs: Run[] = [];
  for (const id of new Set(sessions.map(({ session }) => session.id)))
    runs.push(...(await world.store.runsOf(id)));
  return runs;
}

/** The tag is the third word of every command: perl misbehave.pl KIND TAG. */
function tagOf(run: Run): string {
  return run.argv[3] ?? '';
}
