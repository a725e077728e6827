/** A look that finds nobody is no proof: with a table that shows nothing, only the kernel can tell. */
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { Containment } from '../../src/lifecycle/run.ts';
import { createCgroup, removeCgroup } from '../../src/process/cgroup.ts';
import { createLinuxProcessTable } from '../../src/process/linux.ts';
import { identify } from '../../src/process/process-table.ts';
import type { ProcessTable } from '../../src/process/process-table.ts';
import { runTree } from '../../src/process/run-tree.ts';
import { eventually } from '../support/processes.ts';

const real = createLinuxProcessTable();
/** As quick as the fastest process that hops from pid to pid: every list it makes is out of date. */
const blind: ProcessTable = { ...real, all: () => [], childrenOf: () => [], startedWith: () => [] };

const exited = (child: ReturnType<typeof spawn>) => new Promise((resolve) => child.once('exit', resolve));

it('a tree with a process in its cgroup is not proven empty, seen or not', { tags: ['root'] }, async () => {
  const id = `blind-${process.pid}`;
  const path = createCgroup(id);
  if (path === null) throw new Error('No cgroup can be made here, so this cannot be tested.');
  const containment: Containment = { by: 'cgroup', path };
  const child = spawn('sleep', ['60']);
  const gone = exited(child);
  try {
    const tree = runTree(blind, { id, keeper: null, harness: null, containment });
    // Root can move a process out of a cgroup: that it is empty proves nothing without a living keeper.
    expect(tree.emptiness()).toBe('unseen');
    writeFileSync(join(path, 'cgroup.procs'), String(child.pid));
    expect(tree.find()).toEqual([]);
    expect([tree.emptiness(), tree.unaccounted()]).toEqual([
      'not_empty',
      expect.stringContaining('counts a process in its cgroup'),
    ]);
    tree.killAtOnce();
    await gone;
    expect([tree.emptiness(), tree.unaccounted()]).toEqual(['unseen', null]);
  } finally {
    child.kill('SIGKILL');
    removeCgroup(path);
  }
});

it('a tree below a living keeper is not proven empty while that has a child, seen or not', async () => {
  // A keeper with one child, which it does not collect: a zombie is nobody.
  const keeper = spawn('perl', [
    '-e',
    '$| = 1; my $c = fork // die; exec "sleep", 60 unless $c; print "$c\\n"; sleep 60',
  ]);
  try {
    const child = await new Promise<number>((resolve) =>
      keeper.stdout.once('data', (text) => resolve(Number(text))),
    );
    const tree = runTree(blind, {
      id: 'blind',
      keeper: identify(real, keeper.pid ?? 0),
      containment: { by: 'subreaper' },
      harness: null,
    });
    expect([tree.emptiness(), tree.unaccounted()]).toEqual([
      'not_empty',
      expect.stringContaining('lists a child of its keeper'),
    ]);
    tree.killAtOnce();
    await eventually('the child is a zombie', () => {
      const reading = real.read(child);
      return reading.is === 'there' && reading.fact.isZombie;
    });
    expect(tree.emptiness()).toBe('proven');
  } finally {
    keeper.kill('SIGKILL');
  }
});

it('a tree with a living keeper is looked at without the rest of the process table, but once for what was handed out', () => {
  const asked: string[] = [];
  const table: ProcessTable = {
    ...real,
    all: () => {
      asked.push('all');
      return [];
    },
    startedWith: (assignment) => {
      asked.push(assignment);
      return [];
    },
    bearing: () => {
      asked.push('bearing');
      return [];
    },
  };
  const keeper = spawn('sleep', ['60']);
  try {
    const facts = {
      harness: null,
      containment: { by: 'subreaper' },
      mark: { is: 'set', mark: '77' },
    } as const;
    const tree = runTree(table, { ...facts, id: 'near', keeper: identify(real, keeper.pid ?? 0) });
    expect([tree.find(), asked]).toEqual([[], []]);
    expect([tree.emptiness(), tree.emptiness()]).toEqual(['proven', 'proven']);
    expect(asked).toEqual(['REEVE_RUN=near']);
  } finally {
    keeper.kill('SIGKILL');
  }
});

it('whoever bears the mark of the run is found outside of a tree that is gone, and keeps it from being proven so', async () => {
  const keeper = spawn('sleep', ['60']);
  const outside = spawn('sleep', ['60'], { env: { REEVE_RUN: 'r-outside' } });
  const gone = exited(outside);
  try {
    const tree = runTree(real, {
      id: 'r-outside',
      keeper: identify(real, keeper.pid ?? 0),
      harness: null,
      containment: { by: 'subreaper' },
    });
    await eventually('it has become what it is', () => real.startedWith('REEVE_RUN=r-outside').length === 1);
    expect([tree.find(), tree.emptiness()]).toEqual([[], 'not_empty']);
    expect(tree.find().map(({ pid }) => pid)).toEqual([outside.pid]);
    outside.kill('SIGKILL');
    await gone;
    expect(tree.emptiness()).toBe('proven');
  } finally {
    keeper.kill('SIGKILL');
    outside.kill('SIGKILL');
  }
});

it('a tree below a keeper to whom orphans do not come is never proven empty, only unseen', async () => {
  const keeper = spawn('sleep', ['60']);
  try {
    const facts = { id: 'blind', keeper: identify(real, keeper.pid ?? 0), harness: null } as const;
    expect(runTree(blind, { ...facts, containment: { by: 'marks' } }).emptiness()).toBe('unseen');
    expect(runTree(blind, { ...facts, containment: { by: 'subreaper' } }).emptiness()).toBe('proven');
  } finally {
    keeper.kill('SIGKILL');
  }
});
