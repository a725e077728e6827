/** Which harnesses live on this machine, whoever started them, and what dead ones left behind. Looks only. */
import type { HarnessName } from '../harness/adapter.ts';
import type { ProcessFact } from '../process/process-table.ts';
import { RUN_MARK } from '../process/tree.ts';
import type { SessionWithRun } from '../store/store.ts';
import type { Context } from './context.ts';
import { ancestorsOf, findHarnesses } from './discovery.ts';
import type { LiveHarness } from './discovery.ts';

export interface ScannedHarness {
  readonly pid: number;
  readonly harness: HarnessName;
  readonly nativeId: string | null;
  /** `managed`: the owner of a session. `nested`: started by what a run started, and ending with that. */
  readonly state: 'managed' | 'nested' | 'unmanaged';
  readonly session: string | null;
  readonly run: string | null;
  /** Other live processes of the same conversation. */
  readonly duplicates: readonly number[];
  readonly argv: readonly string[];
  readonly cwd: string | null;
  readonly since: string | null;
  readonly evidence: string;
}

export interface Leftover {
  readonly pid: number;
  readonly name: string;
  readonly argv: readonly string[];
  readonly since: string | null;
  /** The variable in its environment that names the harness or the run that started it. */
  readonly mark: string;
}

export interface Scan {
  readonly harnesses: readonly ScannedHarness[];
  readonly leftovers: readonly Leftover[];
}

export async function scan(context: Context): Promise<Scan> {
  const facts = context.table.all().filter(({ isZombie }) => !isZombie);
  const parents = new Map(facts.map(({ pid, parentPid }) => [pid, parentPid]));
  const found = await findHarnesses(context, facts);
  const live = await context.store.live();
  return {
    harnesses: found.map((each) => describe(context, each, found, live, parents)),
    leftovers: leftovers(context, facts, parents, found, live),
  };
}

function describe(
  context: Context,
  each: LiveHarness,
  found: readonly LiveHarness[],
  live: readonly SessionWithRun[],
  parents: ReadonlyMap<number, number>,
): ScannedHarness {
  const owned = live.find(
    ({ run }) => run.harness?.pid === each.identity.pid && run.harness.startTime === each.identity.startTime,
  );
  const above = owned ?? runAbove(context, each.identity.pid, live, parents);
  return {
    pid: each.identity.pid,
    harness: each.harness,
    nativeId: each.nativeId,
    state: owned !== undefined ? 'managed' : above !== undefined ? 'nested' : 'unmanaged',
    session: above?.session.name ?? null,
    run: above?.run.id ?? null,
    duplicates: found
      .filter((other) => other !== each && isSameConversation(other, each))
      .map(({ identity }) => identity.pid),
    // What its owner asked for; the process has the settings for its reports besides.
    argv: owned?.session.argv ?? each.argv,
    cwd: each.cwd,
    since: isoOrNull(each.startedAtMs),
    evidence: each.evidence,
  };
}

function isSameConversation(one: LiveHarness, other: LiveHarness): boolean {
  return one.nativeId !== null && one.nativeId === other.nativeId && one.harness === other.harness;
}

/** The live run in whose tree a process is: by descent, or by its mark where its parents are gone. */
function runAbove(
  context: Context,
  pid: number,
  live: readonly SessionWithRun[],
  parents: ReadonlyMap<number, number>,
): SessionWithRun | undefined {
  const above = new Set(ancestorsOf(parents, pid));
  const byDescent = live.find(({ run }) => above.has(run.harness?.pid ?? run.keeper?.pid ?? -1));
  if (byDescent !== undefined) return byDescent;
  const mark = context.table.details(pid)?.environment()[RUN_MARK];
  return mark === undefined ? undefined : live.find(({ run }) => run.id === mark);
}

/** Marks that name the process or the conversation of the harness that started something. */
const PROCESS_MARKS = ['CLAUDE_PID', 'OPENCODE_PID'] as const;
const CONVERSATION_MARKS = ['CODEX_THREAD_ID', 'CLAUDE_CODE_SESSION_ID', 'GEMINI_SESSION_ID'] as const;

/**
 * What a harness started and did not take along. Only what has lost its parent, or leads a session of its own, can be
 * the topmost of such a tree; only there an environment is read.
 */
function leftovers(
  context: Context,
  facts: readonly ProcessFact[],
  parents: ReadonlyMap<number, number>,
  found: readonly LiveHarness[],
  live: readonly SessionWithRun[],
): readonly Leftover[] {
  const alive = new Set([
    ...found.map(({ identity }) => identity.pid),
    ...live.flatMap(({ run }) => [run.harness?.pid ?? -1, run.keeper?.pid ?? -1]),
    process.pid,
  ]);
  const isTopmost = ({ pid, parentPid, sessionId }: ProcessFact) => parentPid === 1 || sessionId === pid;
  return facts.filter(isTopmost).flatMap((fact) => {
    if (alive.has(fact.pid) || [...ancestorsOf(parents, fact.pid)].some((pid) => alive.has(pid))) return [];
    const details = context.table.details(fact.pid);
    const mark = details === null ? null : deadMark(context.home.path, details.environment(), found, live);
    if (details === null || mark === null) return [];
    const since = isoOrNull(context.table.startedAtMs(fact));
    return [{ pid: fact.pid, name: fact.name, argv: details.argv, since, mark }];
  });
}

/** The mark of something that is not alive any more; null when there is none, or its owner lives. */
function deadMark(
  home: string,
  environment: Readonly<Record<string, string>>,
  found: readonly LiveHarness[],
  live: readonly SessionWithRun[],
): string | null {
  const run = environment[RUN_MARK];
  // What runs under another state directory is that one's to judge.
  if (run !== undefined && environment['REEVE_HOME'] !== home) return null;
  if (run !== undefined) return live.some((each) => each.run.id === run) ? null : `${RUN_MARK}=${run}`;
  for (const name of PROCESS_MARKS) {
    const pid = environment[name];
    if (pid === undefined) continue;
    return found.some(({ identity }) => String(identity.pid) === pid) ? null : `${name}=${pid}`;
  }
  for (const name of CONVERSATION_MARKS) {
    const nativeId = environment[name];
    if (nativeId === undefined) continue;
    return found.some((each) => each.nativeId === nativeId) ? null : `${name}=${nativeId}`;
  }
  return null;
}

function isoOrNull(atMs: number | null): string | null {
  return atMs === null ? null : new Date(atMs).toISOString();
}
