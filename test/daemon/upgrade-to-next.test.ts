/**
 * Today's build with its daemon and runs, and then the next one, whose store has a newer schema: what the next upgrade
 * will ask of the programs that people have by then.
 */
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { SCHEMA_VERSION } from '../../src/store/schema-version.ts';
import { launchIn } from '../support/launch.ts';
import { buildNext, install, TODAY } from '../support/other-build.ts';
import type { OtherBuild, OtherInstallation } from '../support/other-build.ts';
import { eventually, isAlive, see } from '../support/processes.ts';
import { createSandbox } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';
import { withStored } from '../support/stored.ts';

/** Each starts a dozen programs, one after the other. */
const LONG_MS = 180_000;

let build: OtherBuild;
beforeAll(async () => {
  build = await buildNext();
  return build.remove;
});

/** Through an installation that begins as today's build, and through the next one somewhere else. */
let today: Sandbox;
let next: Sandbox;
let installed: OtherInstallation;
beforeEach(() => {
  const sandbox = createSandbox();
  installed = install(sandbox.path('installed'), TODAY);
  today = sandbox.through(installed.cli);
  next = sandbox.through(join(build.root, 'dist', 'reeve.cjs'));
});
afterEach(async () => {
  await next.json(['serve', 'stop']);
  await next.cleanUp();
});

interface Failure {
  readonly error: { readonly code: string };
}
const refusal = async (from: Sandbox, args: readonly string[], code: number) =>
  (await from.json<Failure>(args, code)).error.code;
const serve = async (from: Sandbox, ...flags: string[]) =>
  see((await from.json<{ pid: number }>(['serve', '--detach', ...flags])).pid);
const schema = () => withStored(next, async (stored) => stored.schema);
const recorded = () =>
  JSON.parse(readFileSync(join(next.home, 'daemon', 'daemon.json'), 'utf8')) as {
    process: { pid: number };
    build: string;
  };
const takenOver = () =>
  eventually('the next build has taken over', () => recorded().build === build.name && recorded(), 120_000);

describe('a daemon of today whose program is replaced by the next one', { timeout: LONG_MS }, () => {
  it('in the background gives way to it, which upgrades the store, and the runs go on', async () => {
    const daemon = await serve(today);
    const { harness, keeper } = await launchIn(today, 'web', 'sleep', '600');
    installed.update(build);
    await takenOver();
    await eventually('the one of today is gone', () => !isAlive(daemon));
    expect(await schema()).toBe(SCHEMA_VERSION + 1);
    expect(existsSync(join(next.home, `reeve.db.schema-${SCHEMA_VERSION}`))).toBe(true);
    expect([harness, keeper].map(isAlive)).toStrictEqual([true, true]);
    expect(await refusal(next, ['run', '-s', 'web', '--', 'true'], 4)).toBe('live_owner');
  });

  it('in the foreground lets it upgrade the store, and stays for whoever waits for it', async () => {
    const waited = today.start(['serve']);
    await once(waited.stdout as NodeJS.ReadableStream, 'data');
    const { harness, keeper } = await launchIn(today, 'web', 'sleep', '600');
    installed.update(build);
    const { process: successor } = await takenOver();
    expect(successor.pid).not.toBe(waited.pid);
    expect(await schema()).toBe(SCHEMA_VERSION + 1);
    expect(waited.exitCode).toBeNull();
    expect([harness, keeper].map(isAlive)).toStrictEqual([true, true]);
    waited.kill('SIGTERM');
    expect(await once(waited, 'exit')).toStrictEqual([0, null]);
  });
});

describe('the next build somewhere else', { timeout: LONG_MS }, () => {
  it('upgrades nothing beside a daemon of today, and takes its place when it is asked to', async () => {
    const daemon = await serve(today);
    const { harness } = await launchIn(today, 'web', 'sleep', '600');
    expect(await refusal(next, ['ls'], 4)).toBe('daemon_older');
    expect(await schema()).toBe(SCHEMA_VERSION);
    await serve(next, '--replace');
    expect(isAlive(daemon)).toBe(false);
    expect(await schema()).toBe(SCHEMA_VERSION + 1);
    expect(isAlive(harness)).toBe(true);
  });

  it('keeps its daemon when one of today is to take its place and cannot use the store', async () => {
    await launchIn(today, 'web', 'sleep', '600');
    const daemon = await serve(next);
    expect(await refusal(today, ['serve', '--replace', '--detach'], 1)).toBe('store_newer');
    expect(await refusal(today, ['serve', '--replace'], 1)).toBe('store_newer');
    expect(isAlive(daemon)).toBe(true);
    expect(recorded().process.pid).toBe(daemon.pid);
  });
});
