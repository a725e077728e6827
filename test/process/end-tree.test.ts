/** The ladder against trees that misbehave in ways no real process can be made to everywhere. */
import { describe, expect, it, vi } from 'vitest';
import { endTree } from '../../src/process/end-tree.ts';
import { createLinuxProcessTable } from '../../src/process/linux.ts';
import { signalProven } from '../../src/process/run-tree.ts';
import type { RunTree } from '../../src/process/run-tree.ts';
import type { Member } from '../../src/process/tree.ts';
import { describeSurvivors, describeSwept, describeTold } from '../../src/supervisor/describe-members.ts';

const member = (pid: number): Member => ({ pid, startTime: '1', name: `p${pid}`, signs: ['descent'] });

interface Fault {
  /** What a signal does to the set of living members. */
  readonly on: (signal: NodeJS.Signals, target: Member, living: Map<number, Member>) => void;
  /** Whether the kernel would confirm that nothing is left. */
  readonly proof?: (living: ReadonlyMap<number, Member>) => boolean;
  /** Whom this user may not signal. */
  readonly refuses?: readonly number[];
  readonly isCgroupKilled?: boolean;
}

function fakeTree(pids: readonly number[], fault: Fault): RunTree & { sent: string[] } {
  const living = new Map(pids.map((pid) => [pid, member(pid)]));
  const sent: string[] = [];
  return {
    sent,
    find: () => [...living.values()],
    emptiness: () => ((fault.proof ?? ((left) => left.size === 0))(living) ? 'proven' : 'not_empty'),
    signal: (target, signal) => {
      sent.push(`${signal} ${target.pid}`);
      fault.on(signal, target, living);
      return fault.refuses?.includes(target.pid) === true ? 'refused' : 'sent';
    },
    unaccounted: () => (living.size === 0 ? 'the kernel counts one more' : null),
    thaw: () => {},
    killAtOnce: () => fault.isCgroupKilled === true,
    dissolve: () => {},
  };
}

const dieOf =
  (...deadly: NodeJS.Signals[]): Fault['on'] =>
  (signal, { pid }, living) => {
    if (deadly.includes(signal)) living.delete(pid);
  };

describe('whom no signal reached', () => {
  /** Whatever is sent to either, 11 may not be signalled, and goes when 10 is killed. */
  const both: Fault['on'] = (signal, { pid }, living) => {
    if (signal !== 'SIGKILL' || pid !== 10) return;
    living.delete(10);
    living.delete(11);
  };

  it.each([0, 20])('is told apart from whom it ended (grace %i)', async (graceMs) => {
    const report = await endTree(fakeTree([10, 11], { on: both, refuses: [11] }), graceMs);
    expect(report).toEqual({
      found: [member(10), member(11)],
      killed: [member(10)],
      unsignalled: [member(11)],
      end: 'proven',
      survivors: [],
    });
    expect(describeSwept(report)).toEqual([
      'left behind and ended: p10 (pid 10), 1 of them by SIGKILL',
      'ended without a signal, which this user may not send them: p11 (pid 11)',
    ]);
    expect(describeTold(report)).toEqual([
      'told to end: p10 (pid 10); killed with SIGKILL: p10 (pid 10)',
      'ended without a signal, which this user may not send them: p11 (pid 11)',
    ]);
  });

  it('survives, and is not said to be alive after SIGKILL', () => {
    const [survivors, unsignalled] = [[member(10), member(11)], [member(11)]];
    expect(describeSurvivors({ survivors, unsignalled })).toBe(
      'processes of it are alive after SIGKILL: p10 (pid 10); processes of it are alive that this user may not signal: p11 (pid 11)',
    );
  });

  it('is nobody in a cgroup that the kernel killed', async () => {
    const fault = { on: both, refuses: [11], isCgroupKilled: true };
    const tree = fakeTree([10, 11], fault);
    const inside = {
      ...tree,
      find: () => tree.find().map((each) => ({ ...each, signs: ['cgroup'] as const })),
    };
    expect((await endTree(inside, 0)).unsignalled).toBeUndefined();
  });

  it('was refused by the kernel, in its own word', () => {
    const table = createLinuxProcessTable();
    const self = table.read(process.pid);
    const target = { pid: process.pid, startTime: self.is === 'there' ? self.fact.startTime : null };
    const kill = vi.spyOn(process, 'kill').mockImplementation(() => {
      throw Object.assign(new Error('kill EPERM'), { code: 'EPERM' });
    });
    expect(signalProven(table, target, 'SIGTERM')).toBe('refused');
    kill.mockReturnValue(true);
    expect(signalProven(table, target, 'SIGTERM')).toBe('sent');
    kill.mockRestore();
    expect(signalProven(table, { ...target, startTime: 'another' }, 'SIGTERM')).toBe('nobody');
  });
});

