/** What `reeve doctor` says of the programs, settings and processes that Reeve works with. */
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { DaemonSummary } from '../../src/supervisor/daemon-place.ts';
import type { Check } from '../../src/supervisor/doctor.ts';
import { installStandIns } from '../fixtures/stand-in-harness.ts';
import { createSandbox } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

let sandbox: Sandbox;
beforeEach(() => {
  sandbox = createSandbox();
  installStandIns(sandbox, 'claude', 'gemini');
});
afterEach(() => sandbox.cleanUp());

async function saidOf(name: string): Promise<readonly Check[]> {
  return (await sandbox.json<Check[]>(['doctor'])).filter((check) => check.name === name);
}

function put(name: string, script: string): void {
  writeFileSync(sandbox.path(`bin/${name}`), `#!/bin/sh\n${script}\n`);
  chmodSync(sandbox.path(`bin/${name}`), 0o755);
}

it.each([
  ['tmux 3.1c', 'poor'],
  ['tmux 2.9', 'poor'],
  ['tmux 3.2', 'good'],
  ['tmux 3.10', 'good'],
  ['tmux next-3.6', 'good'],
])('%s is %s enough', async (version, is) => {
  put('tmux', `echo ${version}`);
  expect(await saidOf('tmux')).toEqual([
    { name: 'tmux', is, says: expect.stringContaining(version.slice(5)) as string },
  ]);
});

it('a tmux that does not work is poor, not bad', async () => {
  put('tmux', 'exit 3');
  expect(await saidOf('tmux')).toMatchObject([{ is: 'poor' }]);
});

it('git is named, and missed where there is none', async () => {
  expect(await saidOf('git')).toMatchObject([
    { is: 'good', says: expect.stringContaining('git version') as string },
  ]);
  put('git', 'exit 127');
  expect(await saidOf('git')).toMatchObject([{ is: 'poor' }]);
});

it('the harnesses on the PATH are named, and a shim is none of them', async () => {
  await sandbox.json(['shim', 'install', 'claude', 'opencode']);
  sandbox.env['PATH'] = `${join(sandbox.home, 'shims')}:${sandbox.env['PATH']}`;
  const [harnesses] = await saidOf('harnesses');
  expect(harnesses?.is).toBe('good');
  expect(harnesses?.says).toContain(`claude (${sandbox.path('bin/claude')})`);
  expect(harnesses?.says).not.toContain('opencode');
});

describe('hooks', () => {
  it('that are there are named, and those that are partly there are to be mended', async () => {
    await sandbox.json(['hooks', 'install', 'claude', 'codex', 'gemini']);
    expect((await saidOf('hooks')).map(({ is }) => is)).toEqual(['good', 'good', 'good']);
    const settings = JSON.parse(readFileSync(sandbox.path('.claude/settings.json'), 'utf8')) as {
      hooks: Record<string, unknown>;
    };
    delete settings.hooks['Stop'];
    writeFileSync(sandbox.path('.claude/settings.json'), JSON.stringify(settings));
    expect((await saidOf('hooks'))[0]).toMatchObject({
      is: 'poor',
      says: expect.stringContaining('reeve hooks install claude') as string,
    });
  });

  it('whose file cannot be read are said to be', async () => {
    mkdirSync(sandbox.path('.claude'));
    writeFileSync(sandbox.path('.claude/settings.json'), '{ not JSON');
    // Besides, whoever is not root is told that Gemini has none.
    expect((await saidOf('hooks'))[0]).toMatchObject({
      is: 'poor',
      says: expect.stringContaining('.claude/settings.json') as string,
    });
  });

  it('are nothing to speak of where there are none', async () => {
    const needsThem = process.getuid?.() !== 0;
    expect((await saidOf('hooks')).map(({ is }) => is)).toEqual(needsThem ? ['poor'] : []);
  });
});

describe('shims', () => {
  it('that are first on the PATH are good, behind the real program they are not used', async () => {
    await sandbox.json(['shim', 'install', 'claude']);
    expect(await saidOf('shims')).toMatchObject([{ is: 'poor' }]);
    sandbox.env['PATH'] = `${join(sandbox.home, 'shims')}:${sandbox.env['PATH']}`;
    expect(await saidOf('shims')).toMatchObject([{ is: 'good' }]);
  });

  it('of another version are to be mended', async () => {
    await sandbox.json(['shim', 'install', 'claude']);
    const path = join(sandbox.home, 'shims/claude');
    writeFileSync(path, `${readFileSync(path, 'utf8')}# older\n`);
    sandbox.env['PATH'] = `${join(sandbox.home, 'shims')}:${sandbox.env['PATH']}`;
    expect(await saidOf('shims')).toMatchObject([
      { is: 'poor', says: expect.stringContaining('reeve shim install claude') as string },
    ]);
  });
});

describe('a daemon', () => {
  it('is not needed, and is named with its age where there is one', async () => {
    expect(await saidOf('daemon')).toMatchObject([{ is: 'good' }]);
    const { pid } = await sandbox.json<DaemonSummary>(['serve', '--detach']);
    const [daemon] = await saidOf('daemon');
    expect(daemon).toMatchObject({ is: 'good', says: expect.stringContaining(`pid ${pid}`) as string });
    expect(daemon?.says).toMatch(/ago/);
    await sandbox.json(['serve', 'stop']);
  });

  it('that is older than what is installed is to be replaced', async () => {
    await sandbox.json(['serve', '--detach']);
    const record = join(sandbox.home, 'daemon/daemon.json');
    const written = JSON.parse(readFileSync(record, 'utf8')) as { startedAtMs: number };
    writeFileSync(record, JSON.stringify({ ...written, startedAtMs: 1_000 }));
    expect(await saidOf('daemon')).toMatchObject([
      { is: 'poor', says: expect.stringContaining('--replace') as string },
    ]);
    await sandbox.json(['serve', 'stop']);
  });
});
