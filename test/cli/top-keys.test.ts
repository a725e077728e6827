/** What a terminal sends, and what of a log is let through to it. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { KeyDecoder } from '../../src/cli/top/keys.ts';
import type { Key } from '../../src/cli/top/keys.ts';
import { LogText } from '../../src/cli/top/log-text.ts';

const ESC = '\u001B';
const word = (key: Key) => (key.is === 'named' ? `<${key.name}>` : key.text);
const typed = (...reads: readonly string[]) => {
  const decoder = new KeyDecoder();
  return [...reads.flatMap((text) => decoder.push(text)), ...decoder.giveUp()].map(word).join('');
};

describe('keys', () => {
  it.each([
    ['j', 'j'],
    ['jk', 'jk'],
    ['é한😀', 'é한😀'],
    ['\r', '<enter>'],
    ['\n', '<enter>'],
    ['\u0003', '<ctrl-c>'],
    ['\u000C', '<ctrl-l>'],
    ['\u001A', '<ctrl-z>'],
    ['\u007F\u0008', '<backspace><backspace>'],
    ['\u0000\u0001\t\u0085', ''],
    [ESC, '<escape>'],
    [`${ESC}j`, '<escape>j'],
    [`${ESC}${ESC}`, '<escape><escape>'],
    [`${ESC}[A${ESC}[B${ESC}OA${ESC}OB`, '<up><down><up><down>'],
    [`${ESC}[5~${ESC}[6~`, '<page-up><page-down>'],
    [`${ESC}[H${ESC}[F${ESC}[1~${ESC}[4~${ESC}[7~${ESC}[8~${ESC}OH${ESC}OF`, '<home><end>'.repeat(4)],
    [`${ESC}[1;5A${ESC}[1;2B`, '<up><down>'],
    [`${ESC}[C${ESC}[3~${ESC}[15~${ESC}OP${ESC}[Z${ESC}[<0;3;4M${ESC}[I`, ''],
    [`${ESC}[?62;4c${ESC}P>|tmux 3.4${ESC}\\${ESC}]11;rgb:0/0/0\u0007x`, 'x'],
    [`${ESC}[\u0003`, '<ctrl-c>'],
    [`a${ESC}[200~sy\rq${ESC}[Ab${ESC}[201~c`, 'ac'],
  ])('%j is %s', (text, keys) => {
    expect(typed(text)).toBe(keys);
  });

  it('are the same in whatever pieces they come', () => {
    const parts = [
      'j',
      'é',
      '😀',
      '\r',
      '\u0003',
      `${ESC}[A`,
      `${ESC}OB`,
      `${ESC}[1;5A`,
      `${ESC}[6~`,
      `${ESC}[200~s\ny${ESC}[A${ESC}[201${ESC}[201~`,
      `${ESC}]11;rgb:0/0${ESC}\\`,
      `${ESC}P1$r0m${ESC}\\`,
    ];
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(...parts)),
        fc.infiniteStream(fc.integer({ min: 1, max: 4 })),
        (all, sizes) => {
          const text = all.join('');
          // Between characters: what cuts them in two was put together before.
          const characters = [...text];
          const pieces: string[] = [];
          while (characters.length > 0) pieces.push(characters.splice(0, sizes.next().value ?? 1).join(''));
          expect(typed(...pieces)).toBe(typed(text));
        },
      ),
    );
  });

  it('a lone ESC waits for what may follow it, and is a key when nothing does', () => {
    const decoder = new KeyDecoder();
    expect(decoder.push(ESC)).toEqual([]);
    expect(decoder.isWaiting).toBe(true);
    expect(decoder.giveUp().map(word)).toEqual(['<escape>']);
    expect(decoder.isWaiting).toBe(false);
    expect(decoder.giveUp()).toEqual([]);
  });

  it('the beginning of a sequence that never goes on is no key', () => {
    expect(typed(`${ESC}[1;`)).toBe('');
    expect(typed(`${ESC}]11;rgb`)).toBe('');
  });

  it('nothing is kept for ever: a sequence without an end is dropped, and what follows are keys', () => {
    const decoder = new KeyDecoder();
    decoder.push(`${ESC}[${'1'.repeat(100)}`);
    expect(decoder.push('j').map(word)).toContain('j');
    decoder.push(`${ESC}]${'x'.repeat(5000)}`);
    expect(decoder.push('j').map(word)).toEqual(['j']);
  });

  it('a paste without an end locks nobody in: Ctrl-C gets through, and ends it', () => {
    const decoder = new KeyDecoder();
    expect(decoder.push(`${ESC}[200~sy`)).toEqual([]);
    expect(decoder.giveUp()).toEqual([]);
    expect(decoder.push('sy')).toEqual([]);
    expect(decoder.push('\u0003j').map(word)).toEqual(['<ctrl-c>', 'j']);
  });

  it('any bytes are taken without an error, and no key is a control character', () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: fc.constantFrom(...`${ESC}[]OP~;0123456789ABm\\\u0007\u0003a😀\r`) })),
        (reads) => {
          const decoder = new KeyDecoder();
          for (const key of [...reads.flatMap((read) => decoder.push(read)), ...decoder.giveUp()]) {
            expect(key.is === 'text' && /\p{Cc}/u.test(key.text)).toBe(false);
          }
        },
      ),
    );
  });
});

describe('a log on our screen', () => {
  const shown = (...chunks: readonly string[]) => {
    const text = new LogText();
    return chunks.map((chunk) => text.push(Buffer.from(chunk, 'latin1'))).join('');
  };
  const utf8 = (text: string) => Buffer.from(text).toString('latin1');

  it.each([
    ['plain\r\n\ttext\n', 'plain\r\n\ttext\n'],
    [`${ESC}[1;31mred${ESC}[0m`, `${ESC}[1;31mred${ESC}[0m`],
    [`${ESC}[2J${ESC}[H${ESC}[?1049h${ESC}[3Aup`, 'up'],
    [`${ESC}]0;title\u0007a${ESC}]52;c;aGk=${ESC}\\b`, 'ab'],
    [`${ESC}c${ESC}7${ESC}(Bx`, 'x'],
    ['ring\u0007\u0008\u000B\u000C', 'ring'],
    [`${ESC}P+q544e${ESC}\\x`, 'x'],
  ])('%j is shown as %j', (log, screen) => {
    expect(shown(log)).toBe(screen);
  });

  it('is the same in whatever pieces it comes', () => {
    const log = utf8(`é${ESC}[31m한${ESC}]0;title${ESC}\\😀${ESC}[2J${ESC}[0m.`);
    for (let size = 1; size <= log.length; size += 1) {
      const chunks = Array.from({ length: Math.ceil(log.length / size) }, (_, index) =>
        log.slice(index * size, (index + 1) * size),
      );
      expect(shown(...chunks)).toBe(`é${ESC}[31m한😀${ESC}[0m.`);
    }
  });

  it('a sequence without an end holds nothing back for ever', () => {
    expect(shown(`${ESC}]${'x'.repeat(5000)}`, 'after')).toContain('after');
  });

  it('lets no escape through but colours, whatever is written', () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: fc.constantFrom(...`${ESC}[]OP~;?019Am\\\u0007\u009B\u0003a\r\n`) })),
        (chunks) => {
          // oxlint-disable-next-line no-control-regex -- the colours
          const rest = shown(...chunks.map(utf8)).replaceAll(/\u001B\[[\d;:]*m/g, '');
          // oxlint-disable-next-line no-control-regex -- what must not be printed
          expect(rest).not.toMatch(/[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F]/);
        },
      ),
      { numRuns: 1000 },
    );
  });
});
