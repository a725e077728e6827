import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  cgroupPids,
  createCgroup,
  isPopulated,
  killCgroup,
  readCgroup,
  removeCgroup,
} from '../../src/process/cgroup.ts';
import { endTree } from '../../src/process/end-tree.ts';
import { createLinuxProcessTable } from '../../src/process/linux.ts';
import { runTree } from '../../src/process/run-tree.ts';
import { eventually, isAlive } from '../support/processes.ts';
import { answers, end, endStarted, remember, start } from './started.ts';

const RUN = `test-${process.pid}`;

/** Found without the code under test. A container or a service without delegation has none. */
function canMakeCgroups(): boolean {
  try {
    const mounted = readFileSync('/proc/self/mountinfo', 'utf8')
      .split('\n')
      .find((line) => line.includes(' - cgroup2 '));
    const own = /^0::(.*)$/m.exec(readFileSync('/proc/self/cgroup', 'utf8'))?.[1] ?? '/..';
    const path = join(mounted?.split(' ')[4] ?? '', own, `reeve-can-${process.pid}`);
    mkdirSync(path);
    const canKill = existsSync(join(path, 'cgroup.kill'));
    rmdirSync(path);
    return canKill;
  } catch {
    return false;
  }
}

// Where none can be made, the tests below have nothing to test, and the next one says so; in CI one must be made.
const isPossible = canMakeCgroups();

it('can be made in CI, so that these tests mean something there', () => {
  expect(isPossible || process.env['CI'] !== 'true').toBe(true);
});

it('is made exactly where the kernel allows it', () => {
  const path = createCgroup(`${RUN}-probe`);
  expect(path !== null).toBe(isPossible);
  if (path !== null) removeCgroup(path);
});

describe('a path that is not the cgroup of the run', () => {
  /** Files instead of cgroups: without the guard, the real ones would take the tests and the machine with them. */
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'reeve-cgroup-'));
  });
  afterEach(() => rmSync(root, { recursive: true }));

  /** What the kernel would have been told. */
  function tryToKill(name: string, runId: string): { isRefused: boolean; told: string } {
    const path = join(root, name);
    mkdirSync(path, { recursive: true });
    writeFileSync(join(path, 'cgroup.kill'), '');
    let isRefused = false;
    try {
      killCgroup(path, runId);
    } catch {
      isRefused = true;
    }
    return { isRefused, told: readFileSync(join(path, 'cgroup.kill'), 'latin1') };
  }

  it.each([
    ['that of another run', 'reeve-run-2', 'run-1'],
    ['that of a run whose id begins the same', 'reeve-run-11', 'run-1'],
    ['that of a run whose id ends the same', 'reeve-my-run-1', 'run-1'],
    ['that of the caller', '.', 'run-1'],
    ['one below that of the run', 'reeve-run-1/below', 'run-1'],
    ['one whose name only ends like that of the run', 'x-reeve-run-1', 'run-1'],
  ])('is never killed: %s', (_, name, runId) => {
    expect(tryToKill(name, runId)).toEqual({ isRefused: true, told: '' });
  });

  it('that cannot be read says so, and throws at nobody', () => {
    mkdirSync(join(root, 'reeve-run-1', 'cgroup.procs'), { recursive: true });
    mkdirSync(join(root, 'reeve-run-1', 'cgroup.events'));
    const path = join(root, 'reeve-run-1');
    expect([readCgroup(path), isPopulated(path)]).toEqual([
      { pids: [], unreadable: `reading ${path} gave EISDIR` },
      'unknown',
    ]);
    const containment = { by: 'cgroup', path } as const;
    const tree = runTree(createLinuxProcessTable(), {
      id: 'run-1',
      keeper: null,
      harness: null,
      containment,
    });
    expect([tree.find(), tree.emptiness(), tree.unaccounted()]).toEqual([
      [],
      'withheld',
      `its cgroup could not be looked at: reading ${path} gave EISDIR`,
    ]);
  });

  it('is told apart from the one that is', () => {
    expect(tryToKill('slice/reeve-run-1', 'run-1')).toEqual({ isRefused: false, told: '1' });
  });
});

