/** A record may be damaged, or forged: nobody is taken for a member of a run because it descends from the first process. */
import { expect, it } from 'vitest';
import { createLinuxProcessTable } from '../../src/process/linux.ts';
import { identify } from '../../src/process/process-table.ts';
import { lookAtTree } from '../../src/process/tree-look.ts';

it.each(['subreaper', 'marks'] as const)(
  'a run held by %s, with the first process as its keeper and its harness on record, has nobody',
  { tags: ['linux'] },
  (by) => {
    const table = createLinuxProcessTable();
    const first = identify(table, 1);
    // Only looked at, never ended.
    const look = lookAtTree(
      table,
      // A name of its own: other tests start strangers that bear the mark of some run.
      { id: 'r-of-the-first-process', keeper: first, harness: first, containment: { by } },
      () => [],
    );
    expect([look.reaper(), look.findAll()]).toEqual([null, []]);
  },
);
