import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isThere } from '../process/reading.ts';
import type { Context } from './context.ts';
import { spoolIn } from './spool.ts';
import { noteWithheld } from './withheld.ts';

/** In a spool whose harness was started with hooks of its own; those that were installed for all then only repeat. */
export const LAUNCHED_WITH_HOOKS = '.launched-with-hooks';

export function createSpool(context: Context, runId: string, hasHooks: boolean): void {
  const spool = spoolIn(context.home, runId);
  mkdirSync(spool, { recursive: true, mode: 0o700 });
  noteWithheld(spool, context.environment);
  if (hasHooks) writeFileSync(join(spool, LAUNCHED_WITH_HOOKS), '');
}

/**
 * The spool of a living run, where it was removed. Whether its harness was started with hooks of its own is not known any
 * more: what those that were installed for all repeat is then told twice.
 */
export function restoreSpool(context: Context, runId: string): void {
  if (!isThere(spoolIn(context.home, runId))) createSpool(context, runId, false);
}
