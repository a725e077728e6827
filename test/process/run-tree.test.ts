import { afterEach, describe, expect, it, vi } from 'vitest';
import { createLinuxProcessTable } from '../../src/process/linux.ts';
import { identify } from '../../src/process/process-table.ts';
import type { ProcessReading, ProcessTable } from '../../src/process/process-table.ts';
import { runTree, signalProven } from '../../src/process/run-tree.ts';
import { fact, fakeTable } from './fake-table.ts';
import { answers, endStarted, start } from './started.ts';

const table = createLinuxProcessTable();

afterEach(endStarted);
afterEach(() => vi.restoreAllMocks());

describe('a signal', () => {
  it('reaches the process that is proven to be the one that was found', async () => {
    const { pid, exited } = start('cat', []);
    signalProven(table, identify(table, pid), 'SIGKILL');
    await exited;
    expect(table.read(pid)).toEqual({ is: 'gone' });
  });

  it('spares a process with another start time, or whose start time was not on record', async () => {
    const started = start('cat', []);
    for (const startTime of ['1', '', null]) signalProven(table, { pid: started.pid, startTime }, 'SIGKILL');
    expect(await answers(started, 'here')).toBe(true);
  });

  it.each<[string, ProcessReading]>([
    ['cannot be read', { is: 'unreadable', because: 'EACCES' }],
    ['is said to be gone', { is: 'gone' }],
    ['is a zombie', { is: 'there', fact: fact(7, 1, { startTime: '70', isZombie: true }) }],
  ])('spares a process that %s', async (_, reading) => {
    const started = start('cat', []);
    const doubting: ProcessTable = { ...table, read: () => reading };
    signalProven(doubting, { pid: started.pid, startTime: '70' }, 'SIGKILL');
    expect(await answers(started, 'here')).toBe(true);
  });

  it.each([1, 0, -1, -4711])('is never sent to %i, which is everything or a whole group', (pid) => {
    // Not let through: without the guard this test would end the machine it runs on.
    const kill = vi.spyOn(process, 'kill').mockReturnValue(true);
    signalProven(fakeTable([fact(pid, 0)]), { pid, startTime: String(pid * 10) }, 'SIGKILL');
    expect(kill.mock.calls).toEqual([]);
  });

  it('that comes too late, or is not allowed, is no error', () => {
    vi.spyOn(process, 'kill').mockImplementation(() => {
      throw Object.assign(new Error('kill EPERM'), { code: 'EPERM' });
    });
    expect(() => signalProven(fakeTable([fact(7, 1)]), { pid: 7, startTime: '70' }, 'SIGKILL')).not.toThrow();
  });
});

describe('the tree of a run', () => {
  it('leaves out the process that looks, which must see the end through', () => {
    const run = { id: 'run-1', keeper: null, containment: null };
    const facts = [fact(process.pid, 1), fact(7, 1)];
    const found = runTree(fakeTable(facts, { 'REEVE_RUN=run-1': [process.pid, 7] }), run).find();
    expect(found.map(({ pid }) => pid)).toEqual([7]);
  });
});
