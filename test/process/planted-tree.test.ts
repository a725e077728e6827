import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { systemCalls } from '../../src/process/containment.ts';
import { createLinuxProcessTable } from '../../src/process/linux.ts';
import { identify } from '../../src/process/process-table.ts';
import { findTree } from '../../src/process/tree.ts';
import type { Sign } from '../../src/process/tree.ts';
import { eventually } from '../support/processes.ts';
import { end, endStarted, remember, start } from './started.ts';
import type { Started } from './started.ts';

const FIXTURE = fileURLToPath(new URL('../fixtures/process-descendants.pl', import.meta.url));
const table = createLinuxProcessTable();

afterEach(endStarted);

interface Planted {
  readonly keeper: Started;
  /** Which signs find which of the planted; those that none finds are not named. */
  readonly signs: () => Record<string, readonly Sign[]>;
}

async function plant(prctl: number): Promise<Planted> {
  const runId = `planted-${process.pid}-${prctl}`;
  const keeper = start('perl', [FIXTURE, String(prctl)], { detached: true, env: { REEVE_RUN: runId } });
  const names = new Map<number, string>();
  for (let line = await keeper.line(); line !== 'planted'; line = await keeper.line()) {
    const [name = '', pid] = line.split(' ');
    names.set(remember(Number(pid)).pid, name);
  }
  // What it executes last decides its environment and session, and comes after the pid was printed.
  await eventually('all of them sleep', () => [...names.keys()].every((pid) => programOf(pid) === 'sleep'));
  const roots = { runId, keeper: identify(table, keeper.pid), cgroupPids: () => [] };
  const signs = () =>
    Object.fromEntries(
      findTree(table, roots).map((member) => [
        names.get(member.pid) ?? `stranger ${member.name}`,
        member.signs,
      ]),
    );
  return { keeper, signs };
}

function programOf(pid: number): string {
  return readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
}

describe('a tree of descendants that try to get away', () => {
  it('is found by the union of its signs as far as they reach without a subreaper', async () => {
    const { signs } = await plant(0);
    expect(signs()).toEqual({
      plain: ['mark', 'descent', 'session', 'group'],
      nohup: ['mark', 'descent', 'session', 'group'],
      'own-group': ['mark', 'descent', 'session'],
      wiped: ['descent', 'session', 'group'],
      'setsid-wiped': ['descent'],
      'double-fork': ['mark', 'session', 'group'],
      'double-fork-setsid': ['mark'],
      // Not there: 'double-fork-setsid-wiped', which is why the keeper is a subreaper where it can be.
    });
  });

  it('is found completely by descent when the keeper is a subreaper', async () => {
    const { prctl } = systemCalls({ by: 'subreaper' });
    expect(prctl).toBeGreaterThan(0);
    const { signs } = await plant(prctl);
    expect(signs()).toEqual({
      plain: ['mark', 'descent', 'session', 'group'],
      nohup: ['mark', 'descent', 'session', 'group'],
      'own-group': ['mark', 'descent', 'session'],
      wiped: ['descent', 'session', 'group'],
      'setsid-wiped': ['descent'],
      'double-fork': ['mark', 'descent', 'session', 'group'],
      'double-fork-setsid': ['mark', 'descent'],
      'double-fork-setsid-wiped': ['descent'],
    });
  });

  it('is still found by session, group and mark after its keeper was killed', async () => {
    const { keeper, signs } = await plant(0);
    await end(keeper);
    expect(signs()).toEqual({
      plain: ['mark', 'session', 'group'],
      nohup: ['mark', 'session', 'group'],
      'own-group': ['mark', 'session'],
      wiped: ['session', 'group'],
      'double-fork': ['mark', 'session', 'group'],
      'double-fork-setsid': ['mark'],
    });
  });
});
