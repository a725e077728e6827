import type { SessionRow } from '../../../src/api/http-views.ts';
import { commandLine } from '../words/short.ts';

/** Every word must be somewhere in it; in which place does not matter. */
export function matches(row: SessionRow, query: string): boolean {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return true;
  const text = [row.name, row.cwd, row.branch ?? '', row.harness, commandLine(row.argv), row.status]
    .join('\n')
    .toLowerCase();
  return words.every((word) => text.includes(word));
}
