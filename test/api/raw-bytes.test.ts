import fc from 'fast-check';
import { expect, it } from 'vitest';
import { bytesOf, hasStrayBytes, textOf } from '../../src/api/raw-bytes.ts';

/** Every one that UTF-8 has, of one to four bytes alike often. */
const CHARACTERS = fc
  .array(fc.oneof(fc.nat(0x7f), fc.nat(0x7ff), fc.nat(0xd7ff), fc.integer({ min: 0xe000, max: 0x10ffff })))
  .map((codes) => String.fromCodePoint(...codes));

it('any bytes come back from their text as they were', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
      expect([...bytesOf(textOf(Buffer.from(bytes)))]).toEqual([...bytes]);
    }),
  );
});

it('any UTF-8 is the text that it is, with no byte astray', () => {
  fc.assert(
    fc.property(CHARACTERS, (text) => {
      expect(textOf(Buffer.from(text))).toBe(text);
      expect(hasStrayBytes(text)).toBe(false);
      expect(bytesOf(text).equals(Buffer.from(text))).toBe(true);
    }),
  );
});

it('text also survives JSON, in which the store has it', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
      const text = textOf(Buffer.from(bytes));
      expect(JSON.parse(JSON.stringify(text))).toBe(text);
      expect(Buffer.from(JSON.stringify(text)).toString()).toBe(JSON.stringify(text));
    }),
  );
});

it('the longest argument that Linux takes is no problem', () => {
  const bytes = Buffer.concat([Buffer.alloc(131_070, 'é'), Buffer.from([0xff])]);
  expect(bytesOf(textOf(bytes)).equals(bytes)).toBe(true);
});
