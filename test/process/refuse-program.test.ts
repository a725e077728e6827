import { spawnSync } from 'node:child_process';
import {
  accessSync,
  chmodSync,
  constants,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { mayRunForeign } from '../../src/process/elf.ts';
import { refuseProgram } from '../../src/process/refuse-program.ts';
import { elf, elf32, FOREIGN, ownMachine } from '../support/elf.ts';

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

it('refuses links that lead back to themselves, and a path that is too long', () => {
  expect(on('bin', 'bin/loop')).toContain('symbolic links');
  expect(on('/no/such:bin', 'loop')).toContain('symbolic links');
  expect(on('bin', `./${'x'.repeat(300)}`)).toContain('too long');
  expect(on('bin:/bin', 'sh')).toBeNull();
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
  ['none, for it is no script', Buffer.from([0x7f, 0x45, 0x4c, 0, 0, 1, 2, 3])],
  ['whose name is not UTF-8', Buffer.from('#!/nonexist/\xff\n', 'latin1')],
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

/** A chain of so many scripts, the last of which has a program. */
function chain(length: number): string {
  const paths = Array.from({ length }, (_, index) => join(directory, `chained-${index}`));
  paths.forEach((path, index) =>
    writeFileSync(path, `#!${paths[index + 1] ?? '/bin/sh'}\n`, { mode: 0o755 }),
  );
  return paths[0] ?? '';
}

describe.runIf(process.platform === 'linux')('on Linux', () => {
  it('follows as many scripts as the kernel, and refuses one more', () => {
    // Executed itself, so that nobody has to believe the number.
    const executed = (path: string) => spawnSync(path).error === undefined;
    expect([on('bin', chain(5)), executed(chain(5))]).toEqual([null, true]);
    expect([on('bin', chain(6)), executed(chain(6))]).toEqual([
      expect.stringContaining('Linux follows'),
      false,
    ]);
    expect(on('bin', script('#!script\n'))).toContain('Linux follows');
  });

  it.each([
    [
      'without its loader',
      elf({ interpreter: '/nonexist/ld.so\0' }),
      '/nonexist/ld.so: there is no such file',
    ],
    ['whose loader may not be executed', elf({ interpreter: '/etc/passwd\0' }), 'may not be executed'],
    ['whose loader is looked for where it is started', elf({ interpreter: 'none/ld.so\0' }), 'none/ld.so'],
    ['whose loader is damaged', elf({ interpreter: 'bin/damaged\0' }), 'damaged, or not whole'],
    ['that ends in its header', elf().subarray(0, 40), 'not whole'],
    ['that ends before its program headers do', elf().subarray(0, 100), 'not whole'],
    ['of a 32-bit machine, without its loader', elf32(ownMachine(), '/nonexist/ld32\0'), '/nonexist/ld32'],
  ])('refuses a program %s, and a script with it as its interpreter', (_, bytes, says) => {
    writeFileSync(join(directory, 'bin', 'damaged'), elf().subarray(0, 70), { mode: 0o755 });
    writeFileSync(join(directory, 'bin', 'program'), bytes, { mode: 0o755 });
    expect(on('bin', 'program')).toContain(says);
    expect(on('bin', script('#!bin/program -x\n'))).toContain(says);
  });

  it.skipIf(mayRunForeign())('refuses a program for another kind of processor', () => {
    expect(on('bin', script(elf({ machine: FOREIGN })))).toContain('processor');
  });

  it.each([
    ['with a loader that can be executed', elf({ interpreter: `${process.execPath}\0` })],
    ['whose loader has a name that is not UTF-8', elfWithStrayByte()],
    ['without a loader', elf()],
  ])('lets pass a program %s', (_, bytes) => {
    expect(on('bin', script(bytes))).toBeNull();
  });
});

function elfWithStrayByte(): Buffer {
  const bytes = elf({ interpreter: '/nonexist/x\0' });
  bytes[bytes.length - 2] = 0xff;
  return bytes;
}

// Root may read everything; another user is needed to tell.
it('lets pass what may be executed and not be read', { tags: ['root'] }, () => {
  chmodSync(directory, 0o755);
  const path = script(elf().subarray(0, 40), 0o711);
  process.seteuid?.(65_534);
  try {
    expect(() => accessSync(path, constants.X_OK)).not.toThrow();
    expect(() => readFileSync(path)).toThrow('EACCES');
    expect(on('bin', path)).toBeNull();
  } finally {
    process.seteuid?.(0);
  }
});
