/** ELF files as small as they get. None of them runs: they are there to be looked at. */
import { readFileSync } from 'node:fs';

/** S/390, or there ARM: what the machine that this runs on is no kin of. */
export const FOREIGN = process.arch === 's390x' ? 40 : 22;

export function ownMachine(): number {
  return readFileSync(process.execPath).readUInt16LE(18);
}

export interface ElfParts {
  readonly machine?: number;
  readonly type?: number;
  /** With the nought that ends it; none by default. */
  readonly interpreter?: string;
}

export function elf({ machine = ownMachine(), type = 2, interpreter }: ElfParts = {}): Buffer {
  const path = Buffer.from(interpreter ?? '');
  const start = Buffer.alloc(64 + 56);
  start.write('\x7fELF\x02\x01\x01', 'latin1');
  start.writeUInt16LE(type, 16);
  start.writeUInt16LE(machine, 18);
  start.writeBigUInt64LE(64n, 32);
  start.writeUInt16LE(56, 54);
  start.writeUInt16LE(1, 56);
  start.writeUInt32LE(interpreter === undefined ? 1 : 3, 64);
  start.writeBigUInt64LE(BigInt(start.length), 64 + 8);
  start.writeBigUInt64LE(BigInt(path.length), 64 + 32);
  return Buffer.concat([start, path]);
}

/** The same with 32-bit numbers, as i386 and ARM have it. */
export function elf32(machine: number, interpreter: string): Buffer {
  const start = Buffer.alloc(52 + 32);
  start.write('\x7fELF\x01\x01\x01', 'latin1');
  start.writeUInt16LE(2, 16);
  start.writeUInt16LE(machine, 18);
  start.writeUInt32LE(52, 28);
  start.writeUInt16LE(32, 42);
  start.writeUInt16LE(1, 44);
  start.writeUInt32LE(3, 52);
  start.writeUInt32LE(start.length, 52 + 4);
  start.writeUInt32LE(Buffer.byteLength(interpreter), 52 + 16);
  return Buffer.concat([start, Buffer.from(interpreter)]);
}
