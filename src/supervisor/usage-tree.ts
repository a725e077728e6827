/** What the runs of a session spent, what those spent that they started, and so on. */
import type { UsageTreeRowView } from '../api/usage-view.ts';
import type { Prices } from '../lifecycle/price.ts';
import type { Session } from '../lifecycle/session.ts';
import type { SessionWithRun, UsagePart } from '../store/store.ts';
import { spendingOf } from './spending.ts';

/** `all` are the runs of the session, and those below them. */
export function treeOf(
  { id, name }: Session,
  all: readonly SessionWithRun[],
  partsOf: ReadonlyMap<string, readonly UsagePart[]>,
  prices: Prices,
): readonly UsageTreeRowView[] {
  const started = startedBy(all);
  const branchOf = ({ session, run }: SessionWithRun, depth: number): Branch => {
    const own = partsOf.get(run.id) ?? [];
    const branches = (started.get(run.id) ?? []).map((each) => branchOf(each, depth + 1));
    const inclusive = [...own, ...branches.flatMap((branch) => branch.inclusive)];
    const row = {
      depth,
      session: session.name,
      run: run.id,
      own: spendingOf(own, prices),
      inclusive: spendingOf(inclusive, prices),
    };
    return { inclusive, rows: [row, ...branches.flatMap(({ rows }) => rows)] };
  };
  const branches = (started.get(null) ?? []).map((each) => branchOf(each, 1));
  const own = all.filter(({ session }) => session.id === id).flatMap(({ run }) => partsOf.get(run.id) ?? []);
  const inclusive = branches.flatMap((branch) => branch.inclusive);
  const root = { own: spendingOf(own, prices), inclusive: spendingOf(inclusive, prices) };
  return [{ depth: 0, session: name, run: null, ...root }, ...branches.flatMap(({ rows }) => rows)];
}

interface Branch {
  readonly inclusive: readonly UsagePart[];
  readonly rows: readonly UsageTreeRowView[];
}

/** A run is below the one that started it, also when both are of the session itself, so that each is counted once. */
function startedBy(all: readonly SessionWithRun[]): ReadonlyMap<string | null, readonly SessionWithRun[]> {
  const known = new Set(all.map(({ run }) => run.id));
  const started = new Map<string | null, SessionWithRun[]>();
  for (const each of all) {
    const parent = each.run.parent?.startedBy ?? '';
    const key = known.has(parent) ? parent : null;
    const siblings = started.get(key);
    if (siblings === undefined) started.set(key, [each]);
    else siblings.push(each);
  }
  return started;
}
