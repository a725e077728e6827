/** How an end is known is part of the record, and only the kernel's word is called proven. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { PROOF_WORDS } from '../../src/lifecycle/proof.ts';
import type { Proof } from '../../src/lifecycle/proof.ts';
import { launchIn } from '../support/launch.ts';
import { eventually, isAlive, signalSeen } from '../support/processes.ts';
import { createSandbox } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';
import { unprovable } from '../support/unprovable.ts';

let sandbox: Sandbox;
beforeEach(() => {
  sandbox = createSandbox();
});
afterEach(() => sandbox.cleanUp());

async function expectProof(name: string, proof: Proof): Promise<void> {
  expect((await sandbox.show(name)).run.proof).toBe(proof);
  const { stdout } = await sandbox.reeve(['why', name]);
  expect(stdout.replaceAll(/\s+/g, ' ')).toContain(PROOF_WORDS[proof]);
}

it('is the kernel’s word when its keeper saw the end through', async () => {
  await sandbox.reeve(['run', '-s', 'a', '--', 'true']);
  await expectProof('a', 'kernel');
});

it.each(['cgroup', 'subreaper'])('is the kernel’s word after a stop, held by %s', async (containment) => {
  sandbox.env['REEVE_CONTAINMENT'] = containment;
  await launchIn(sandbox, 'a', 'sleep', '60');
  await sandbox.json(['stop', 'a']);
  await expectProof('a', 'kernel');
});

it('is only that nobody was found when the keeper was killed', async () => {
  sandbox.env['REEVE_CONTAINMENT'] = 'subreaper';
  const { keeper, harness } = await launchIn(sandbox, 'a', 'sleep', '60');
  signalSeen(keeper, 'SIGKILL');
  await eventually('both are gone', () => !isAlive(keeper) && !isAlive(harness));
  expect((await sandbox.show('a')).run.outcome).toBe('lost');
  await expectProof('a', 'not_seen');
});

it('is a person’s word when a person gave it', async () => {
  const { run, keeper, harness } = await launchIn(sandbox, 'a', 'sleep', '60');
  signalSeen(keeper, 'SIGKILL');
  await eventually('both are gone', () => !isAlive(keeper) && !isAlive(harness));
  unprovable(sandbox, run.id);
  await sandbox.json(['stop', '--assume-gone', 'a']);
  await expectProof('a', 'word');
});
