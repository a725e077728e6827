import type { SessionDetailView, TreeView } from '../../../src/api/http-views.ts';
import { treePath } from '../api/paths.ts';
import { useLoaded, valueOf } from '../live/loaded.ts';
import { FailureText } from '../parts/message.tsx';
import { bytes, count } from '../words/short.ts';
import { isLive } from '../words/status.ts';
import { Panel } from './panel.tsx';
import { ProcessTable } from './process-table.tsx';

/** What would end with its run. */
export function Processes({
  session,
  revision,
}: {
  readonly session: SessionDetailView;
  readonly revision: number;
}) {
  const isOwned = isLive(session);
  const loaded = useLoaded<TreeView>(isOwned ? treePath(session.run.id) : null, session.run.id, revision);
  if (!isOwned) return null;
  const tree = valueOf(loaded);
  return (
    <Panel title="Processes" note={tree === null ? undefined : noteOf(tree)}>
      {loaded.is === 'failed' && <FailureText failure={loaded.failure} />}
      {loaded.is === 'loading' && <p class="dim">Loading</p>}
      {tree !== null && <ProcessTable processes={tree.processes} />}
    </Panel>
  );
}

function noteOf({ processes }: TreeView): string {
  const total = processes.reduce((sum, { memoryBytes }) => sum + (memoryBytes ?? 0), 0);
  return `${count(processes.length, 'process', 'processes')}, ${bytes(total)}; they end with it`;
}
