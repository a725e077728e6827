/**
 * Before anything is decided by a conversation: what the living runs have said by now, and who of them has not said yet.
 * A harness that chooses its conversation itself tells it a moment after it started, and nobody may have looked since.
 */
import type { Adapter } from '../harness/adapter.ts';
import type { LiveRun } from '../lifecycle/run.ts';
import type { SessionWithRun } from '../store/store.ts';
import type { Context } from './context.ts';
import { list } from './list.ts';

export async function hearAll(context: Context): Promise<void> {
  await list(context, 'live');
}

/**
 * A living run of this harness that has not named its conversation, and may serve this one: that took place in the same
 * directory, and has changed since the run began. It cannot be proven that it does not.
 */
export async function whoMayServe(
  context: Context,
  adapter: Adapter,
  nativeId: string,
): Promise<(SessionWithRun & { readonly run: LiveRun }) | null> {
  const silent = (await context.store.live()).filter(
    ({ session, run }) => session.harness === adapter.name && run.native === null,
  );
  if (silent.length === 0) return null;
  const place = { environment: context.environment, cwd: process.cwd() };
  const conversation = adapter.findConversations(place, nativeId).find((each) => each.nativeId === nativeId);
  if (conversation === undefined) return null;
  for (const { session, run } of silent) {
    const isPossible = conversation.updatedAtMs >= run.claimedAtMs && conversation.cwd === run.cwd;
    if (isPossible && run.state !== 'ended') return { session, run };
  }
  return null;
}
