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
const blind: ProcessTable = { ...real, all: () => [], startedWith: () => [] };

const exited = (child: ReturnType<typeof spawn>) => new Promise((resolve) => child.once('exit', resolve));

it('a tree with a process in its cgroup is not proven empty, seen or not', async () => {
  const id = `blind-${process.pid}`;
  const path = createCgroup(id);
  if (path === null) throw new Error('No cgroup can be made here, so this cannot be tested.');
  const containment: Containment = { by: 'cgroup', path };
  const child = spawn('sleep', ['60']);
  const gone = exited(child);
  try {
    const tree = runTree(blind, { id, keeper: null, harness: null, containment });
    expect(tree.emptiness()).toBe('proven');
    writeFileSync(join(path, 'cgroup.procs'), String(child.pid));
    expect(tree.find()).toEqual([]);
    expect(tree.emptiness()).toBe('not_empty');
    tree.killAtOnce();
    await gone;
    expect(tree.emptiness()).toBe('proven');
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
    expect(tree.emptiness()).toBe('not_empty');
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
