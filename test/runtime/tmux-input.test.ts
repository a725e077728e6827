/** What a program in a pane gets to read, byte by byte. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Key } from '../../src/runtime/tmux.ts';
import { eventually } from '../support/processes.ts';
import { cleanUp, open, prepare, raw, recorded, startRecorder, valueOf } from './own-server.ts';

beforeEach(prepare);
afterEach(cleanUp);

const DONE = { is: 'answered', value: true };
const inBrackets = (text: string) => `\u001B[200~${text}\u001B[201~`;

describe('a paste', () => {
  it('arrives in brackets, with its line ends as they are, where the program asked for brackets', async () => {
    const tmux = open();
    const file = await startRecorder(tmux, 'r-1', 'on');
    const text = `first\n\tsecond 'it's' "$HOME" #{pid} %H ; \\n\n\ngrüße 🎈\n`;
    expect(await tmux.paste('r-1', text)).toEqual(DONE);
    expect(await recorded(file, Buffer.byteLength(inBrackets(text)))).toBe(inBrackets(text));
  });

  it('arrives plain, with its line ends as they are, where the program did not ask', async () => {
    const tmux = open();
    const file = await startRecorder(tmux, 'r-1', 'off');
    expect(await tmux.paste('r-1', 'a\nb\n')).toEqual(DONE);
    expect(await tmux.press('r-1', 'Enter')).toEqual(DONE);
    expect(await recorded(file, 5)).toBe('a\nb\n\r');
  });

  it('of 100 KB arrives whole and as one', async () => {
    const tmux = open();
    const file = await startRecorder(tmux, 'r-1', 'on');
    const line = 'The quick brown fox – grüße 🎈 – jumps over the lazy dog.\n';
    const text = line.repeat(Math.ceil(100_000 / Buffer.byteLength(line)));
    expect(await tmux.paste('r-1', text)).toEqual(DONE);
    expect(await recorded(file, Buffer.byteLength(inBrackets(text)))).toBe(inBrackets(text));
  });

  it('cannot end its own brackets or press a key: control characters do not get in', async () => {
    const tmux = open();
    const file = await startRecorder(tmux, 'r-1', 'on');
    const text = 'a\u001B[201~rm -rf\r\nb\rc\u0003\u0000\u007F\u009B201~d\te';
    expect(await tmux.paste('r-1', text)).toEqual(DONE);
    const expected = inBrackets('a[201~rm -rf\nb\nc201~d\te');
    expect(await recorded(file, expected.length)).toBe(expected);
  });

  it('arrives in brackets while somebody scrolls back', async () => {
    const tmux = open();
    const file = await startRecorder(tmux, 'r-1', 'on');
    raw(tmux.socket, 'copy-mode', '-t', '=r-1:0.0');
    expect(valueOf(await tmux.pane('r-1')).isInMode).toBe(true);
    expect(await tmux.paste('r-1', 'text')).toEqual(DONE);
    expect(await recorded(file, inBrackets('text').length)).toBe(inBrackets('text'));
  });

  it('of many at once arrives in as many whole pieces', async () => {
    const tmux = open();
    const file = await startRecorder(tmux, 'r-1', 'on');
    const texts = Array.from({ length: 8 }, (_, index) => String(index).repeat(20_000));
    await Promise.all(texts.map((text) => tmux.paste('r-1', text)));
    const all = await recorded(file, texts.map(inBrackets).join('').length);
    expect(all.split('\u001B[201~').sort()).toEqual(['', ...texts.map((text) => `\u001B[200~${text}`)]);
    expect(raw(tmux.socket, 'list-buffers')).toBe('');
  });

  it('of nothing is no key, and answers whether the session is there', async () => {
    const tmux = open();
    const file = await startRecorder(tmux, 'r-1', 'off');
    expect(await tmux.paste('r-1', '')).toEqual(DONE);
    expect(await tmux.paste('r-2', '')).toEqual({ is: 'gone' });
    await tmux.press('r-1', 'Enter');
    expect(await recorded(file, 1)).toBe('\r');
  });

  it('of too much is refused before anything of it is sent', async () => {
    await expect(open().paste('r-1', 'x'.repeat(5 * 1024 * 1024))).rejects.toMatchObject({ code: 'usage' });
  });
});

describe('a key', () => {
  it.each<[Key, string]>([
    ['Enter', '\r'],
    ['Escape', '\u001B'],
    ['Tab', '\t'],
    ['BTab', '\u001B[Z'],
    ['Space', ' '],
    ['BSpace', '\u007F'],
    ['Up', '\u001B[A'],
    ['Down', '\u001B[B'],
    ['Right', '\u001B[C'],
    ['Left', '\u001B[D'],
    ['C-c', '\u0003'],
    ['C-d', '\u0004'],
  ])('%s arrives, also while somebody scrolls back', async (key, bytes) => {
    const tmux = open();
    const file = await startRecorder(tmux, 'r-1', 'off');
    expect(await tmux.press('r-1', key)).toEqual(DONE);
    expect(await recorded(file, bytes.length)).toBe(bytes);
    raw(tmux.socket, 'copy-mode', '-t', '=r-1:0.0');
    expect(await tmux.press('r-1', key)).toEqual(DONE);
    expect(await recorded(file, 2 * bytes.length)).toBe(bytes.repeat(2));
    await eventually('the mode is left', async () => !valueOf(await tmux.pane('r-1')).isInMode);
  });
});
