import type { Adapter } from '../harness/adapter.ts';
import { adapterNamed } from '../harness/adapters.ts';
import type { Run } from '../lifecycle/run.ts';
import type { Context } from './context.ts';

/** What is known of the harness that a run executes. */
export async function adapterOf(context: Context, run: Run): Promise<Adapter> {
  const [found] = await context.store.sessionsOf([run.sessionId]);
  return adapterNamed(found?.session.harness ?? 'command');
}
