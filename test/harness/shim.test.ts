import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ReeveError } from '../../src/api/errors.ts';
import { SHIM_NAMES, installShims, isShim, removeShims, shimStatus } from '../../src/harness/shim.ts';
import type { ShimName } from '../../src/harness/shim.ts';

/** Says who it is and which arguments it got, each ended by a byte that no argument holds. */
const REAL = `#!/bin/sh
printf 'real %s\\n' "\${THROUGH_REEVE-alone}" >>"$LOG"
[ "\${1-}" = read ] && cat
printf '%s\\0' "$@" >"$LOG.args"
exit 42
`;

/** Reeve as far as a shim knows it. */
const REEVE = `[ "$1" = --version ] && { echo version >>"$LOG"; exit 0; }
[ "$1 $2" = 'run --' ] || exit 99
shift 2
THROUGH_REEVE="reeve $1" exec "$@"
`;

let root: string;
let shims: string;
let reeve: readonly string[];
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'reeve-shim-'));
  shims = join(root, "shims of o'hara");
  put('bin/claude', REAL);
  reeve = ['/bin/sh', put("it's reeve/reeve", REEVE)];
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function put(name: string, content: string): string {
  const path = join(root, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content, { mode: 0o755 });
  return path;
}

interface Options {
  readonly path?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
  readonly cwd?: string;
}

/** Runs a program by its name, as a shell would, and tells what has been run by it. */
function call(name: string, args: readonly string[], { path, env, input, cwd }: Options = {}) {
  const log = join(root, 'log');
  rmSync(log, { force: true });
  const searchPath = [...(path ?? [shims, join(root, 'bin')]), '/usr/bin', '/bin'].join(':');
  const done = spawnSync('/bin/sh', ['-c', 'exec "$0" "$@"', name, ...args], {
    env: { PATH: searchPath, LOG: log, ...env },
    input: input ?? '',
    cwd: cwd ?? root,
    encoding: 'utf8',
    timeout: 20_000,
  });
  const ran = existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : [];
  return { code: done.status, stdout: done.stdout, stderr: done.stderr, ran };
}

const throughReeve = () => `real reeve ${join(root, 'bin/claude')}`;

describe('a shim', () => {
  it('runs the real program through Reeve, which it asks for its version only once', () => {
    installShims(shims, ['claude'], reeve);
    expect(call('claude', [])).toEqual({
      code: 42,
      stdout: '',
      stderr: '',
      ran: ['version', throughReeve()],
    });
    expect(call('claude', [])).toEqual({ code: 42, stdout: '', stderr: '', ran: [throughReeve()] });
  });

  it('asks again once Reeve was replaced, though with a file of the same age', () => {
    installShims(shims, ['claude'], reeve);
    call('claude', []);
    spawnSync('cp', ['-p', String(reeve[1]), join(root, 'copy')]);
    renameSync(join(root, 'copy'), String(reeve[1]));
    expect(call('claude', []).ran).toEqual(['version', throughReeve()]);
  });

  it('passes arguments, input and exit code as they are', () => {
    installShims(shims, ['claude'], reeve);
    const args = [
      'read',
      '',
      ' a  b ',
      '*',
      '$HOME',
      "it's",
      '"',
      '\\',
      'a\nb\n',
      '--',
      '-n',
      '--version',
      'ü',
    ];
    expect(call('claude', args, { input: 'line\n\nlast' })).toMatchObject({
      code: 42,
      stdout: 'line\n\nlast',
    });
    expect(readFileSync(join(root, 'log.args'), 'utf8').split('\0')).toEqual([...args, '']);
  });

  it('leaves the environment alone, but for its own name', () => {
    put('bin/claude', '#!/bin/sh\nenv >"$LOG"\n');
    installShims(shims, ['claude'], reeve);
    const env = { rest: 'a', name: 'b', real: 'c', directory: 'd' };
    const { ran } = call('claude', [], { env });
    for (const [name, value] of Object.entries(env)) expect(ran).toContain(`${name}=${value}`);
    expect(ran.filter((line) => /^_?reeve_/iu.test(line))).toEqual(['_REEVE_SHIM=claude']);
  });

  it.each(['--version', '--help', '-v', '-V', '-h'])('does not trouble Reeve for %s', (flag) => {
    installShims(shims, ['claude'], reeve);
    expect(call('claude', [flag]).ran).toEqual(['real alone']);
  });

  it('can be switched off', () => {
    installShims(shims, ['claude'], reeve);
    expect(call('claude', ['x'], { env: { REEVE_SHIM: 'off' } }).ran).toEqual(['real alone']);
  });

  it('knows other shims by what is in them, and never calls one', () => {
    const other = join(root, 'other shims');
    installShims(shims, ['claude'], reeve);
    installShims(other, ['claude'], ['/bin/sh', put('other/reeve', REEVE)]);
    symlinkSync(shims, join(root, 'linked'));
    const path = [other, join(root, 'linked'), shims, join(root, 'missing'), join(root, 'bin')];
    expect(call('claude', [], { path }).ran).toEqual(['version', throughReeve()]);
    expect(call('claude', [], { path: [shims, other] })).toMatchObject({ code: 127, ran: [] });
  });

  it('passes over what is no program, and finds one in the current directory', () => {
    mkdirSync(join(root, 'a/claude'), { recursive: true });
    chmodSync(put('b/claude', REAL), 0o644);
    installShims(shims, ['claude'], reeve);
    const path = [shims, join(root, 'a'), join(root, 'b'), ''];
    expect(call('claude', [], { path, cwd: join(root, 'bin') }).ran.at(-1)).toMatch(
      /^real reeve .*\/bin\/\.\/claude$/u,
    );
  });

  it('works for a real program that is binary', () => {
    const path = join(root, 'bin/claude');
    rmSync(path);
    symlinkSync(process.execPath, path);
    installShims(shims, ['claude'], reeve);
    const source = 'console.log(process.env.THROUGH_REEVE)';
    expect(call('claude', ['-e', source])).toMatchObject({ code: 0, stdout: `reeve ${path}\n`, stderr: '' });
  });
});

