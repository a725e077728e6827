/** A harness's own administration through `run` and through a shim: the program as it is, and no session. */
import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SessionView } from '../../src/api/session-view.ts';
import { eventually } from '../support/processes.ts';
import { createSandbox, finished } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

let sandbox: Sandbox;
beforeEach(() => {
  sandbox = createSandbox();
  mkdirSync(sandbox.path('bin'));
  for (const name of ['claude', 'codex', 'gemini', 'opencode']) {
    const script = `#!/bin/sh
echo "$0 $*; run \${REEVE_RUN-none}; $(cat)"
case $* in *wait*) trap 'exit 9' TERM; echo $$ > waiting; while :; do sleep 0.02; done ;; esac
exit 5
`;
    writeFileSync(sandbox.path(`bin/${name}`), script);
    chmodSync(sandbox.path(`bin/${name}`), 0o755);
  }
  sandbox.env['PATH'] = [sandbox.path('bin'), dirname(process.execPath), '/usr/bin', '/bin'].join(':');
});
afterEach(() => sandbox.cleanUp());

const COMMANDS = [
  ['claude', 'mcp', 'list'],
  ['claude', 'update'],
  ['claude', 'doctor'],
  ['codex', 'login'],
  ['gemini', 'mcp', 'list'],
  ['opencode', 'auth', 'list'],
  ['claude', '--version'],
  ['codex', '--help'],
];

describe('run', () => {
  it.each(COMMANDS)('of %s %s passes it by, with its input, output and code', async (...command) => {
    const child = sandbox.start(['run', '--', ...command], { stdio: ['pipe', 'pipe', 'pipe'] });
    child.stdin?.end('its input');
    const [name, ...args] = command;
    expect(await finished(child)).toMatchObject({
      code: 5,
      stdout: `${sandbox.path(`bin/${name}`)} ${args.join(' ')}; run none; its input\n`,
      stderr: '',
    });
    expect(await sandbox.json<SessionView[]>(['ls', '--all'])).toEqual([]);
  });

  it('passes signals on, and gives its code', async () => {
    const child = sandbox.start(['run', '--', 'claude', 'mcp', 'wait']);
    await eventually('it waits', () => sandbox.pidFrom('waiting'));
    child.kill('SIGTERM');
    expect((await finished(child)).code).toBe(9);
  });

  it('passes on a signal that comes while it is being started', async () => {
    const fixture = fileURLToPath(new URL('../fixtures/signal-at-spawn.cjs', import.meta.url));
    const env = {
      ...sandbox.env,
      NODE_OPTIONS: `--require=${fixture}`,
      SIGNAL_WHEN: sandbox.path('waiting'),
    };
    expect((await finished(sandbox.start(['run', '--', 'claude', 'mcp', 'wait'], { env }))).code).toBe(9);
  });

  it('makes a session when one is asked for', async () => {
    await sandbox.reeve(['run', '-s', 'a', '--', 'claude', 'mcp', 'list']);
    expect((await sandbox.show('a')).run.exitCode).toBe(5);
  });

  it('of a word that the harness may take for a prompt makes a session', async () => {
    await sandbox.reeve(['run', '--', 'claude', 'frobnicate']);
    expect(await sandbox.json<SessionView[]>(['ls', '--all'])).toHaveLength(1);
  });

  it('of a harness that is not there says so', async () => {
    const result = await sandbox.reeve(['run', '--', 'code', 'mcp', 'list']);
    expect(result).toMatchObject({ code: 1, stdout: '' });
    expect(result.stderr).toContain('code is not installed');
  });
});

describe('a shim', () => {
  const throughShim = (command: readonly string[]) => {
    const [name = '', ...args] = command;
    const path = `${sandbox.path('state/shims')}:${sandbox.env['PATH']}`;
    return finished(
      spawn(sandbox.path(`state/shims/${name}`), args, {
        cwd: sandbox.root,
        env: { ...sandbox.env, PATH: path },
        stdio: ['ignore', 'pipe', 'pipe'],
      }),
    );
  };

  it.each([...COMMANDS, ['claude', '--model', 'opus', 'doctor']])(
    'of %s %s %s makes no session',
    async (...command) => {
      await sandbox.reeve(['shim', 'install', 'claude', 'codex', 'gemini', 'opencode']);
      expect((await throughShim(command)).stdout).toContain('run none');
      expect(await sandbox.json<SessionView[]>(['ls', '--all'])).toEqual([]);
    },
  );

  it('of a prompt that is a subcommand’s name makes one', async () => {
    await sandbox.reeve(['shim', 'install', 'claude']);
    expect((await throughShim(['claude', '-p', 'update'])).stdout).toContain('run r-');
    expect((await throughShim(['claude', 'mcp', '-p'])).stdout).toContain('run r-');
    expect(await sandbox.json<SessionView[]>(['ls', '--all'])).toHaveLength(2);
  });
});
