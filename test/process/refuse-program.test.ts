import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { refuseProgram } from '../../src/process/refuse-program.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'reeve-program-'));
  mkdirSync(join(directory, 'bin'));
  for (const [name, mode] of [
    ['runs', 0o755],
    ['plain', 0o644],
  ] as const) {
    writeFileSync(join(directory, 'bin', name), '#!/bin/sh\n');
    chmodSync(join(directory, 'bin', name), mode);
  }
  symlinkSync('loop', join(directory, 'bin', 'loop'));
});
afterEach(() => rmSync(directory, { recursive: true }));

const on = (path: string | undefined, program: string) => refuseProgram(program, directory, path);

it('lets pass what can be executed: by its name, its path, or a directory of the PATH that is relative or empty', () => {
  expect(on(`/no/such:${join(directory, 'bin')}`, 'runs')).toBeNull();
  expect(on(undefined, 'sh')).toBeNull();
  expect(on('bin', 'runs')).toBeNull();
  expect(on('', './bin/runs')).toBeNull();
  expect(refuseProgram('runs', join(directory, 'bin'), '')).toBeNull();
});

it('refuses what is missing, no file, or not executable, and says which', () => {
  expect(on('bin', 'none')).toContain('on the PATH');
  expect(on('bin', '')).toContain('not a file');
  expect(on('bin', './none')).toContain('no such file');
  expect(on('bin', 'bin/runs/deeper')).toContain('no such file');
  expect(on('bin', './bin')).toContain('not a file');
  expect(on('bin', 'bin/plain')).toContain('may not be executed');
  // As execvp has it: one that may not be executed says more than those that are missing.
  expect(on('bin:/no/such', 'plain')).toContain('may not be executed');
});

it('concludes nothing from a look that failed', () => {
  expect(on('bin', 'bin/loop')).toBeNull();
  expect(on('/no/such:bin', 'loop')).toBeNull();
});

/** A script, and what its first line begins with. */
function script(start: string | Buffer, mode = 0o755): string {
  const path = join(directory, 'script');
  writeFileSync(path, start);
  chmodSync(path, mode);
  return path;
}

it.each([
  ['with an argument', '#!/bin/sh -e\n'],
  ['behind spaces', '#! \t/bin/sh\n'],
  ['env, which looks for it itself', '#!/usr/bin/env no-such-program\n'],
  ['env, and the line ends of Windows behind its argument', '#!/usr/bin/env node\r\n'],
  ['relative to where it is started', '#!bin/runs\n'],
  ['without a line end', '#!/bin/sh'],
  ['of a name longer than the kernel reads, which the shell then executes', `#!/${'x'.repeat(5000)}\n`],
  ['none', 'exec sleep 1\n'],
  ['none, in an empty line', '#!\nexec sleep 1\n'],
  ['none, for it is no script', Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0, 1, 2, 3])],
  ['none, for it is empty', ''],
])('lets pass a script with an interpreter that may work: %s', (_, start) => {
  expect(on('bin', script(start))).toBeNull();
});

it.each([
  ['that is missing', '#!/nonexist/interp\n', '/nonexist/interp: there is no such file'],
  [
    'that is missing, with an argument',
    '#! /nonexist/interp -x\n',
    '/nonexist/interp: there is no such file',
  ],
  ['that is no program', '#!/etc/passwd\n', 'may not be executed'],
  ['that is a directory', '#!/etc\n', 'not a file'],
  ['with the line ends of Windows', '#!/bin/sh\r\n', 'carriage return'],
  ['that is a script itself, without its interpreter', '#!bin/nested\n', '/nonexist/nested'],
])('refuses a script with an interpreter %s', (_, start, says) => {
  writeFileSync(join(directory, 'bin', 'nested'), '#!/nonexist/nested\n', { mode: 0o755 });
  const why = on('bin', script(start));
  expect(why).toContain(says);
  expect(why).not.toContain('\r');
});

it('ends where an interpreter is its own interpreter', () => {
  expect(on('bin', script('#!script\n'))).toBeNull();
});
