import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { judgeElf, judgeElfFile, mayRunForeign } from '../../src/process/elf.ts';
import { INITIAL_PID_NAMESPACE } from '../../src/process/pid-namespace.ts';
import { elf, elf32 } from '../support/elf.ts';

const X86_64 = 62;
const I386 = 3;
const ARM64 = 183;

/** What is said of these bytes where Node is a program for x86-64. */
function judged(
  bytes: Buffer,
  { type = X86_64, foreign = false }: { readonly type?: number | null; readonly foreign?: boolean } = {},
) {
  const read = (offset: number, length: number) => bytes.subarray(offset, offset + length);
  return judgeElf({ size: bytes.length, read }, { type, mayRunForeign: () => foreign });
}

const passed = (interpreter: string | null = null) => ({ is: 'passed', interpreter });
const refused = (because: string) => ({ is: 'refused', because: expect.stringContaining(because) });

function patched(bytes: Buffer, at: number, ...values: readonly number[]): Buffer {
  const copy = Buffer.from(bytes);
  copy.set(values, at);
  return copy;
}

const WHOLE = elf({ machine: X86_64, interpreter: '/lib/ld.so\0' });

describe('an ELF file', () => {
  it('that is whole passes with the loader that it names, whichever its layout', () => {
    expect(judged(WHOLE)).toEqual(passed('/lib/ld.so'));
    expect(judged(elf32(I386, '/lib/ld.so\0'))).toEqual(passed('/lib/ld.so'));
    expect(judged(elf({ machine: X86_64 }))).toEqual(passed());
    expect(judged(elf({ machine: X86_64, type: 3 }))).toEqual(passed());
  });

  it('is not judged by its class or its byte order, at which Linux does not look', () => {
    expect(judged(patched(WHOLE, 4, 1, 2))).toEqual(passed('/lib/ld.so'));
  });

  it('for another kind of processor is refused, unless there may be a handler for it, or nothing to compare', () => {
    const foreign = elf({ machine: ARM64 });
    expect(judged(foreign)).toEqual(refused('processor'));
    expect(judged(patched(WHOLE, 18, 0, X86_64))).toEqual(refused('processor'));
    expect(judged(foreign, { foreign: true })).toEqual(passed());
    expect(judged(foreign, { type: null })).toEqual(passed());
  });

  it('that was cut anywhere before the end of its loader’s name is refused', () => {
    const kinds = new Set(
      Array.from({ length: WHOLE.length - 4 }, (_, cut) => judged(WHOLE.subarray(0, cut + 4)).is),
    );
    expect([...kinds]).toEqual(['refused']);
  });

  it.each([
    ['that is an object file', elf({ machine: X86_64, type: 1 }), 'no program'],
    ['that is what a crash left', elf({ machine: X86_64, type: 4 }), 'no program'],
    ['with entries of another size', patched(WHOLE, 54, 0), 'damaged'],
    ['without an entry', patched(WHOLE, 56, 0), 'damaged'],
    ['with more entries than Linux reads', patched(WHOLE, 56, 255, 255), 'damaged'],
    [
      'whose entries are beyond its end',
      patched(WHOLE, 32, 255, 255, 255, 255, 255, 255, 255, 255),
      'damaged',
    ],
    ['whose loader is named beyond its end', patched(WHOLE, 72, 255, 255), 'damaged'],
    ['whose loader’s name does not end', elf({ machine: X86_64, interpreter: '/lib/ld.so' }), 'damaged'],
    ['whose loader’s name is empty', elf({ machine: X86_64, interpreter: '\0' }), 'damaged'],
  ])('%s is refused', (_, bytes, why) => {
    expect(judged(bytes)).toEqual(refused(why));
  });
});

it('what is no ELF file passes', () => {
  for (const text of ['', '\x7f', '\x7fEL', '#!/bin/sh\n', 'MZ'])
    expect(judged(Buffer.from(text))).toEqual(passed());
});

it('the programs of this machine pass, and what cannot be opened', () => {
  for (const path of [process.execPath, '/bin/sh', '/no/such/file', '/proc']) {
    expect([path, judgeElfFile(path).is]).toEqual([path, 'passed']);
  }
});

describe('a handler for the programs of other machines', () => {
  let place: string;
  beforeEach(() => {
    place = mkdtempSync(join(tmpdir(), 'reeve-binfmt-'));
  });
  afterEach(() => rmSync(place, { recursive: true }));

  const mount = (handlers: Readonly<Record<string, string>>) => {
    const files = { register: '', status: 'enabled\n', ...handlers };
    for (const [name, text] of Object.entries(files)) writeFileSync(join(place, name), text);
  };
  const outside = () => INITIAL_PID_NAMESPACE;
  const inside = () => 'pid:[4026532000]';

  it('is there when one is enabled', () => {
    mount({});
    expect(mayRunForeign(place, inside)).toBe(false);
    mount({ jar: 'disabled\n' });
    expect(mayRunForeign(place, inside)).toBe(false);
    mount({ jar: 'disabled\n', 'qemu-arm': 'enabled\ninterpreter /usr/bin/qemu-arm\n' });
    expect(mayRunForeign(place, outside)).toBe(true);
  });

  it('may be there where the list is not mounted, in a container, or cannot be read', () => {
    expect(mayRunForeign(place, outside)).toBe(false);
    expect(mayRunForeign(place, inside)).toBe(true);
    mount({});
    mkdirSync(join(place, 'unreadable'));
    expect(mayRunForeign(place, outside)).toBe(true);
    expect(mayRunForeign(join(place, 'status'), outside)).toBe(true);
  });

  it('is not there in a kernel that knows of none', () => {
    expect(mayRunForeign(join(place, 'none'), inside)).toBe(false);
  });
});