if (isPossible) {
  describe('the cgroup of a run', () => {
    let path: string;
    beforeEach(() => {
      path = createCgroup(RUN) ?? '';
    });
    afterEach(async () => {
      await endStarted();
      // The kernel gives a cgroup back when the last of its dead were collected.
      await eventually('the cgroup can be removed', () => {
        removeCgroup(path);
        return !existsSync(path);
      });
    });

    function putInto(cgroup: string, pid: number): void {
      writeFileSync(join(cgroup, 'cgroup.procs'), String(pid));
    }

    it('is made below the cgroup of the caller, named by the run, and empty', () => {
      expect(basename(path)).toBe(`reeve-${RUN}`);
      expect(readFileSync(join(dirname(path), 'cgroup.procs'), 'latin1').split('\n')).toContain(
        String(process.pid),
      );
      expect(cgroupPids(path)).toEqual([]);
    });

    it('holds what joined it, what that starts, and what is moved to cgroups below it', async () => {
      const parent = start('sh', ['-c', 'read go; setsid env -i sleep 600 & echo $!; exec cat'], {
        detached: true,
      });
      putInto(path, parent.pid);
      parent.child.stdin.write('go\n');
      const child = remember(Number(await parent.line()));
      const sub = join(path, 'below', 'deeper');
      mkdirSync(sub, { recursive: true });
      const moved = start('cat', []);
      putInto(sub, moved.pid);
      const sorted = cgroupPids(path).toSorted((a, b) => a - b);
      expect(sorted).toEqual([parent.pid, child.pid, moved.pid].toSorted((a, b) => a - b));
    });

    it('is a sign by which the tree is found when no other sign is left', async () => {
      const escaped = start('env', ['-i', 'cat'], { detached: true });
      await eventually('it is cat', () => readFileSync(`/proc/${escaped.pid}/comm`, 'utf8') === 'cat\n');
      putInto(path, escaped.pid);
      const tree = runTree(createLinuxProcessTable(), {
        id: RUN,
        keeper: null,
        harness: null,
        containment: { by: 'cgroup', path },
      });
      expect(tree.find()).toEqual([{ ...escaped.seen, name: 'cat', signs: ['cgroup'] }]);
      tree.killAtOnce();
      await escaped.exited;
      expect(tree.find()).toEqual([]);
      await eventually('it is given back', () => {
        tree.dissolve();
        return !existsSync(path);
      });
    });

    it('ends all at once, those below it too, and nobody else', async () => {
      const [inside, outside] = [start('cat', []), start('cat', [])];
      const sub = join(path, 'below');
      mkdirSync(sub);
      const below = start('cat', []);
      putInto(path, inside.pid);
      putInto(sub, below.pid);
      killCgroup(path, RUN);
      await Promise.all([inside.exited, below.exited]);
      expect(cgroupPids(path)).toEqual([]);
      expect(await answers(outside, 'here')).toBe(true);
    });

    it('does not kill the process that asks for it from inside', async () => {
      const inside = start('cat', []);
      putInto(path, inside.pid);
      const program = `
        import { runTree } from ${JSON.stringify(new URL('../../src/process/run-tree.ts', import.meta.url).href)};
        import { createLinuxProcessTable } from ${JSON.stringify(new URL('../../src/process/linux.ts', import.meta.url).href)};
        const run = { id: ${JSON.stringify(RUN)}, keeper: null, harness: null, containment: { by: 'cgroup', path: ${JSON.stringify(path)} } };
        process.stdin.once('data', () => {
          runTree(createLinuxProcessTable(), run).killAtOnce();
          console.log('saw it through');
          process.exit();
        });`;
      const asking = start(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', program]);
      putInto(path, asking.pid);
      asking.child.stdin.write('go\n');
      expect(await asking.line()).toBe('saw it through');
      await asking.exited;
      // Killing all at once is left out then; one by one is what follows.
      expect(isAlive(inside.seen)).toBe(true);
    });

    it('is read whole when a part of it is threaded, which lists no processes', async () => {
      const [inside, threaded] = [start('cat', []), start('cat', [])];
      const sub = join(path, 'threaded');
      mkdirSync(sub);
      writeFileSync(join(sub, 'cgroup.type'), 'threaded');
      for (const { pid } of [inside, threaded]) putInto(path, pid);
      writeFileSync(join(sub, 'cgroup.threads'), String(threaded.pid));
      expect(() => readFileSync(join(sub, 'cgroup.procs'))).toThrow(/ENOTSUP/);
      const { pids, unreadable } = readCgroup(path);
      expect([[...pids].toSorted((a, b) => a - b), unreadable]).toEqual([
        [inside.pid, threaded.pid].toSorted((a, b) => a - b),
        null,
      ]);
      expect(cgroupPids(sub)).toEqual([threaded.pid]);
      killCgroup(path, RUN);
      await Promise.all([inside.exited, threaded.exited]);
      await eventually('nothing is in it', () => isPopulated(path) === false);
    });

    it('that was frozen, or a part of it, hears a request to end once it is thawed', async () => {
      const program = '$| = 1; $SIG{TERM} = sub { print "heard\n"; exit }; print "ready\n"; sleep 1 while 1';
      const sub = join(path, 'below');
      mkdirSync(sub);
      const inside = start('perl', ['-e', program]);
      await inside.line();
      putInto(sub, inside.pid);
      writeFileSync(join(sub, 'cgroup.freeze'), '1');
      await eventually('it is frozen', () =>
        /^frozen 1$/m.test(readFileSync(join(sub, 'cgroup.events'), 'utf8')),
      );
      const containment = { by: 'cgroup', path } as const;
      const tree = runTree(createLinuxProcessTable(), { id: RUN, keeper: null, harness: null, containment });
      const report = await endTree(tree, 60_000);
      expect([await inside.line(), report.killed, report.end]).toEqual(['heard', [], 'unseen']);
    });

    it('stays while something is in it, and is removed with those below it once empty', async () => {
      const inside = start('cat', []);
      mkdirSync(join(path, 'below'));
      putInto(path, inside.pid);
      removeCgroup(path);
      expect(cgroupPids(path)).toEqual([inside.pid]);
      await end(inside);
      await eventually('it is removed', () => {
        removeCgroup(path);
        return !existsSync(path);
      });
    });

    it('that is not there holds nothing, and is killed and removed without an error', () => {
      removeCgroup(path);
      expect(cgroupPids(path)).toEqual([]);
      killCgroup(path, RUN);
      removeCgroup(path);
      expect(existsSync(path)).toBe(false);
    });

    it('is not made a second time, and the first and what is in it stays', async () => {
      const inside = start('cat', []);
      putInto(path, inside.pid);
      expect(createCgroup(RUN)).toBeNull();
      expect(cgroupPids(path)).toEqual([inside.pid]);
      expect(await answers(inside, 'here')).toBe(true);
    });
  });
}
