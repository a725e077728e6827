/** Harness processes on this machine, whoever started them, and the conversations that they serve. */
import { allAdapters, adapterNamed } from '../harness/adapters.ts';
import type { Adapter, HarnessName, LiveProcess } from '../harness/adapter.ts';
import type { ProcessIdentity } from '../lifecycle/process-identity.ts';
import { identify } from '../process/process-table.ts';
import type { ProcessFact } from '../process/process-table.ts';
import type { Context } from './context.ts';

export interface LiveHarness {
  readonly harness: HarnessName;
  readonly identity: ProcessIdentity;
  readonly parentPid: number;
  /** Null when it serves a conversation that cannot be told from outside. */
  readonly nativeId: string | null;
  readonly argv: readonly string[];
  readonly cwd: string | null;
  readonly startedAtMs: number | null;
  readonly evidence: string;
}

/** Programs by whose short name a harness can go; a script goes by that of its interpreter. */
const CANDIDATE = /^(?:claude|codex|code|coder|gemini|opencode|node|bun|MainThread|node-MainThread)/;

/** The live processes that serve this conversation, less those that only help one of them. */
export async function findServing(
  context: Context,
  harness: string,
  nativeId: string,
): Promise<readonly LiveHarness[]> {
  const found = harnessesAmong(context, context.table.all(), [await adapterNamed(harness)]);
  return found.filter((each) => each.nativeId === nativeId);
}

export async function findHarnesses(
  context: Context,
  facts: readonly ProcessFact[],
): Promise<readonly LiveHarness[]> {
  return harnessesAmong(context, facts, await allAdapters());
}

function harnessesAmong(
  context: Context,
  facts: readonly ProcessFact[],
  adapters: readonly Adapter[],
): readonly LiveHarness[] {
  const found = facts
    .filter(({ isZombie, name }) => !isZombie && CANDIDATE.test(name))
    .flatMap((fact) => {
      const process = liveProcess(context, fact);
      if (process === null) return [];
      return adapters.flatMap((adapter) => describe(context, adapter, fact, process)).slice(0, 1);
    });
  return withoutHelpers(found, facts);
}

function describe(
  context: Context,
  adapter: Adapter,
  fact: ProcessFact,
  process: LiveProcess,
): LiveHarness[] {
  const served = adapter.serves(process);
  if (served === null) return [];
  return [
    {
      harness: adapter.name,
      identity: { ...context.table.host, pid: fact.pid, startTime: fact.startTime },
      parentPid: fact.parentPid,
      nativeId: served.nativeId,
      argv: process.argv,
      cwd: process.cwd,
      startedAtMs: context.table.startedAtMs(fact),
      evidence: served.evidence,
    },
  ];
}

/** A harness that starts itself again, or helpers of its own kind, is one: the topmost of them. */
function withoutHelpers(
  found: readonly LiveHarness[],
  facts: readonly ProcessFact[],
): readonly LiveHarness[] {
  const parents = new Map(facts.map(({ pid, parentPid }) => [pid, parentPid]));
  const byPid = new Map(found.map((each) => [each.identity.pid, each]));
  return found.filter((each) => {
    for (const pid of ancestorsOf(parents, each.identity.pid)) {
      const above = byPid.get(pid);
      if (above === undefined || above.harness !== each.harness) continue;
      if (each.nativeId === null || each.nativeId === above.nativeId) return false;
    }
    return true;
  });
}

export function* ancestorsOf(parents: ReadonlyMap<number, number>, pid: number): Iterable<number> {
  const seen = new Set([pid]);
  for (let above = parents.get(pid); above !== undefined && !seen.has(above); above = parents.get(above)) {
    seen.add(above);
    yield above;
  }
}

export function liveProcess(context: Context, fact: ProcessFact): LiveProcess | null {
  const details = context.table.details(fact.pid);
  if (details === null || details.argv.length === 0) return null;
  return {
    pid: fact.pid,
    startTime: fact.startTime,
    name: fact.name,
    argv: details.argv,
    cwd: details.cwd(),
    environment: () => details.environment(),
    openFiles: () => details.openFiles(),
  };
}

/** The process of this pid as a harness; null when it is none, or gone. */
export async function harnessAt(context: Context, pid: number): Promise<LiveHarness | null> {
  const reading = context.table.read(pid);
  if (reading.is !== 'there') return null;
  const [found] = harnessesAmong(context, [reading.fact], await allAdapters());
  return found === undefined ? null : { ...found, identity: identify(context.table, pid) };
}
