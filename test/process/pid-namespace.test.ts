/** Whether anybody is left in another pid namespace, told by tables of every kind. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { ProcessIdentity } from '../../src/lifecycle/process-identity.ts';
import { parseStat } from '../../src/process/linux.ts';
import { probe } from '../../src/process/liveness.ts';
import { seekNamespace } from '../../src/process/pid-namespace.ts';
import { fakeTable } from './fake-table.ts';

const INITIAL = 'pid:[4026531836]';
const THERE = 'pid:[4026532178]';
const TIME = 'time:[4026531834]';
const HERE = { host: 'here', boot: 'boot', pidNamespace: `${INITIAL} ${TIME}` };
const ON_RECORD = { ...HERE, pidNamespace: `${THERE} ${TIME}`, pid: 7, startTime: '5000' };

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'reeve-proc-'));
  // It may be hidden from root too, but which namespace it is in is known.
  add(1, null, 1);
  add(2, INITIAL, 2);
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function add(pid: number, namespace: string | null, start: number, state = 'S'): void {
  mkdirSync(join(root, String(pid), 'ns'), { recursive: true });
  // The link of a process that is not ours is there, and cannot be read.
  if (namespace === null) writeFileSync(join(root, String(pid), 'ns', 'pid'), '');
  else symlinkSync(namespace, join(root, String(pid), 'ns', 'pid'));
  const fields = [state, 1, 1, 1, 0, -1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 20, 0, 1, 0, start, 0];
  writeFileSync(join(root, String(pid), 'stat'), `${pid} (a) b (c)) ${fields.join(' ')}\n`);
}

const seek = (host: typeof HERE, identity: ProcessIdentity) =>
  seekNamespace(
    {
      root,
      host,
      read: (pid) => {
        const fact = parseStat(readFileSync(join(root, String(pid), 'stat'), 'latin1'));
        return fact === null ? { is: 'unreadable', because: 'nonsense' } : { is: 'there', fact };
      },
    },
    identity,
  );

const GONE = { is: 'gone', because: expect.any(String) };
const UNKNOWN = { is: 'unknown', because: expect.any(String) };

it('is gone when nobody of all that there are is in it', () => {
  add(4711, 'pid:[4026532999]', 6000);
  writeFileSync(join(root, 'uptime'), '');
  expect(seek(HERE, ON_RECORD)).toEqual(GONE);
});

it('is gone when only a zombie is left of it', () => {
  add(4711, THERE, 4000, 'Z');
  expect(seek(HERE, ON_RECORD)).toEqual(GONE);
});

it('is not known when somebody in it cannot be read', () => {
  add(4711, THERE, 4000);
  writeFileSync(join(root, '4711', 'stat'), 'nonsense');
  expect(seek(HERE, ON_RECORD)).toEqual(UNKNOWN);
});

it('is there with any process that may be as old as the one on record', () => {
  add(4711, THERE, 5000);
  add(4712, THERE, 9000);
  expect(seek(HERE, ON_RECORD)).toEqual(UNKNOWN);
});

it('is gone when all that have its number are younger than the one on record, and so are another’s', () => {
  add(4711, THERE, 5001);
  add(4712, THERE, 9000);
  expect(seek(HERE, ON_RECORD)).toEqual(GONE);
});

it.each([
  ['by another clock', { ...ON_RECORD, pidNamespace: `${THERE} time:[4026532001]` }],
  ['without a start time', { ...ON_RECORD, startTime: null }],
])('is there with younger ones, recorded %s', (_, identity) => {
  add(4711, THERE, 9000);
  expect(seek(HERE, identity)).toEqual(UNKNOWN);
});

it('is not known when a single process cannot be looked at', () => {
  add(4711, null, 9000);
  expect(seek(HERE, ON_RECORD)).toEqual(UNKNOWN);
});

it('is not known inside of any other, which does not show its neighbours', () => {
  const inside = { ...HERE, pidNamespace: `pid:[4026532500] ${TIME}` };
  expect(seek(inside, ON_RECORD)).toEqual(UNKNOWN);
});

it('is not the initial one, whose processes are looked at one by one', () => {
  const other = { ...ON_RECORD, pidNamespace: `${INITIAL} time:[4026532001]` };
  expect(seek(HERE, other)).toEqual(UNKNOWN);
});

it('makes a process dead, unknown, or unknown where nobody can tell', () => {
  const table = fakeTable([]);
  const identity = { ...ON_RECORD, ...table.host, pidNamespace: THERE };
  const told = { ...table, seekNamespace: () => ({ is: 'gone', because: 'nobody is left' }) as const };
  expect(probe(told, identity)).toEqual({ is: 'dead', proof: 'namespace', because: 'nobody is left' });
  const untold = { ...table, seekNamespace: () => ({ is: 'unknown', because: 'hidden' }) as const };
  expect(probe(untold, identity)).toEqual({ is: 'unknown', because: 'hidden' });
  expect(probe(table, identity)).toMatchObject({ is: 'unknown' });
});
