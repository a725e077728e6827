/** Reading a transcript on and on, whatever happens to it meanwhile: each answer is told, and no byte is read twice. */
import {
  appendFileSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { larger } from '../../src/lifecycle/usage.ts';
import type { UsagePosition, UsageRecord } from '../../src/lifecycle/usage.ts';
import { claudeLines } from '../../src/harness/usage-claude.ts';
import { codexLines } from '../../src/harness/usage-codex.ts';
import { geminiLines } from '../../src/harness/usage-gemini.ts';
import { readerOfLines } from '../../src/harness/usage-lines.ts';
import type { UsageReader } from '../../src/harness/usage.ts';
import {
  claudeAnswer,
  codexContext,
  codexTotal,
  geminiAnswer,
  noise,
} from '../fixtures/usage-transcripts.ts';

const ALL = Number.MAX_SAFE_INTEGER;
const claude = readerOfLines(claudeLines, () => []);
const codex = readerOfLines(codexLines, () => []);
const gemini = readerOfLines(geminiLines, () => []);

let directory: string;
let path: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'reeve-usage-'));
  path = join(directory, 'rollout-01a1e0d7-6949-78b0-895b-66eb51ce1c85.jsonl');
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

/** Keeps nothing but what a store keeps: the position as text, and of each answer the most that was told. */
class Book {
  #position: string | null = null;
  readonly answers = new Map<string, UsageRecord>();
  bytes = 0;
  readonly reader: UsageReader;

  constructor(reader: UsageReader) {
    this.reader = reader;
  }

  async readOn(maxBytes = ALL, maxPieces = ALL): Promise<number> {
    const from = this.#position === null ? null : (JSON.parse(this.#position) as UsagePosition);
    let pieces = 0;
    for await (const piece of this.reader.read({ path, nativeId: 'n', from, maxBytes })) {
      this.bytes += piece.bytes;
      for (const record of piece.records) {
        const before = this.answers.get(record.key);
        this.answers.set(
          record.key,
          before === undefined ? record : { ...before, ...larger(before, record) },
        );
      }
      this.#position = JSON.stringify(piece.position);
      pieces += 1;
      if (pieces === maxPieces) break;
    }
    return pieces;
  }

  get offset(): number {
    return this.#position === null ? 0 : (JSON.parse(this.#position) as UsagePosition).offset;
  }

  sum(): number {
    return [...this.answers.values()].reduce((all, { input, output }) => all + input + output, 0);
  }
}

async function straight(reader: UsageReader, text: string | Buffer): Promise<Book> {
  writeFileSync(path, text);
  const book = new Book(reader);
  await book.readOn();
  rmSync(path);
  return book;
}

const answer = (index: number, output = index + 1) =>
  claudeAnswer({ id: `msg_${index}`, atMs: 1_794_772_573_000 + index, input: 1000 + index, output });

const TEXTS: readonly (readonly [string, UsageReader, string])[] = [
  ['claude', claude, noise(0, 40) + answer(0) + answer(1) + answer(1, 50) + noise(2, 40) + answer(2)],
  [
    'codex',
    codex,
    codexContext('o3') +
      noise(0, 40) +
      codexTotal(1000, { input: 500, cached: 100, output: 20 }) +
      codexContext('o4') +
      codexTotal(2000, { input: 900, cached: 100, output: 30 }) +
      codexTotal(2000, { input: 900, cached: 100, output: 30 }) +
      codexTotal(3000, { input: 40, cached: 0, output: 3 }, { input: 40, cached: 0, output: 3 }),
  ],
  [
    'gemini',
    gemini,
    [0, 1, 2]
      .map((n) => geminiAnswer({ id: `g${n}`, atMs: n, input: 10, output: n }, 2) + noise(n, 40))
      .join(''),
  ],
];

describe.each(TEXTS)('a transcript of %s', (_, reader, text) => {
  const bytes = Buffer.from(text);

  it('adds up to the same, cut at any byte', async () => {
    const expected = (await straight(reader, bytes)).answers;
    expect(expected.size).toBeGreaterThan(2);
    for (let cut = 0; cut <= bytes.length; cut += 1) {
      writeFileSync(path, bytes.subarray(0, cut));
      const book = new Book(reader);
      await book.readOn();
      expect(book.offset).toBe(bytes.subarray(0, cut).lastIndexOf('\n') + 1);
      appendFileSync(path, bytes.subarray(cut));
      await book.readOn();
      expect(book.answers).toEqual(expected);
    }
  });

  it('adds up to the same in any pieces, with restarts in between', async () => {
    const expected = (await straight(reader, bytes)).answers;
    const steps = fc.array(fc.tuple(fc.integer({ min: 1, max: 600 }), fc.integer({ min: 1, max: 900 })), {
      maxLength: 40,
    });
    await fc.assert(
      fc.asyncProperty(steps, async (written) => {
        writeFileSync(path, '');
        const book = new Book(reader);
        let end = 0;
        for (const [length, budget] of written) {
          appendFileSync(path, bytes.subarray(end, end + length));
          end += length;
          await book.readOn(budget, 1);
        }
        appendFileSync(path, bytes.subarray(end));
        await book.readOn();
        expect(book.answers).toEqual(expected);
      }),
      { numRuns: 60 },
    );
  });

  it('adds up to the same when it is replaced, emptied or cut back on the way', async () => {
    const expected = (await straight(reader, bytes)).answers;
    const fault = fc.constantFrom('replace', 'truncate', 'empty', 'none');
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.integer({ min: 0, max: bytes.length }), fault), { maxLength: 8 }),
        async (steps) => {
          writeFileSync(path, '');
          const book = new Book(reader);
          for (const [end, what] of steps) {
            if (what === 'empty') truncateSync(path, 0);
            if (what === 'replace') {
              writeFileSync(`${path}.new`, bytes.subarray(0, end));
              renameSync(`${path}.new`, path);
            } else writeFileSync(path, bytes.subarray(0, end), { flag: what === 'none' ? 'r+' : 'w' });
            await book.readOn();
          }
          writeFileSync(path, bytes);
          await book.readOn();
          expect(book.answers).toEqual(expected);
        },
      ),
      { numRuns: 60 },
    );
  });

  it('says the same with the line ends of Windows, and with bytes that are no UTF-8 in between', async () => {
    const expected = (await straight(reader, bytes)).answers;
    expect((await straight(reader, text.replaceAll('\n', '\r\n'))).answers).toEqual(expected);
    const broken = Buffer.from(
      '\u0000\xFF\xFE"usage" "tokens" "token_count"\n{"usage"\n[]\nnull\n\n',
      'latin1',
    );
    expect((await straight(reader, Buffer.concat([broken, bytes, broken]))).answers).toEqual(expected);
  });
});

