import type { ProcessIdentity } from '../lifecycle/process-identity.ts';
import type { Run } from '../lifecycle/run.ts';
import { harnessMarks } from '../process/harness-mark.ts';
import type { HarnessMarks } from '../process/harness-mark.ts';
import { identify } from '../process/process-table.ts';
import { readMark } from '../process/run-mark.ts';
import type { Spared } from '../process/spared.ts';
import { readExit } from '../process/run-directory.ts';
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
  const watcher = context.watches === run.id ? [itself(context)] : [];
  const children = await sparedOf(context, run);
  const spared = () => [...children(), ...watcher];
  // What was running already bears no mark of ours, but what it starts may bear its own.
  const marks =
    run.mode === 'adopted'
      ? await harnessMarksOf(context, run, harness)
      : { mark: readMark(runDirectory(context, run.id)) };
  return runTree(context.table, { ...run, harness, ...marks }, spared);
}

async function harnessMarksOf(
  context: Context,
  run: Run,
  harness: ProcessIdentity | null,
): Promise<{ harnessMarks?: HarnessMarks }> {
  if (harness === null) return {};
  const adapter = await adapterOf(context, run);
  const assignments = adapter.marks({ pid: harness.pid, nativeId: run.native?.id ?? null });
  const untilMs = () => {
    const exit = readExit(runDirectory(context, run.id), run.id);
    return exit.kind === 'unseen' ? exit.uptimeMs : null;
  };
  return { harnessMarks: harnessMarks(harness, assignments, untilMs) };
}

/** Without a run's mark, so nothing but this very process is meant by it. */
function itself({ table }: Context): Spared {
  const { pid, startTime } = identify(table, process.pid);
  return { pid, startTime: startTime ?? '', runId: null, cgroup: null };
}
