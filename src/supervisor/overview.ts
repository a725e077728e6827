/** The list of sessions with what a daemon can afford to look up for each: branch, memory, and tokens. */
import type { MemberView, SessionDetailView, SessionRow, TreeView } from '../api/http-views.ts';
import type { SessionView } from '../api/session-view.ts';
import { totalOf } from '../lifecycle/usage.ts';
import type { ProcessFact } from '../process/process-table.ts';
import { branchIn } from './branch.ts';
import type { Context } from './context.ts';
import { list, listOf, show } from './list.ts';
import type { Range } from './list.ts';
import { resolveCurrent } from './resolve.ts';
import { treeOf } from './tree-of.ts';

export type OverviewRequest = { readonly range: Range } | { readonly ids: readonly string[] };

export async function overview(context: Context, request: OverviewRequest): Promise<readonly SessionRow[]> {
  return withLooks(
    context,
    'ids' in request ? await listOf(context, request.ids) : await list(context, request.range),
  );
}

export async function detail(context: Context, reference: string): Promise<SessionDetailView> {
  const shown = await show(context, reference);
  const [row] = await withLooks(context, [shown]);
  const { branch = null, memoryBytes = null, tokens = null, budgets = [] } = row ?? {};
  return { branch, memoryBytes, tokens, budgets, ...shown };
}

/** What would end with the session's run, now. */
export async function tree(context: Context, reference: string): Promise<TreeView> {
  const { run } = await resolveCurrent(context, reference);
  if (run.state === 'ended') return { run: run.id, processes: [] };
  const members = (await treeOf(context, run)).find();
  const memory = context.table.memoryOf(members.map(({ pid }) => pid));
  const processes = members.map(({ pid, name }): MemberView => ({
    pid,
    name,
    memoryBytes: memory.get(pid) ?? null,
  }));
  return { run: run.id, processes };
}

/** The process table is read once for all of them, and the ledger too. */
async function withLooks(context: Context, views: readonly SessionView[]): Promise<readonly SessionRow[]> {
  const spent = await context.store.usageTotals(views.map(({ id }) => id));
  const keepers = views.flatMap(({ run }) =>
    // Proven alive, it is a process of this machine.
    run.liveness !== 'alive' || run.keeperPid === null ? [] : [run.keeperPid],
  );
  const trees = membersBelow(keepers, keepers.length === 0 ? [] : context.table.all());
  const memory = context.table.memoryOf([...trees.values()].flat());
  const branches = new Map<string, string | null>();
  return views.map((view) => {
    const sums = spent.get(view.id);
    const tokens = sums === undefined ? null : totalOf(sums);
    // What is checked out now says nothing of what was when it ended.
    if (view.run.state === 'ended') return { ...view, branch: null, memoryBytes: null, tokens, budgets: [] };
    if (!branches.has(view.cwd)) branches.set(view.cwd, branchIn(view.cwd));
    const members = trees.get(view.run.keeperPid ?? 0) ?? [];
    const held = members.flatMap((pid) => memory.get(pid) ?? []);
    return {
      ...view,
      branch: branches.get(view.cwd) ?? null,
      memoryBytes: held.length === 0 ? null : held.reduce((sum, bytes) => sum + bytes, 0),
      tokens,
      budgets: [],
    };
  });
}

/** What descends from each keeper, and itself: it is what orphans of its run come to. */
function membersBelow(
  keepers: readonly number[],
  facts: readonly ProcessFact[],
): ReadonlyMap<number, readonly number[]> {
  const children = new Map<number, number[]>();
  for (const { pid, parentPid } of facts) {
    const siblings = children.get(parentPid);
    if (siblings === undefined) children.set(parentPid, [pid]);
    else siblings.push(pid);
  }
  return new Map(
    keepers.map((keeper) => {
      // A set, for a table that is not read in one instant may seem to have rings.
      const members = new Set([keeper]);
      for (const member of members) for (const child of children.get(member) ?? []) members.add(child);
      return [keeper, [...members]];
    }),
  );
}
