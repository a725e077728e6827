/**
 * What Linux says of an ELF file before it executes it, found out without doing it. As in the kernel's own reader: numbers
 * are of this machine's byte order whatever the file claims, its class decides nothing, what a short header lacks is nought,
 * and only the first interpreter counts.
 */
import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  readSync,
} from 'node:fs';
import { endianness } from 'node:os';
import { join } from 'node:path';
import { INITIAL_PID_NAMESPACE } from './pid-namespace.ts';

export type ElfJudgement =
  /** Nothing of it is known to be wrong. `interpreter`: the loader that it names. */
  | { readonly is: 'passed'; readonly interpreter: string | null }
  /** `because` goes on from the file's name. */
  | { readonly is: 'refused'; readonly because: string };

export interface FileBytes {
  readonly size: number;
  /** Fewer where the file ends before. */
  readonly read: (offset: number, length: number) => Uint8Array;
}

export interface Machine {
  /** Of the running Node; null when that is not known, and then every machine's pass. */
  readonly type: number | null;
  readonly mayRunForeign: () => boolean;
}

const PASSED = { is: 'passed', interpreter: null } as const;
const DAMAGED = { is: 'refused', because: 'is damaged, or not whole' } as const;
const NO_PROGRAM = { is: 'refused', because: 'is an ELF file, but no program' } as const;
const FOREIGN = { is: 'refused', because: 'is a program for another kind of processor' } as const;

/** Passes whatever is no ELF file, cannot be read, or is on another system. */
export function judgeElfFile(path: string): ElfJudgement {
  if (process.platform !== 'linux') return PASSED;
  try {
    return withFile(path, (file) => judgeElf(file, { type: ownMachine(), mayRunForeign }));
  } catch {
    return PASSED;
  }
}

const MAGIC = '\x7fELF';
const HEADER_BYTES = 64;
/** Up to and with the machine, which is at the same place in every ELF file. */
const MACHINE_END = 20;
/** ET_EXEC and ET_DYN; others are what a compiler writes, or what is left of a crash. */
const PROGRAM_TYPES: ReadonlySet<number> = new Set([2, 3]);

export function judgeElf(file: FileBytes, machine: Machine): ElfJudgement {
  const beginning = file.read(0, HEADER_BYTES);
  if (Buffer.from(beginning).toString('latin1', 0, MAGIC.length) !== MAGIC) return PASSED;
  if (beginning.length < MACHINE_END) return DAMAGED;
  const header = new Numbers(padded(beginning));
  if (!isKin(header.short(18), machine.type)) return machine.mayRunForeign() ? PASSED : FOREIGN;
  if (!PROGRAM_TYPES.has(header.short(16))) return NO_PROGRAM;
  return judgeProgramHeaders(file, header);
}

/**
 * Kernels that execute one of these may execute the others: x86-64 with x32, i386 and i486; 64 and 32-bit ARM; 64 and 32-bit
 * PowerPC.
 */
const KIN = [
  [62, 3, 6],
  [183, 40],
  [21, 20],
];

function isKin(type: number, own: number | null): boolean {
  return own === null || type === own || KIN.some((kin) => kin.includes(type) && kin.includes(own));
}

/** Where the two layouts have what is read of them. */
interface Layout {
  readonly entryBytes: number;
  readonly entrySizeAt: number;
  readonly countAt: number;
  readonly tableAt: (header: Numbers) => number;
  readonly offsetOf: (entry: Numbers) => number;
  readonly lengthOf: (entry: Numbers) => number;
}

const LAYOUTS: readonly Layout[] = [
  {
    entryBytes: 56,
    entrySizeAt: 54,
    countAt: 56,
    tableAt: (header) => header.long(32),
    offsetOf: (entry) => entry.long(8),
    lengthOf: (entry) => entry.long(32),
  },
  {
    entryBytes: 32,
    entrySizeAt: 42,
    countAt: 44,
    tableAt: (header) => header.word(28),
    offsetOf: (entry) => entry.word(4),
    lengthOf: (entry) => entry.word(16),
  },
];

