import type { ProcessIdentity } from '../lifecycle/process-identity.ts';
import type { ProcessTable } from './process-table.ts';

/** Whether this user may signal it, in the kernel's own word: signal 0 asks, and does nothing. One that is gone needs none. */
export function maySignal(table: ProcessTable, { pid, startTime }: ProcessIdentity): boolean {
  const reading = table.read(pid);
  if (reading.is === 'gone') return true;
  if (reading.is === 'there' && reading.fact.startTime !== startTime) return true;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return !(error instanceof Error && 'code' in error && error.code === 'EPERM');
  }
}
