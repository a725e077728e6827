/** Nothing that others wrote steers the terminal of whoever reads it. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LogText, logText } from '../../src/cli/log-text.ts';
import { asText, inLine, printable, printableJson } from '../../src/cli/printable.ts';

// oxlint-disable no-control-regex -- they are what is looked for.

const ESC = '\u001B';
const BEL = '\u0007';
/** Sets the clipboard, the title, the cursor; conceals; turns the direction of writing; and a control of eight bits. */
const HOSTILE = [
  `${ESC}]52;c;cm0gLXJmIH4=${BEL}`,
  `${ESC}]0;title${ESC}\\`,
  `${ESC}[2J${ESC}[H`,
  `${ESC}[8m`,
  `${ESC}P$q"p${ESC}\\`,
  `${ESC}c`,
  '\u009B2J',
  '\u202Efdp.exe',
  '\r',
  '\b\b',
  '\u2028',
  '\u0000',
] as const;

const anyText = fc
  .array(
    fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom(...HOSTILE, `${ESC}[31m`, '\n', '\t', 'ü', '漢')),
  )
  .map((parts) => parts.join(''));

/** All but line breaks, tabs and the colours that Reeve itself uses. */
const STEERING =
  /\u001B(?!\[(?:1|2|7|22|27|31|32|33|35|36|39|90)m)|[\u0000-\u0008\u000B-\u001A\u001C-\u001F\u007F-\u009F\u061C\u200E\u200F\u2028-\u202E\u2066-\u2069\uFEFF]/;

describe('what is printed for people', () => {
  test.for(HOSTILE)('shows %j instead of obeying it', (hostile) => {
    expect(printable(`a${hostile}b`)).not.toMatch(STEERING);
    expect(inLine(`a${hostile}b`)).not.toMatch(STEERING);
  });

  test('has no control character but its own, whatever it is made of', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(printable(text)).not.toMatch(STEERING);
        expect(inLine(text)).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}]/u);
      }),
    );
  });

  test('keeps its lines, its tabs, its colours and every letter', () => {
    const text = `${ESC}[1mname${ESC}[22m\n\t漢 ü 😀 👩‍👩‍👧`;
    expect(printable(text)).toBe(text);
  });

  test('of others keeps its lines and its tabs, and colours nothing', () => {
    expect(asText(`${ESC}[31mred\n\t漢${ESC}[39m`)).toBe('\\x1b[31mred\n\t漢\\x1b[39m');
  });

  test('says which character it was', () => {
    expect(printable(`a${ESC}[8mb\u202Ec`)).toBe('a\\x1b[8mb\\u202ec');
    expect(inLine('one\ntwo\r\tthree')).toBe('one\\ntwo\\r\\tthree');
  });
});

test('JSON is the same value, and steers nothing', () => {
  fc.assert(
    fc.property(anyText, (text) => {
      const printed = printableJson(JSON.stringify({ text }, null, 2));
      expect(JSON.parse(printed)).toStrictEqual({ text });
      expect(printed).not.toMatch(STEERING);
    }),
  );
});

describe('a log on a terminal', () => {
  test('has its text and its colours, and nothing else of a terminal', () => {
    const log = `${HOSTILE.slice(0, 6).join('')}${ESC}[38;5;208mwarm${ESC}[0m\r\n\tdone${BEL}\n`;
    expect(logText(log)).toBe(`${ESC}[8m${ESC}[38;5;208mwarm${ESC}[0m\r\n\tdone\n`);
  });

  test('is the same in whatever pieces it comes', () => {
    fc.assert(
      fc.property(anyText, fc.array(fc.nat(40)), (text, sizes) => {
        const bytes = Buffer.from(text);
        const whole = new LogText();
        const expected = whole.take(bytes) + whole.end();
        const pieces = new LogText();
        let [shown, from] = ['', 0];
        for (const size of sizes) {
          shown += pieces.take(bytes.subarray(from, from + size));
          from += size;
        }
        shown += pieces.take(bytes.subarray(from)) + pieces.end();
        expect(shown).toBe(expected);
        expect(shown).not.toMatch(
          /\u001B(?!\[[\d;:]*m)|[\u0000-\u0008\u000B\u000C\u000E-\u001A\u007F-\u009F]/,
        );
      }),
    );
  });

  test('does not hold back a text for a sequence that never ends', () => {
    const text = new LogText();
    expect(text.take(Buffer.from(`before${ESC}]52;c;`))).toBe('before');
    const long = 'x'.repeat(5_000);
    expect(text.take(Buffer.from(long)) + text.end()).toContain(long);
  });
});