describe('a shim whose Reeve does not work', () => {
  const broken: Readonly<Record<string, () => readonly string[]>> = {
    'its program is gone': () => ['/bin/sh', join(root, 'gone')],
    'its Node is gone': () => [join(root, 'gone/node'), put('reeve', REEVE)],
    'its Node is no program': () => [join(root, 'bin'), put('reeve', REEVE)],
    'it cannot say its version': () => ['/bin/sh', put('reeve', 'exit 1\n')],
    'it is one program and gone': () => [join(root, 'gone')],
    'what runs its one program is gone': () => [put('reeve', `#!${join(root, 'gone')}\n`)],
    'it is not on PATH': () => ['reeve-that-is-not-there'],
  };

  it.each(Object.keys(broken))('runs the real program once, and says so in one line: %s', (how) => {
    installShims(shims, ['claude'], broken[how]?.() ?? []);
    for (const _ of [1, 2]) {
      const { code, stderr, ran } = call('claude', ['x']);
      expect({ code, ran }).toEqual({ code: 42, ran: ['real alone'] });
      expect(stderr).toMatch(/^reeve: [^\n]+\n$/u);
    }
  });

  it('notices it although Reeve had worked', () => {
    installShims(shims, ['claude'], reeve);
    call('claude', []);
    rmSync(String(reeve[1]));
    expect(call('claude', [])).toMatchObject({ code: 42, ran: ['real alone'] });
    put("it's reeve/reeve", 'exit 1\n');
    expect(call('claude', [])).toMatchObject({ code: 42, ran: ['real alone'] });
  });

  it('never runs the program again after Reeve failed', () => {
    const refusing = put('reeve', `[ "$1" = --version ] && exit 0\necho refused >>"$LOG"\nexit 4\n`);
    installShims(shims, ['claude'], ['/bin/sh', refusing]);
    expect(call('claude', [])).toMatchObject({ code: 4, stderr: '', ran: ['refused'] });
  });

  it('asks each time if it cannot keep that Reeve works', () => {
    installShims(shims, ['claude'], reeve);
    mkdirSync(join(shims, '.reeve-shim-checked'));
    for (const _ of [1, 2]) {
      expect(call('claude', [])).toEqual({
        code: 42,
        stdout: '',
        stderr: '',
        ran: ['version', throughReeve()],
      });
    }
  });
});

describe('a shim inside a run', () => {
  /** As the keeper does it: the process puts its own pid on record, then becomes the program. */
  const begin = (program: string) => `mkdir -p "$REEVE_HOME/runs/r1"
printf '{"version":1,"run":"r1","pid":%s,"startTime":"1"}\\n' $$ >"$REEVE_HOME/runs/r1/started.json"
${program}`;
  const env = () => ({ REEVE_HOME: join(root, 'state'), REEVE_RUN: 'r1' });

  it('is the real program if the run has just started it, also behind a wrapper that becomes it', () => {
    installShims(shims, ['claude'], reeve);
    put('start', `#!/bin/sh\n${begin('exec claude "$@"')}`);
    expect(call(join(root, 'start'), [], { env: env() }).ran).toEqual(['real alone']);
  });

  it('is the real program for a wrapper of its own name that waits for it', () => {
    installShims(shims, ['claude'], reeve);
    put('start', `#!/bin/sh\n${begin('claude "$@"\nexit $?')}`);
    const through = { ...env(), _REEVE_SHIM: 'claude' };
    expect(call(join(root, 'start'), [], { env: through }).ran).toEqual(['real alone']);
  });

  it('is a session of its own for everything else that the run started', () => {
    installShims(shims, ['claude'], reeve);
    put('start', `#!/bin/sh\n${begin('sh -c "claude; exit \\$?"\nexit $?')}`);
    const through = { ...env(), _REEVE_SHIM: 'claude' };
    expect(call(join(root, 'start'), [], { env: through }).ran.at(-1)).toBe(throughReeve());
    put('start', `#!/bin/sh\n${begin('claude\nexit $?')}`);
    const ofAnother = { ...env(), _REEVE_SHIM: 'codex' };
    expect(call(join(root, 'start'), [], { env: ofAnother }).ran).toEqual([throughReeve()]);
  });
});

