import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createRunDirectory, logPathIn, readExit, readStarted } from '../../src/process/run-directory.ts';
import { fact, fakeTable, HERE } from './fake-table.ts';

const RUN = 'run-1';
const WRITTEN_AT_S = 1_700_000_000;
const EXITED = { version: 1, run: RUN, pid: 300, code: 0, signal: null, uptime: '4242.17', oomKills: 0 };

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'reeve-run-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

function put(name: string, content: unknown): void {
  const path = join(directory, name);
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  utimesSync(path, WRITTEN_AT_S, WRITTEN_AT_S);
}

/** Reads the record and proves that reading left it as it was. */
function readExitOf(content: unknown) {
  put('exit.json', content);
  const path = join(directory, 'exit.json');
  const before = {
    text: readFileSync(path, 'latin1'),
    mode: statSync(path).mode,
    at: statSync(path).mtimeMs,
  };
  const evidence = readExit(directory, RUN);
  const after = { text: readFileSync(path, 'latin1'), mode: statSync(path).mode, at: statSync(path).mtimeMs };
  expect(after).toEqual(before);
  return evidence;
}

const MALFORMED = { kind: 'malformed', because: expect.stringMatching(/./) };
/** No evidence at all: the file may say anything. */
const FAILED = { kind: 'failed', because: expect.stringMatching(/./) };

describe('an exit record', () => {
  it('is none when there is no file, or no directory', () => {
    expect(readExit(directory, RUN)).toEqual({ kind: 'none' });
    expect(readExit(join(directory, 'not-there'), RUN)).toEqual({ kind: 'none' });
  });

  it('tells the code, and when it was written', () => {
    expect(readExitOf(EXITED)).toEqual({
      kind: 'exited',
      code: 0,
      signal: null,
      atMs: WRITTEN_AT_S * 1_000,
      uptimeMs: 4_242_170,
      oomKills: 0,
    });
  });

  it.each([
    [constants.signals.SIGTERM, 'SIGTERM'],
    [constants.signals.SIGKILL, 'SIGKILL'],
    [constants.signals.SIGSEGV, 'SIGSEGV'],
    // Node names two for this number; the common one is meant.
    [constants.signals.SIGABRT, 'SIGABRT'],
    [40, 'signal 40'],
  ])('tells the signal %i by its name %s', (signal, name) => {
    expect(readExitOf({ ...EXITED, code: null, signal })).toMatchObject({
      kind: 'exited',
      code: null,
      signal: name,
    });
  });

  it.each([
    ['uptime', { uptime: null }],
    ['uptime', { uptime: 'long' }],
    ['uptime', { uptime: '' }],
    ['uptime', { uptime: 4242.17 }],
    ['count of memory kills', { oomKills: null }],
    ['count of memory kills', { oomKills: 'many' }],
  ])('without a usable %s still tells the exit (%j)', (_, without) => {
    const evidence = readExitOf({ ...EXITED, ...without });
    const unknown = 'uptime' in without ? { uptimeMs: null } : { oomKills: null };
    expect(evidence).toEqual({
      kind: 'exited',
      code: 0,
      signal: null,
      atMs: WRITTEN_AT_S * 1_000,
      uptimeMs: 4_242_170,
      oomKills: 0,
      ...unknown,
    });
  });

  it('of a harness that never started tells why', () => {
    expect(readExitOf({ version: 1, run: RUN, notStarted: 'cannot execute clod' })).toEqual({
      kind: 'not_started',
      reason: 'cannot execute clod',
      atMs: WRITTEN_AT_S * 1_000,
    });
  });

  it.each([
    ['empty', ''],
    ['cut off', JSON.stringify(EXITED).slice(0, -10)],
    ['not JSON', 'exit 0'],
    ['binary', '\0\0\0\0'],
    ['a number', '0'],
    ['null', 'null'],
    ['a list', '[0]'],
    ['of another run', { ...EXITED, run: 'run-2' }],
    ['of no run', { ...EXITED, run: undefined }],
    ['of a run whose id only begins the same', { ...EXITED, run: `${RUN}0` }],
    ['without code and signal', { ...EXITED, code: null }],
    ['with both code and signal', { ...EXITED, signal: 9 }],
    ['with a code that is a word', { ...EXITED, code: '0' }],
    ['with a code that is a part', { ...EXITED, code: 0.5 }],
    ['with a signal that is a name', { ...EXITED, code: null, signal: 'SIGKILL' }],
    ['with a signal of nought', { ...EXITED, code: null, signal: 0 }],
  ])('that is %s is malformed, never an exit', (_, content) => {
    expect(readExitOf(content)).toEqual(MALFORMED);
  });

  it('that is a directory could not be read, and stays one', () => {
    mkdirSync(join(directory, 'exit.json'));
    expect(readExit(directory, RUN)).toEqual(FAILED);
    expect(lstatSync(join(directory, 'exit.json')).isDirectory()).toBe(true);
  });

  it('that is a circle of links could not be read', () => {
    symlinkSync('exit.json', join(directory, 'exit.json'));
    expect(readExit(directory, RUN)).toEqual(FAILED);
  });

  it('in a path that leads through a file could not be read, since nothing tells that it is not there', () => {
    put('file', '');
    expect(readExit(join(directory, 'file'), RUN)).toEqual(FAILED);
  });

  it('that the keeper is still writing is not seen before it is whole', () => {
    put('.exit.json.4711', '{"version":1,');
    expect(readExit(directory, RUN)).toEqual({ kind: 'none' });
  });

  it('with any content is read without an error, and is an exit only with exactly a code or a signal', () => {
    const anyField = fc.oneof(fc.constant(null), fc.integer(), fc.string(), fc.double(), fc.jsonValue());
    const anyRecord = fc.record({
      run: fc.constantFrom(RUN, 'run-2'),
      code: anyField,
      signal: anyField,
      uptime: anyField,
      oomKills: anyField,
    });
    fc.assert(
      fc.property(fc.oneof(anyRecord, fc.jsonValue(), fc.string()), (content) => {
        const evidence = readExitOf(content);
        if (evidence.kind !== 'exited') return;
        expect(content).toMatchObject({ run: RUN });
        expect([evidence.code, evidence.signal].filter((value) => value === null)).toHaveLength(1);
        expect(evidence.uptimeMs).not.toBeNaN();
      }),
    );
  });
});

