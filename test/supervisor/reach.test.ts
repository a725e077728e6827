/** Who may end a run whose command became another user's, as one that sudo starts. */
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { EXECUTING } from '../lifecycle/samples.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'reeve-reach-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

/** Asks as nobody where this is root: only after its modules were loaded, for nobody may be unable to read this checkout. */
function ask(run: unknown): unknown {
  const from = (module: string) => JSON.stringify(new URL(`../../src/${module}`, import.meta.url).href);
  const program = `
    import { createLinuxProcessTable } from ${from('process/linux.ts')};
    import { identify } from ${from('process/process-table.ts')};
    import { notEnded } from ${from('supervisor/reach.ts')};
    if (process.getuid() === 0) {
      process.setgroups([]);
      process.setgid(65534);
      process.setuid(65534);
    }
    const table = createLinuxProcessTable('/proc', 'here');
    const processes = { keeper: identify(table, process.pid), harness: identify(table, 1) };
    const context = { table, home: { runs: '/nowhere' } };
    console.log(JSON.stringify(notEnded(context, { ...${JSON.stringify(run)}, ...processes })));`;
  const words = ['--import', 'tsx', '--input-type=module', '-e', program];
  return JSON.parse(execFileSync(process.execPath, words, { encoding: 'utf8' }));
}

it('is refused where nothing ends it, and not where its cgroup can be killed whole', () => {
  // Not skipped: whoever reads a green run must be able to rely on it.
  if (mayEndFirst()) throw new Error('Process 1 belongs to this user; run this test as root.');
  expect(ask({ ...EXECUTING, containment: { by: 'subreaper' } })).toMatchObject({
    because: expect.stringContaining('pid 1') as unknown,
    details: { startedBy: EXECUTING.actor },
  });
  const cgroup = { by: 'cgroup', path: directory };
  expect(ask({ ...EXECUTING, containment: cgroup })).not.toBeNull();
  // As the kernel has it in a cgroup that was handed to this user.
  chmodSync(directory, 0o755);
  writeFileSync(join(directory, 'cgroup.kill'), '');
  chmodSync(join(directory, 'cgroup.kill'), 0o666);
  expect(ask({ ...EXECUTING, containment: cgroup })).toBeNull();
});

function mayEndFirst(): boolean {
  if (process.getuid?.() === 0) return false;
  try {
    process.kill(1, 0);
    return true;
  } catch {
    return false;
  }
}
