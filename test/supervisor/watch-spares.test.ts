/** The watcher is no part of the tree that it ends; whoever else is below the keeper is, the caller of a stop too. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { runTree } from '../../src/process/run-tree.ts';
import { openContext } from '../../src/supervisor/context.ts';
import type { Context } from '../../src/supervisor/context.ts';
import { treeOf } from '../../src/supervisor/tree-of.ts';
import { identify } from '../../src/process/process-table.ts';
import type { RunningRun } from '../../src/lifecycle/run.ts';
import { EXECUTING } from '../lifecycle/samples.ts';
import { endStarted, start } from '../process/started.ts';
import { createSandbox } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

let sandbox: Sandbox;
let context: Context;
beforeEach(async () => {
  sandbox = createSandbox();
  context = await openContext({ environment: sandbox.env });
});
afterEach(async () => {
  await endStarted();
  await context.store.close();
  await sandbox.cleanUp();
});

/** A run whose keeper is this process's own parent, so that this process is a child of it. */
function runAbove(): RunningRun {
  const keeper = identify(context.table, process.ppid);
  return { ...EXECUTING, id: 'r-above', harness: null, keeper };
}

it('only the watcher of the run itself is left out of the proof that nothing is left', async () => {
  const own = await treeOf({ ...context, watches: 'r-above' }, runAbove());
  const others = await treeOf({ ...context, watches: 'r-another' }, runAbove());
  const nobody = await treeOf(context, runAbove());
  // This test's own siblings and children may be there as well: what is asked is whether this process is found.
  const below = start('sleep', ['60']);
  expect(own.find().map(({ pid }) => pid)).not.toContain(below.pid);
  expect(others.find().map(({ pid }) => pid)).toContain(below.pid);
  expect(nobody.find().map(({ pid }) => pid)).toContain(below.pid);
  expect([others.emptiness(), nobody.emptiness()]).toEqual(['not_empty', 'not_empty']);
});

it('a spared process that is no run’s keeper spares nothing that carries a mark', () => {
  const marked = start('sleep', ['60'], { env: { REEVE_RUN: 'null' } });
  const itself = { ...identify(context.table, process.pid), runId: null, cgroup: null };
  const run = { id: 'null', keeper: null, containment: null, harness: null };
  const spared = () => [{ ...itself, startTime: itself.startTime ?? '' }];
  const elsewhere = () => [{ ...spared()[0], pid: 1, startTime: '0', runId: null, cgroup: null }];
  expect(
    runTree(context.table, run, elsewhere)
      .find()
      .map(({ pid }) => pid),
  ).toEqual([marked.pid]);
});
