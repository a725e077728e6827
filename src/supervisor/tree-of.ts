import type { Run } from '../lifecycle/run.ts';
import { identify } from '../process/process-table.ts';
import { readMark } from '../process/run-mark.ts';
import type { Spared } from '../process/spared.ts';
import { runTree } from '../process/run-tree.ts';
import type { RunTree } from '../process/run-tree.ts';
import { adapterOf } from './adapter-of.ts';
import type { Context } from './context.ts';
import { sparedOf } from './lineage.ts';
import { recordedHarness, runDirectory } from './liveness.ts';

/** A run's tree with all that is known to hold it together. */
export async function treeOf(context: Context, run: Run): Promise<RunTree> {
  // A launcher that died right after letting go left the harness's identity only on disk.
  const harness = run.harness ?? recordedHarness(context, run.id);
  // What an adopted harness started bears no mark of ours, but may bear its own.
  const marks =
    run.mode === 'adopted' && harness !== null
      ? (await adapterOf(context, run)).marks({ pid: harness.pid, nativeId: run.native?.id ?? null })
      : [];
  const watcher = context.watches === run.id ? [itself(context)] : [];
  const children = await sparedOf(context, run);
  const spared = () => [...children(), ...watcher];
  // What was running already bears no mark in the kernel either.
  const mark = run.mode === 'adopted' ? {} : { mark: readMark(runDirectory(context, run.id)) };
  return runTree(context.table, { ...run, harness, ...mark }, marks, spared);
}

/** Without a run's mark, so nothing but this very process is meant by it. */
function itself({ table }: Context): Spared {
  const { pid, startTime } = identify(table, process.pid);
  return { pid, startTime: startTime ?? '', runId: null, cgroup: null };
}
