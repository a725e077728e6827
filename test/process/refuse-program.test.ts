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