describe('the record of the start', () => {
  const STARTED = { version: 1, run: RUN, pid: 300, startTime: '3001' };
  const table = fakeTable([fact(300, 1, { startTime: '3002' })]);
  const named = (startTime: string | null) => ({ is: 'read', value: { ...HERE, pid: 300, startTime } });

  it('names the harness as it named itself, and not who has its pid now', () => {
    put('started.json', STARTED);
    expect(readStarted(directory, RUN, table)).toEqual(named('3001'));
  });

  it('without a start time, where there is no /proc, takes the one that the table gives', () => {
    put('started.json', { ...STARTED, startTime: '' });
    expect(readStarted(directory, RUN, table)).toEqual(named('3002'));
    expect(readStarted(directory, RUN, fakeTable([]))).toEqual(named(null));
  });

  it.each([
    ['of another run', { ...STARTED, run: 'run-2' }],
    ['without a pid', { ...STARTED, pid: undefined }],
    ['with a pid that is a word', { ...STARTED, pid: '300' }],
    ['broken', '{"version":1,"run"'],
    ['empty', ''],
  ])('that is %s is malformed, and names nobody', (_, content) => {
    put('started.json', content);
    expect(readStarted(directory, RUN, table)).toMatchObject({ is: 'malformed' });
  });

  it('is absent when it is not there, and not when it could not be read', () => {
    expect(readStarted(directory, RUN, table)).toEqual({ is: 'absent' });
    mkdirSync(join(directory, 'started.json'));
    expect(readStarted(directory, RUN, table)).toMatchObject({ is: 'failed' });
  });
});

describe('the directory of a run', () => {
  it('is made for its owner only, with the directories above it, and may be made twice', () => {
    const path = join(directory, 'runs', RUN);
    createRunDirectory(path);
    createRunDirectory(path);
    expect(statSync(path).mode & 0o777).toBe(0o700);
    expect(logPathIn(path)).toBe(join(path, 'output.log'));
  });
});
