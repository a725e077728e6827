/**
 * What a look at the live processes tells that no record does. Whether a run shares its conversation: a start looks for
 * other owners before it, but which conversation a shell will open, or somebody will change over to inside, cannot be
 * known then. And whether a run that is over, or that a lost store has forgotten, has left something behind.
 */
import { RUN_MARK } from '../process/tree.ts';
import type { Context } from './context.ts';
import type { Check } from './doctor.ts';
import { declaredLiving, named } from './ownership/declared-gone.ts';
import type { Declared } from './ownership/declared-gone.ts';
import { scan } from './scan.ts';
import type { Leftover, ScannedHarness } from './scan.ts';

/** Nothing to say when there is nothing to do. */
export async function checkProcesses(context: Context): Promise<readonly Check[]> {
  const { harnesses, leftovers } = await scan(context);
  return [
    ...checkConversations(harnesses),
    ...checkDeclared(await declaredLiving(context)),
    ...checkLeftovers(leftovers),
  ];
}

function checkDeclared(declared: readonly Declared[]): readonly Check[] {
  if (declared.length === 0) return [];
  const who = declared.map(
    ({ session, run, members }) => `run ${run.id} of ${session.name} (${named(members)})`,
  );
  const says = `Declared gone by a person, but alive: ${who.join(', ')}. End what is left: reeve settle`;
  return [{ name: 'declared gone', is: 'bad', says }];
}

function checkConversations(harnesses: readonly ScannedHarness[]): readonly Check[] {
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

/** What a harness that Reeve did not start has left is no affair of Reeve's. */
function checkLeftovers(leftovers: readonly Leftover[]): readonly Check[] {
  const ours = leftovers.filter(({ mark }) => mark.startsWith(`${RUN_MARK}=`));
  if (ours.length === 0) return [];
  const who = ours.map(
    ({ pid, name, mark }) => `pid ${pid} (${name}, of ${mark.slice(RUN_MARK.length + 1)})`,
  );
  const says = `Started by runs that are not on record as live, and supervised by nobody: ${who.join(', ')}. What they are: reeve scan`;
  return [{ name: 'leftovers', is: 'poor', says }];
}