/** The kernel takes no bigger table. */
const MAX_TABLE_BYTES = 65_536;
/** PT_INTERP */
const INTERPRETER = 3;
/** PATH_MAX */
const MAX_PATH_BYTES = 4096;

function judgeProgramHeaders(file: FileBytes, header: Numbers): ElfJudgement {
  const layout = LAYOUTS.find(({ entryBytes, entrySizeAt }) => header.short(entrySizeAt) === entryBytes);
  if (layout === undefined) return DAMAGED;
  const length = header.short(layout.countAt) * layout.entryBytes;
  if (length === 0 || length > MAX_TABLE_BYTES) return DAMAGED;
  const table = readWhole(file, layout.tableAt(header), length);
  if (table === null) return DAMAGED;
  for (let at = 0; at < length; at += layout.entryBytes) {
    const entry = new Numbers(table.subarray(at, at + layout.entryBytes));
    if (entry.word(0) === INTERPRETER) {
      return judgeInterpreter(file, layout.offsetOf(entry), layout.lengthOf(entry));
    }
  }
  return PASSED;
}

function judgeInterpreter(file: FileBytes, offset: number, length: number): ElfJudgement {
  if (length < 2 || length > MAX_PATH_BYTES) return DAMAGED;
  const bytes = readWhole(file, offset, length);
  if (bytes === null || bytes.at(-1) !== 0) return DAMAGED;
  return { is: 'passed', interpreter: Buffer.from(bytes.subarray(0, bytes.indexOf(0))).toString('utf8') };
}

function readWhole(file: FileBytes, offset: number, length: number): Uint8Array | null {
  if (offset + length > file.size) return null;
  const bytes = file.read(offset, length);
  return bytes.length === length ? bytes : null;
}

function padded(bytes: Uint8Array): Uint8Array {
  const whole = new Uint8Array(HEADER_BYTES);
  whole.set(bytes);
  return whole;
}

const IS_LITTLE = endianness() === 'LE';

class Numbers {
  readonly #view: DataView;

  constructor(bytes: Uint8Array) {
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  short(at: number): number {
    return this.#view.getUint16(at, IS_LITTLE);
  }

  word(at: number): number {
    return this.#view.getUint32(at, IS_LITTLE);
  }

  /** Inexact only where it is beyond the end of any file. */
  long(at: number): number {
    return Number(this.#view.getBigUint64(at, IS_LITTLE));
  }
}

function withFile<T>(path: string, work: (file: FileBytes) => T): T {
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const read = (offset: number, length: number) => {
      const bytes = new Uint8Array(length);
      return bytes.subarray(0, readSync(file, bytes, 0, length, offset));
    };
    return work({ size: fstatSync(file).size, read });
  } finally {
    closeSync(file);
  }
}

function ownMachine(): number | null {
  try {
    return withFile('/proc/self/exe', ({ read }) => new Numbers(padded(read(0, HEADER_BYTES))).short(18));
  } catch {
    return null;
  }
}

/** Whether the kernel may have been told of a program that executes those of other machines, as Docker does with qemu. */
export function mayRunForeign(
  place = '/proc/sys/fs/binfmt_misc',
  readNamespace = () => readlinkSync('/proc/self/ns/pid'),
): boolean {
  try {
    const names = readdirSync(place);
    // Not mounted. In a container that says nothing: what was told outside holds inside.
    if (!names.includes('status')) return readNamespace() !== INITIAL_PID_NAMESPACE;
    const handlers = names.filter((name) => name !== 'status' && name !== 'register');
    return handlers.some((name) => readFileSync(join(place, name), 'utf8').startsWith('enabled'));
  } catch (error) {
    // A kernel without it has not even the directory.
    return !(error instanceof Error && 'code' in error && error.code === 'ENOENT');
  }
}