describe('a shim named code', () => {
  it('runs VS Code, and whatever else is not Every Code, untouched', () => {
    installShims(shims, ['code'], reeve);
    put('bin/code', `${REAL}\nVSCODE_PATH=/usr/share/code ELECTRON_RUN_AS_NODE=1\n`);
    expect(call('code', ['.'])).toMatchObject({ code: 42, stderr: '', ran: ['real alone'] });
  });

  it('runs Every Code through Reeve', () => {
    installShims(shims, ['code'], reeve);
    put('lib/@just-every/code/coder.js', `${REAL}\n# npm install -g @just-every/code\n`);
    symlinkSync('../lib/@just-every/code/coder.js', join(root, 'bin/code'));
    expect(call('code', ['exec', 'x']).ran.at(-1)).toBe(`real reeve ${join(root, 'bin/code')}`);
  });
});

describe('installing shims', () => {
  it('creates the directory, and changes nothing the second time', () => {
    const path = (name: ShimName) => join(shims, name);
    expect(installShims(shims, SHIM_NAMES, reeve)).toEqual(
      SHIM_NAMES.map((name) => ({ name, path: path(name), is: 'created' })),
    );
    expect(installShims(shims, SHIM_NAMES, reeve)).toEqual(
      SHIM_NAMES.map((name) => ({ name, path: path(name), is: 'unchanged' })),
    );
    expect(installShims(shims, ['codex'], ['/bin/sh', '/new/reeve'])).toEqual([
      { name: 'codex', path: path('codex'), is: 'changed' },
    ]);
    expect(readdirSync(shims).sort()).toEqual([...SHIM_NAMES].sort());
  });

  it('refuses to replace what is not a shim, and then installs none', () => {
    for (const make of [
      (path: string) => writeFileSync(path, REAL),
      (path: string) => mkdirSync(path),
      (path: string) => symlinkSync(join(root, 'bin/claude'), path),
      (path: string) => symlinkSync(join(root, 'nowhere'), path),
    ]) {
      mkdirSync(shims, { recursive: true });
      make(join(shims, 'codex'));
      expect(() => installShims(shims, ['claude', 'codex'], reeve)).toThrow(ReeveError);
      expect(readdirSync(shims)).toEqual(['codex']);
      rmSync(shims, { recursive: true });
    }
  });

  it('says in a sentence that it may not write there', () => {
    expect(() => installShims(join(root, 'bin/claude/shims'), ['claude'], reeve)).toThrow(ReeveError);
  });

  it('is undone without touching anything else', () => {
    installShims(shims, ['claude', 'codex'], reeve);
    call('claude', []);
    writeFileSync(join(shims, 'gemini'), REAL);
    expect(removeShims(shims, ['claude', 'gemini', 'opencode']).map(({ is }) => is)).toEqual([
      'removed',
      'absent',
      'absent',
    ]);
    expect(readdirSync(shims).sort()).toEqual(['.reeve-shim-checked', 'codex', 'gemini']);
    removeShims(shims, SHIM_NAMES);
    expect(readdirSync(shims)).toEqual(['gemini']);
    expect(removeShims(join(root, 'never'), SHIM_NAMES).every(({ is }) => is === 'absent')).toBe(true);
  });

  it('tells what a shell finds first', () => {
    const path = join(shims, 'claude');
    const real = join(root, 'bin/claude');
    const bin = join(root, 'bin');
    const status = (...directories: string[]) =>
      shimStatus(shims, ['claude'], reeve, directories.join(':'))[0];
    expect(status(bin)).toEqual({ name: 'claude', path, is: 'absent', real, first: 'real' });
    installShims(shims, ['claude'], reeve);
    expect(status(shims, bin)).toEqual({ name: 'claude', path, is: 'installed', real, first: 'shim' });
    expect(status(bin, shims)).toEqual({ name: 'claude', path, is: 'installed', real, first: 'real' });
    expect(status(bin)).toEqual({ name: 'claude', path, is: 'installed', real, first: 'real' });
    expect(status(shims)).toEqual({ name: 'claude', path, is: 'installed', real: null, first: 'shim' });
    expect(status()).toEqual({ name: 'claude', path, is: 'installed', real: null, first: 'nothing' });
    chmodSync(path, 0o644);
    expect(status(shims, bin)).toEqual({ name: 'claude', path, is: 'outdated', real, first: 'real' });
    writeFileSync(path, REAL);
    expect(status(bin)).toEqual({ name: 'claude', path, is: 'foreign', real, first: 'real' });
    expect([isShim(path), isShim(root), isShim(process.execPath)]).toEqual([false, false, false]);
  });
});
