/** `usage`: what was spent, by run, session, model, day or harness, and what it cost where prices are known. */
import { ReeveError } from '../api/errors.ts';
import type { UsageBy, UsageRowView, UsageView } from '../api/usage-view.ts';
import type { Prices } from '../lifecycle/price.ts';
import type { UsagePart } from '../store/store.ts';
import { readConfig } from './config.ts';
import type { Context } from './context.ts';
import { list, listOf } from './list.ts';
import { resolveSession } from './resolve.ts';
import { groupedByName, spendingOf } from './spending.ts';
import { inChunks, readAll, readSessions } from './usage-reading.ts';
import { treeOf } from './usage-tree.ts';

export interface UsageRequest {
  /** Without it, of all sessions. */
  readonly session?: string | undefined;
  /** By session, or of one session by run. */
  readonly by?: UsageBy | undefined;
  readonly sinceMs?: number | undefined;
  /** Of one session: also what its runs started, and what those started. */
  readonly tree?: boolean | undefined;
}

export async function usage(context: Context, request: UsageRequest = {}): Promise<UsageView> {
  check(request);
  // Before anything is read: a table of prices that cannot be used is the user's to mend.
  const { prices } = readConfig(context.environment);
  return request.session === undefined
    ? usageOfAll(context, request, prices)
    : usageOfSession(context, request.session, request, prices);
}

/** The latest moment that has a date. */
const MAX_TIME_MS = 8.64e15;

function check({ session, by, sinceMs, tree }: UsageRequest): void {
  if (sinceMs !== undefined && !(Math.abs(sinceMs) <= MAX_TIME_MS))
    throw new ReeveError('usage', 'The moment since which is asked is none.');
  if (tree !== true) return;
  if (session === undefined) {
    throw new ReeveError('usage', 'A tree is of one session: name it.', {
      hint: 'reeve usage SESSION --tree',
    });
  }
  if (by !== undefined) throw new ReeveError('usage', 'A tree is by session and run, and by nothing else.');
}

async function usageOfAll(context: Context, request: UsageRequest, prices: Prices): Promise<UsageView> {
  const { by = 'session', sinceMs } = request;
  // Which conversation a run serves may only have been reported so far.
  await list(context, 'live');
  const problems = await readAll(context);
  const parts = await context.store.usageParts({ by, sinceMs });
  return { ...viewOf(by, parts, sinceMs, prices), session: null, children: null, tree: null, problems };
}

async function usageOfSession(
  context: Context,
  reference: string,
  { by = 'run', sinceMs, tree }: UsageRequest,
  prices: Prices,
): Promise<UsageView> {
  const { session } = await resolveSession(context, reference);
  const runs = await context.store.runsOf(session.id);
  const below = (
    await context.store.below(
      runs.map(({ id }) => id),
      'all',
    )
  ).filter((each) => each.session.id !== session.id);
  const ids = [...new Set([session.id, ...below.map((each) => each.session.id)])];
  const live = below.filter(({ run }) => run.state !== 'ended').map((each) => each.session.id);
  const looked = [...new Set([session.id, ...live])];
  await inChunks(looked, (some) => listOf(context, some));
  const problems = await readSessions(context, { ids: looked, ended: ids, first: session.id });
  const parts = await context.store.usageParts({ by, sinceMs, sessionId: session.id });
  const byRun = groupedByName(
    await inChunks(ids, (some) => context.store.usageParts({ by: 'run', sinceMs, sessionIds: some })),
  );
  const ofChildren = below.flatMap(({ run }) => byRun.get(run.id) ?? []);
  return {
    ...viewOf(by, parts, sinceMs, prices),
    session: session.name,
    children: below.length === 0 ? null : spendingOf(ofChildren, prices),
    tree:
      tree === true
        ? treeOf(session, [...runs.map((run) => ({ session, run })), ...below], byRun, prices)
        : null,
    problems,
  };
}

function viewOf(by: UsageBy, parts: readonly UsagePart[], sinceMs: number | undefined, prices: Prices) {
  const rows = [...groupedByName(parts).values()].map((group): UsageRowView => {
    const { name = '', session = null } = group[0] ?? {};
    // People name a session; its id is for programs, which find it by its name as well.
    return {
      name: by === 'session' ? (session ?? name) : name,
      session,
      ...spendingOf(group, prices),
    };
  });
  return {
    by,
    since: sinceMs === undefined ? null : new Date(sinceMs).toISOString(),
    currency: prices.currency,
    rows: rows.toSorted(by === 'day' ? byDay : byTotal),
    all: spendingOf(parts, prices),
  };
}

function byTotal(one: UsageRowView, other: UsageRowView): number {
  return other.total - one.total || compare(one.name, other.name);
}

/** Days of the year 10000 and later begin with a plus sign. */
function byDay(one: UsageRowView, other: UsageRowView): number {
  const isFar = ({ name }: UsageRowView) => Number(name.startsWith('+'));
  return isFar(one) - isFar(other) || compare(one.name, other.name);
}

function compare(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}
