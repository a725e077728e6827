/** A run's cgroup that belongs to another user than the one who ends the run. */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { createCgroup, removeCgroup } from '../../src/process/cgroup.ts';
import { eventually } from '../support/processes.ts';
import { answers, endStarted, start } from './started.ts';

const RUN = `test-another-${process.pid}`;

let path: string | null = null;
afterEach(async () => {
  await endStarted();
  // The kernel gives a cgroup back when the last of its dead were collected.
  await eventually('the cgroup is removed', () => {
    if (path !== null) removeCgroup(path);
    return path === null || !existsSync(path);
  });
});

/** Ends the tree as nobody: only after its modules were loaded, for nobody may be unable to read this checkout. */
function programOfNobody(cgroup: string): string {
  const from = (module: string) =>
    JSON.stringify(new URL(`../../src/process/${module}`, import.meta.url).href);
  const run = { id: RUN, keeper: null, harness: null, containment: { by: 'cgroup', path: cgroup } };
  return `
    import { endTree } from ${from('end-tree.ts')};
    import { createLinuxProcessTable } from ${from('linux.ts')};
    import { runTree } from ${from('run-tree.ts')};
    process.setgroups([]);
    process.setgid(65534);
    process.setuid(65534);
    const tree = runTree(createLinuxProcessTable(), ${JSON.stringify(run)});
    const { end, survivors } = await endTree(tree, 0).catch(({ code }) => ({ end: code }));
    console.log(JSON.stringify({ end, survivors }));`;
}

it(
  'whoever may not kill the cgroup of another user goes on without, and names those who survive',
  { tags: ['root'] },
  async () => {
    path = createCgroup(RUN);
    if (path === null) throw new Error('No cgroup can be made here, so this cannot be tested.');
    const inside = start('cat', []);
    writeFileSync(join(path, 'cgroup.procs'), String(inside.pid));
    const nobody = start(process.execPath, [
      '--import',
      'tsx',
      '--input-type=module',
      '-e',
      programOfNobody(path),
    ]);
    expect(JSON.parse(await nobody.line())).toEqual({
      end: 'survived',
      survivors: [{ ...inside.seen, name: 'cat', signs: ['cgroup'] }],
    });
    expect(await answers(inside, 'here')).toBe(true);
  },
);
