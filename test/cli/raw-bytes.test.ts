/** What is not UTF-8 reaches the command byte for byte, or the start is refused. */
import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SessionView } from '../../src/api/session-view.ts';
import { installStandIns } from '../fixtures/stand-in-harness.ts';
import { eventually } from '../support/processes.ts';
import { CLI, createSandbox, finished } from '../support/sandbox.ts';
import type { Finished, Sandbox } from '../support/sandbox.ts';

let sandbox: Sandbox;
beforeEach(() => {
  sandbox = createSandbox({ NODE: process.execPath, CLI });
});
afterEach(() => sandbox.cleanUp());

/** Node cannot pass such words on either, so perl does. */
async function perl(script: string): Promise<Finished> {
  const child = spawn('perl', ['-e', script], {
    cwd: sandbox.root,
    env: sandbox.env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return finished(child);
}

const reeve = (words: string) => perl(`exec $ENV{NODE}, $ENV{CLI}, ${words} or die`);

/** Of a command that puts its last argument into a file. */
const KEEP_ARGUMENT = `'--', 'perl', '-e', 'open F, ">", "arg.new"; print F $ARGV[0]; close F; rename "arg.new", "arg"'`;
const STRAY = String.raw`"a\xFFb\xC3\xA9\xED\xA0\x80\xEF\xBF\xBD\xC3"`;
const STRAY_BYTES = Buffer.from('a\xFFb\xC3\xA9\xED\xA0\x80\xEF\xBF\xBD\xC3', 'latin1');

describe('an argument that is not UTF-8', () => {
  it('reaches a foreground command as it is', async () => {
    expect(await reeve(`'run', ${KEEP_ARGUMENT}, ${STRAY}`)).toMatchObject({ code: 0, stderr: '' });
    expect(readFileSync(sandbox.path('arg'))).toEqual(STRAY_BYTES);
  });

  it('reaches one that is detached, and again when that is resumed', async () => {
    for (const start of [`'run', '-d', '-s', 'a', ${KEEP_ARGUMENT}, ${STRAY}`, `'resume', 'a'`]) {
      expect(await reeve(start)).toMatchObject({ code: 0 });
      await eventually('the command ended', async () =>
        (await sandbox.show('a')).run.state === 'ended' ? true : undefined,
      );
      expect(readFileSync(sandbox.path('arg'))).toEqual(STRAY_BYTES);
    }
  });

  it('reaches one in a pane of tmux', async () => {
    expect(await reeve(`'run', '-d', '--tmux', '-s', 'a', ${KEEP_ARGUMENT}, ${STRAY}`)).toMatchObject({
      code: 0,
    });
    const bytes = await eventually('the argument', () => {
      try {
        return readFileSync(sandbox.path('arg'));
      } catch {
        return undefined;
      }
    });
    expect(bytes).toEqual(STRAY_BYTES);
  });

  it('is shown with its stray bytes as lone surrogates', async () => {
    await reeve(`'run', '-s', 'a', '--', 'true', "\\xFF"`);
    expect((await sandbox.json<SessionView[]>(['ls']))[0]?.argv).toEqual(['true', '\uDCFF']);
    expect((await sandbox.reeve(['ls'])).code).toBe(0);
  });

  it('is a prompt for a harness', async () => {
    const standIns = installStandIns(sandbox, 'claude');
    try {
      await reeve(`'run', '-d', '-s', 'a', '--', 'claude', '-p', "say \\xFF"`);
      const { argv } = await sandbox.show('a');
      expect(argv).toEqual(['claude', '-p', 'say \uDCFF']);
      expect((await sandbox.show('a')).run.outcome).not.toBe('never_started');
    } finally {
      standIns.endOutsiders();
    }
  });

  it.each([
    ['as a name', `'run', '-s', "\\xFF", '--', 'true'`],
    ['as a directory', `'run', '--cwd', "/tmp/\\xFF", '--', 'true'`],
    ['as a message', `'send', 'a', "\\xFF"`],
    ['as one of several', `'review', 'trigger', '--worker', 'a', '--pr', "\\xFF=1"`],
  ])('is refused %s', async (_, words) => {
    const { code, stderr } = await reeve(words);
    expect(code).toBe(2);
    expect(stderr).toContain('is not UTF-8');
  });
});

describe('an environment that is not UTF-8', () => {
  const withVariables = (setting: string, words: string) =>
    perl(`${setting}; exec $ENV{NODE}, $ENV{CLI}, ${words} or die`);
  const KEEP_ENVIRONMENT = `'--', 'perl', '-e', 'open F, ">", "env.new"; print F map { "$_=$ENV{$_}\\n" } grep { /^[AB]/ } sort keys %ENV'`;

  it('reaches a command as it is, values and names', async () => {
    const setting = `$ENV{A} = ${STRAY}; $ENV{"B\\xFE"} = 'one'; $ENV{"B\\xFF"} = "two\\xFF"; $ENV{B} = "\\xEF\\xBF\\xBD"`;
    expect(await withVariables(setting, `'run', ${KEEP_ENVIRONMENT}`)).toMatchObject({ code: 0, stderr: '' });
    const expected = Buffer.concat([
      Buffer.from('A='),
      STRAY_BYTES,
      Buffer.from('\nB=\xEF\xBF\xBD\nB\xFE=one\nB\xFF=two\xFF\n', 'latin1'),
    ]);
    expect(readFileSync(sandbox.path('env.new'))).toEqual(expected);
  });

  // The files of owners are in XDG_STATE_HOME, whatever the state directory.
  it.each(['HOME', 'REEVE_HOME', 'XDG_STATE_HOME', 'XDG_CONFIG_HOME', 'REEVE_CONFIG'])(
    'is refused in %s, which says where files are',
    async (name) => {
      const forget = name === 'HOME' ? 'delete $ENV{REEVE_HOME}; ' : '';
      const { code, stderr } = await withVariables(
        `${forget}$ENV{${name}} = "$ENV{HOME}/\\xFF"`,
        `'run', '--', 'true'`,
      );
      expect(code).toBe(1);
      expect(stderr).toContain(`${name} is a path that is not UTF-8`);
    },
  );

  it('is refused in PATH where a harness is to be found', async () => {
    installStandIns(sandbox, 'claude');
    const { code, stderr } = await withVariables(
      `$ENV{PATH} = "/\\xFF:$ENV{PATH}"`,
      `'run', '--', 'claude', '-p', 'x'`,
    );
    expect(code).toBe(2);
    expect(stderr).toContain('PATH is not UTF-8');
    expect(await withVariables(`$ENV{PATH} = "/\\xFF:$ENV{PATH}"`, `'run', '--', 'true'`)).toMatchObject({
      code: 0,
    });
  });
});

it('a start in a directory whose name is not UTF-8 is refused, also where another is named like it', async () => {
  mkdirSync(sandbox.path('d\uFFFD'));
  const inside = `mkdir "d\\xFF"; chdir "d\\xFF" or die; exec $ENV{NODE}, $ENV{CLI}, 'run', '--', 'true'`;
  const { code, stderr } = await perl(inside);
  expect(code).toBe(2);
  expect(stderr).toContain('not UTF-8');
  expect((await sandbox.reeve(['run', '--', 'true'], { cwd: sandbox.path('d\uFFFD') })).code).toBe(0);
});
