import type { Conversation } from './adapter.ts';

export function latestFirst(a: Conversation, b: Conversation): number {
  return b.updatedAtMs - a.updatedAtMs;
}