describe('a transcript', () => {
  it('that has nothing new is not read again', async () => {
    writeFileSync(path, answer(0) + answer(1));
    const book = new Book(claude);
    expect(await book.readOn()).toBe(1);
    const { bytes } = book;
    expect(await book.readOn()).toBe(0);
    appendFileSync(path, answer(2));
    await book.readOn();
    expect(book.bytes).toBe(bytes + answer(2).length);
  });

  it('that was rewritten in place, and has grown since, is read anew', async () => {
    writeFileSync(path, answer(0) + answer(1));
    const book = new Book(claude);
    await book.readOn();
    writeFileSync(path, answer(7) + answer(8) + answer(9), { flag: 'r+' });
    await book.readOn();
    expect([...book.answers.keys()]).toEqual(['msg_0', 'msg_1', 'msg_7', 'msg_8', 'msg_9']);
  });

  it('of another file under the same name is read from its beginning', async () => {
    writeFileSync(path, answer(0));
    const book = new Book(claude);
    await book.readOn();
    // The same bytes and more, but it is another one.
    writeFileSync(`${path}.new`, answer(0) + answer(1));
    renameSync(`${path}.new`, path);
    await book.readOn();
    expect(book.sum()).toBe(1000 + 1 + 1001 + 2);
    expect(book.bytes).toBe(2 * answer(0).length + answer(1).length);
  });

  it('has the total of a thread once, also when the file is replaced by its end', async () => {
    const totals = (from: number) =>
      [1, 2, 3, 4]
        .slice(from)
        .map((n) =>
          codexTotal(n, { input: n * 100, cached: 0, output: n }, { input: 100, cached: 0, output: 1 }),
        )
        .join('');
    writeFileSync(path, totals(0));
    const book = new Book(codex);
    await book.readOn();
    expect(book.sum()).toBe(404);
    writeFileSync(`${path}.new`, totals(2));
    renameSync(`${path}.new`, path);
    await book.readOn();
    expect(book.sum()).toBe(404);
  });

  it('passes over a line that is longer than any that matters, also in several calls, and reads on behind it', async () => {
    const long = `{"type":"user","usage":"${'y'.repeat(9 * 1024 * 1024)}"}\n`;
    writeFileSync(path, answer(0) + long.slice(0, -2));
    const book = new Book(claude);
    await book.readOn();
    expect(book.offset).toBe(answer(0).length + long.length - 2);
    expect(await book.readOn()).toBe(0);
    // The rest of the line is no line, whatever it looks like.
    appendFileSync(path, answer(1));
    await book.readOn();
    appendFileSync(path, answer(2));
    await book.readOn();
    expect([...book.answers.keys()]).toEqual(['msg_0', 'msg_2']);
  });

  it('is read on, however little may be spent on it at a time', async () => {
    const middling = `{"type":"user","x":"${'y'.repeat(1_500_000)}"}\n`;
    writeFileSync(path, answer(0) + middling + answer(1) + middling + answer(2));
    const book = new Book(claude);
    let calls = 0;
    for (; (await book.readOn(1)) > 0; calls += 1);
    expect([...book.answers.keys()]).toEqual(['msg_0', 'msg_1', 'msg_2']);
    expect(calls).toBeGreaterThan(2);
  });

  it('that is no file, or cannot be read, is an error and does not wait', async () => {
    const book = new Book(claude);
    await expect(book.readOn()).rejects.toThrow('ENOENT');
    expect(claude.sign(path)).toBeNull();
    mkdirSync(path);
    await expect(book.readOn()).rejects.toThrow('plain file');
    rmSync(path, { recursive: true });
    execFileSync('mkfifo', [path]);
    await expect(book.readOn()).rejects.toThrow('plain file');
    expect(() => claude.sign(path)).toThrow('plain file');
    rmSync(path);
    symlinkSync(path, path);
    await expect(book.readOn()).rejects.toThrow('ELOOP');
  });

  it('has a sign that changes with every change of it', () => {
    const signs = new Set<string | null>();
    const sign = () => signs.add(claude.sign(path));
    sign();
    writeFileSync(path, 'one');
    sign();
    appendFileSync(path, 'two');
    sign();
    truncateSync(path, 3);
    sign();
    copyFileSync(path, `${path}.new`);
    renameSync(`${path}.new`, path);
    sign();
    expect(signs.size).toBe(5);
    sign();
    expect(signs.size).toBe(5);
  });
});
