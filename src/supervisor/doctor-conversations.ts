/**
 * Whether a run shares its conversation. A start looks for other owners before it, but which conversation a shell will
 * open, or somebody will change over to inside, cannot be known then.
 */
import type { Context } from './context.ts';
import type { Check } from './doctor.ts';
import { scan } from './scan.ts';
import type { ScannedHarness } from './scan.ts';

/** Nothing to say when each has its own. */
export async function checkConversations(context: Context): Promise<readonly Check[]> {
  const { harnesses } = await scan(context);
  return harnesses.flatMap(({ pid, nativeId, duplicates }) => {
    // Told once, at the first of them.
    if (duplicates.length === 0 || duplicates.some((other) => other < pid)) return [];
    const serving = harnesses.filter((each) => each.pid === pid || duplicates.includes(each.pid));
    // Two that nobody supervises are no affair of Reeve's; and a run may have several processes of one conversation.
    if (new Set(serving.map(({ run }) => run)).size < 2) return [];
    const who = serving.map(describe).join(' and ');
    const says = `Conversation ${nativeId} has more than one live owner: ${who}. End all but one: reeve stop SESSION, or kill PID`;
    return [{ name: 'conversations', is: 'bad', says }];
  });
}

function describe({ pid, session, run }: ScannedHarness): string {
  return run === null ? `pid ${pid}, which Reeve did not start` : `pid ${pid} (run ${run} of ${session})`;
}
