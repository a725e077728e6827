import { isShapedLikeId } from '../lifecycle/session.ts';
import type { Context } from './context.ts';

/** Null when it may be the name; otherwise the reason why not, as the end of a sentence. */
export async function refuseIdAsName(context: Context, name: string): Promise<string | null> {
  if (!isShapedLikeId(name) || (await context.store.sessionByName(name)) !== null) return null;
  return 'it is shaped like an id, and who gives that id would reach this session instead';
}
