/** Nothing that others wrote steers the terminal of whoever reads it. */
import fc from 'fast-check';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { LogText, logText } from '../../src/cli/log-text.ts';
import { inLine, printableJson, printableLine } from '../../src/cli/printable.ts';

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
  '\u200B',
  '\u00AD',
  '\u{E0041}',
  `${ESC}[31m`,
  '\n',
] as const;

const anyText = fc
  .array(
    fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom(...HOSTILE, `${ESC}[31m`, '\n', '\t', 'ü', '漢')),
  )
  .map((parts) => parts.join(''));

/** All but tabs; and of what is inside of JSON, its own line breaks. */
const STEERING =
  /[\u0000-\u0008\u000A-\u001F\u007F-\u009F\u00AD\u061C\u200B\u200E\u200F\u2028-\u202E\u2060-\u2069\uFEFF\u{E0000}-\u{E007F}]/u;

describe('what is printed for people', () => {
  afterEach(() => {
    vi.unstubAllEnvs();
    vi.resetModules();
  });

  test.for(HOSTILE)('shows %j instead of obeying it', (hostile) => {
    expect(printableLine(`a${hostile}b`)).not.toMatch(STEERING);
    expect(inLine(`a${hostile}b`)).not.toMatch(STEERING);
  });

  test('has no control character but its own, whatever it is made of', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(printableLine(text)).not.toMatch(STEERING);
        expect(inLine(text)).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}]/u);
      }),
    );
  });

  test('keeps its tabs, every letter and every picture', () => {
    const text = '\tname 漢 ü 😀 👩‍👩‍👧';
    expect(printableLine(text)).toBe(text);
  });

  test('keeps the colours of Reeve, and no others', async () => {
    vi.stubEnv('FORCE_COLOR', '1');
    vi.resetModules();
    const fresh = await import('../../src/cli/printable.ts');
    const { red } = await import('../../src/cli/render/style.ts');
    const line = `${red('ours')} ${ESC}[31mtheirs${ESC}[39m`;
    expect(fresh.printableLine(line)).toBe(`${ESC}[31mours${ESC}[39m \\x1b[31mtheirs\\x1b[39m`);
  });

  test('says which character it was', () => {
    expect(printableLine(`a${ESC}[8mb\u202Ec\u{E0041}`)).toBe('a\\x1b[8mb\\u202ec\\u{e0041}');
    expect(inLine('one\ntwo\r\tthree')).toBe('one\\ntwo\\r\\tthree');
  });
});

test('JSON is the same value, and steers nothing', () => {
  fc.assert(
    fc.property(anyText, (text) => {
      const printed = printableJson(JSON.stringify({ text }, null, 2));
      expect(JSON.parse(printed)).toStrictEqual({ text });
      expect(printed.replaceAll('\n', '')).not.toMatch(STEERING);
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