// Some wait for limits of the ladder.
describe.concurrent('ending a tree', () => {
  it('that ends when asked sends nothing more', async () => {
    const tree = fakeTree([10, 11], { on: dieOf('SIGTERM', 'SIGKILL') });
    const report = await endTree(tree, 1000);
    expect(report).toEqual({
      found: [member(10), member(11)],
      killed: [],
      end: 'proven',
      survivors: [],
    });
    expect(tree.sent).toEqual(['SIGTERM 10', 'SIGCONT 10', 'SIGTERM 11', 'SIGCONT 11']);
  });

  it('asks each member in the way that is said of it', async () => {
    const tree = fakeTree([10, 11], { on: dieOf('SIGINT', 'SIGTERM') });
    await endTree(tree, 1000, ({ pid }) => (pid === 10 ? 'SIGINT' : 'SIGTERM'));
    expect(tree.sent).toEqual(['SIGINT 10', 'SIGCONT 10', 'SIGTERM 11', 'SIGCONT 11']);
  });

  it('freezes every member before it kills the first', async () => {
    const tree = fakeTree([10, 11], { on: dieOf('SIGKILL') });
    const report = await endTree(tree, 0);
    expect(report.end).toBe('proven');
    expect(tree.sent).toEqual(['SIGSTOP 10', 'SIGSTOP 11', 'SIGKILL 10', 'SIGKILL 11']);
  });

  it('freezes also what was forked while it was freezing', async () => {
    let next = 11;
    const tree = fakeTree([10], {
      on: (signal, target, living) => {
        if (signal === 'SIGSTOP' && next < 14) living.set(next, member(next++));
        dieOf('SIGKILL')(signal, target, living);
      },
    });
    const report = await endTree(tree, 0);
    expect(report.end).toBe('proven');
    expect(report.found.map(({ pid }) => pid)).toEqual([10, 11, 12, 13]);
    expect(tree.sent.filter((line) => line.startsWith('SIGSTOP'))).toHaveLength(4);
  });

  it('that cannot be killed ends in its name, never in success', async () => {
    const tree = fakeTree([10, 11], {
      on: (signal, { pid }, living) => {
        if (signal === 'SIGKILL' && pid === 11) living.delete(pid);
      },
    });
    const report = await endTree(tree, 0);
    expect({ end: report.end, survivors: report.survivors }).toEqual({
      end: 'survived',
      survivors: [member(10)],
    });
  }, 20_000);

  it('of which nobody is seen is not gone while the kernel says otherwise', async () => {
    const report = await endTree(fakeTree([], { on: () => {}, proof: () => false }), 0);
    expect(report).toEqual({
      found: [],
      killed: [],
      end: 'survived',
      survivors: [],
      because: 'the kernel counts one more',
    });
  }, 30_000);

  it('waits for the kernel to count nobody any more, longer than for somebody who is seen', async () => {
    const begun = performance.now();
    // Beyond the five seconds in which whoever is seen has to be gone.
    const tree = fakeTree([], { on: () => {}, proof: () => performance.now() - begun > 6_000 });
    expect((await endTree(tree, 0)).end).toBe('proven');
  }, 30_000);

  it('ends with nobody seen when what could not be looked at is gone a moment later', async () => {
    let left = 3;
    const tree = {
      ...fakeTree([], { on: () => {} }),
      emptiness: () => (left-- > 0 ? ('withheld' as const) : ('unseen' as const)),
    };
    expect((await endTree(tree, 0)).end).toBe('unseen');
  });

  it('that cannot be looked at whole for as long as a doubt may take to pass says so, and is not gone', async () => {
    const tree = { ...fakeTree([], { on: () => {} }), emptiness: () => 'withheld' as const };
    for (const graceMs of [0, 1000])
      expect(await endTree(tree, graceMs)).toEqual({
        found: [],
        killed: [],
        end: 'survived',
        survivors: [],
        because: 'the kernel counts one more',
      });
  });

  it('asks whoever comes to light only when all others are gone', async () => {
    const tree = fakeTree([10], { on: dieOf('SIGTERM') });
    const late = member(20);
    let isLooked = false;
    const outside: typeof tree = {
      ...tree,
      find: () => (isLooked && !tree.sent.includes('SIGTERM 20') ? [...tree.find(), late] : tree.find()),
      emptiness: () => {
        if (isLooked) return 'proven';
        isLooked = true;
        return 'not_empty';
      },
    };
    const report = await endTree(outside, 5000);
    expect(report).toEqual({ found: [member(10), late], killed: [], end: 'proven', survivors: [] });
    expect(tree.sent).toEqual(['SIGTERM 10', 'SIGCONT 10', 'SIGTERM 20', 'SIGCONT 20']);
  });
});
