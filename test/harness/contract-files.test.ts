/** The contract of all adapters: conversations in the files of a harness, whatever state those are in. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { codex } from '../../src/harness/codex.ts';
import { gemini } from '../../src/harness/gemini.ts';
import { opencode } from '../../src/harness/opencode.ts';
import { liveProcess, placeIn, SUBJECTS } from '../fixtures/harness-subjects.ts';

/** Far more than a few reads take, and far less than reading a gigabyte does. */
const QUICK_MS = 250;
const GIGABYTE = 1024 ** 3;
const CWD = '/home/dev/work/o_n.e';

let home: string;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'reeve-contract-'));
});

afterEach(() => {
  rmSync(home, { recursive: true, force: true });
});

describe.each(SUBJECTS.map((subject) => [subject.name, subject] as const))('%s', (_, subject) => {
  const { adapter, ids, stage } = subject;
  const [id, sibling, other] = ids;
  const find = (reference: string) => adapter.findConversations(placeIn(home, CWD), reference);
  const found = (reference: string) => find(reference).map(({ nativeId }) => nativeId);

  it('finds nothing where there is nothing', () => {
    expect(found(id)).toEqual([]);
    expect(adapter.latestConversation(placeIn(home, CWD))).toBeNull();
    expect(adapter.findConversations({ environment: {}, cwd: '/nonexistent' }, 'zzzzzzzz')).toEqual([]);
  });

  it('finds a conversation by its id and by the beginning of it', () => {
    const path = stage(home, { id, cwd: CWD });
    stage(home, { id: other, cwd: '/elsewhere' });
    expect(find(id)).toEqual([{ nativeId: id, cwd: CWD, path, updatedAtMs: expect.any(Number) }]);
    expect(found(id.slice(0, 8))).toEqual([id]);
    expect(found(id.slice(0, 6))).toEqual([id]);
    expect(found(`${id}0`)).toEqual([]);
    expect(found('nothing-like-it')).toEqual([]);
  });

  it('finds both of two that begin alike, the latest first', () => {
    const older = stage(home, { id, cwd: CWD });
    utimesSync(older, 1_000, 1_000);
    stage(home, { id: sibling, cwd: CWD });
    expect(found(id.slice(0, 8))).toEqual([sibling, id]);
    expect(found(sibling)).toEqual([sibling]);
  });

  it('knows the latest of a directory, not that of another one', () => {
    const older = stage(home, { id, cwd: CWD });
    utimesSync(older, 1_000, 1_000);
    stage(home, { id: sibling, cwd: CWD });
    stage(home, { id: other, cwd: '/elsewhere' });
    const latest = (cwd: string) => adapter.latestConversation(placeIn(home, cwd))?.nativeId ?? null;
    expect([latest(CWD), latest('/elsewhere'), latest('/home/dev/work')]).toEqual([sibling, other, null]);
  });

  it('takes a variable that is set to nothing for one that is not set', () => {
    stage(home, { id, cwd: CWD });
    const names = [
      'CLAUDE_CONFIG_DIR',
      'CODEX_HOME',
      'CODE_HOME',
      'GEMINI_CLI_HOME',
      'XDG_DATA_HOME',
      'OPENCODE_DB',
    ];
    const environment = { HOME: home, ...Object.fromEntries(names.map((name) => [name, ''])) };
    expect(adapter.findConversations({ environment, cwd: CWD }, id)).toHaveLength(1);
  });
});

const WITH_FILES = SUBJECTS.filter(({ name }) => name !== 'opencode');

describe.each(WITH_FILES.map((subject) => [subject.name, subject] as const))(
  'transcripts of %s',
  (_, subject) => {
    const { adapter, ids, stage } = subject;
    const [id] = ids;
    const find = () => adapter.findConversations(placeIn(home, CWD), id);
    const known = (cwd: string | null) => [
      { nativeId: id, cwd, path: expect.any(String), updatedAtMs: expect.any(Number) },
    ];

    it.each([
      ['cut in mid-line', '{"type":"user","mess'],
      ['with bytes that are no UTF-8', Buffer.from([0xff, 0xfe, 0x80, 0x0a])],
      ['with lines that are no objects', 'null\n[]\n3\n"x"\n\n'],
    ])('say what they say when they are %s', (_what, tail) => {
      appendFileSync(stage(home, { id, cwd: CWD }), tail);
      expect(find()).toEqual(known(CWD));
    });

    it('of a gigabyte are read in no time', () => {
      truncateSync(stage(home, { id, cwd: CWD }), GIGABYTE);
      const before = process.memoryUsage().rss;
      const startedAtMs = performance.now();
      expect(find()).toEqual(known(CWD));
      expect(adapter.latestConversation(placeIn(home, CWD))?.nativeId).toBe(id);
      expect(performance.now() - startedAtMs).toBeLessThan(QUICK_MS);
      expect(process.memoryUsage().rss - before).toBeLessThan(64 * 1024 * 1024);
    });

    it('of a gigabyte without a line in it are no trouble either', () => {
      const path = stage(home, { id, cwd: CWD });
      writeFileSync(path, '');
      truncateSync(path, GIGABYTE);
      const startedAtMs = performance.now();
      // The name tells the id, but for Gemini, which has only its beginning there.
      expect(find()).toEqual(subject.name === 'gemini' ? [] : known(null));
      expect(performance.now() - startedAtMs).toBeLessThan(QUICK_MS);
    });

    it('that are empty have a name and nothing more', () => {
      writeFileSync(stage(home, { id, cwd: CWD }), '');
      expect(find()).toEqual(subject.name === 'gemini' ? [] : known(null));
    });

    it('that are gone, or a directory, or a pipe, are none', () => {
      const path = stage(home, { id, cwd: CWD });
      rmSync(path);
      expect(find()).toEqual([]);
      mkdirSync(path);
      expect(find()).toEqual([]);
      rmSync(path, { recursive: true });
      execFileSync('mkfifo', [path]);
      expect(find()).toEqual([]);
      expect(adapter.latestConversation(placeIn(home, CWD))).toBeNull();
    });

    it('whose directory is a file are none', () => {
      const directory = dirname(stage(home, { id, cwd: CWD }));
      rmSync(directory, { recursive: true });
      writeFileSync(directory, 'not a directory');
      expect(find()).toEqual([]);
      expect(adapter.latestConversation(placeIn(home, CWD))).toBeNull();
    });

    it('that may not be read are known by name', { tags: ['root'] }, () => {
      const path = stage(home, { id, cwd: CWD });
      // Root may read everything, so somebody else looks.
      chownSync(path, 0, 0);
      chmodSync(path, 0o000);
      chmodSync(home, 0o755);
      const uid = process.geteuid?.() ?? 0;
      process.seteuid?.(65_534);
      try {
        expect(find()).toEqual(subject.name === 'gemini' ? [] : known(null));
      } finally {
        process.seteuid?.(uid);
      }
    });
  },
);

describe('Claude', () => {
  const { adapter, ids, stage } = SUBJECTS[0] ?? expect.unreachable();

  it('is found where its first prompt is larger than what is read of the beginning', () => {
    const path = stage(home, { id: ids[0], cwd: CWD });
    const line = (message: string) => `${JSON.stringify({ type: 'user', message, cwd: CWD })}\n`;
    writeFileSync(path, line('x'.repeat(1024 * 1024)) + line('short'));
    expect(adapter.findConversations(placeIn(home, CWD), ids[0])).toMatchObject([{ cwd: CWD }]);
  });

  it('does not take the transcript of a subagent for a conversation', () => {
    const path = stage(home, { id: ids[0], cwd: CWD });
    utimesSync(path, 1_000, 1_000);
    writeFileSync(join(dirname(path), 'agent-a1b2c3d4.jsonl'), '{}\n');
    expect(adapter.latestConversation(placeIn(home, CWD))?.nativeId).toBe(ids[0]);
  });
});

describe('Gemini', () => {
  const { ids, stage } = SUBJECTS.find(({ name }) => name === 'gemini') ?? expect.unreachable();

  it('tells the directory by the list of projects where the project itself does not', () => {
    const project = dirname(dirname(stage(home, { id: ids[0], cwd: CWD })));
    rmSync(join(project, '.project_root'));
    expect(gemini.findConversations(placeIn(home, CWD), ids[0])).toMatchObject([{ cwd: null }]);
    const slug = project.split('/').at(-1);
    writeFileSync(
      join(home, '.gemini', 'projects.json'),
      JSON.stringify({ projects: { [CWD]: slug, '/x': 3 } }),
    );
    expect(gemini.findConversations(placeIn(home, CWD), ids[0])).toMatchObject([{ cwd: CWD }]);
  });

  it('reads what older versions wrote as one object over many lines', () => {
    const path = stage(home, { id: ids[0], cwd: CWD });
    const chat = { sessionId: ids[0], messages: [{ content: 'x'.repeat(512 * 1024) }] };
    rmSync(path);
    writeFileSync(path.replace('.jsonl', '.json'), JSON.stringify(chat, null, 2));
    expect(gemini.findConversations(placeIn(home, CWD), ids[0])).toMatchObject([{ nativeId: ids[0] }]);
  });
});

describe('what Codex has on record of a turn', () => {
  const [id, subagent] = SUBJECTS[1]?.ids ?? expect.unreachable();
  const event = (type: string, second: number) =>
    `${JSON.stringify({ timestamp: `2026-11-15T20:12:0${second}.000Z`, type: 'event_msg', payload: { type } })}\n`;
  const record = (...files: readonly string[]) =>
    codex.ownRecord(
      liveProcess(['codex'], { environment: () => ({ HOME: home }), openFiles: () => files }),
      id,
    );
  const { stage } = SUBJECTS[1] ?? expect.unreachable();

  it('is the last event of the thread it serves', () => {
    const path = stage(home, { id, cwd: CWD, tail: event('task_started', 1) });
    const theirs = stage(home, { id: subagent, cwd: CWD, tail: event('task_complete', 9) });
    expect(record(theirs, path)).toEqual({
      is: 'working',
      sinceMs: Date.parse('2026-11-15T20:12:01.000Z'),
      evidence: 'task_started in its transcript',
      waitingFor: null,
    });
    appendFileSync(path, `${event('turn_aborted', 2)}{"timestamp":"2026-11-15T20:12:03`);
    expect(record(theirs, path)).toMatchObject({
      is: 'idle',
      sinceMs: Date.parse('2026-11-15T20:12:02.000Z'),
    });
  });

  it('is nothing without a file, and idle with a lock alone', () => {
    const lock = join(home, '.codex', 'thread-writer-locks', `${id}.lock`);
    mkdirSync(dirname(lock), { recursive: true });
    writeFileSync(lock, '');
    expect(record()).toBeNull();
    expect(record('/elsewhere/x.jsonl', '/dev/null')).toBeNull();
    expect(record(lock)).toMatchObject({ is: 'idle' });
  });
});

describe("opencode's database", () => {
  const { ids, stage } = SUBJECTS.find(({ name }) => name === 'opencode') ?? expect.unreachable();
  const [id] = ids;
  const find = () => opencode.findConversations(placeIn(home, CWD), id);
  const turn = () =>
    opencode.ownRecord(liveProcess(['opencode'], { environment: () => ({ HOME: home }) }), id);
  const say = (path: string, data: string) => {
    const database = new DatabaseSync(path);
    database.prepare('insert or replace into message values (?, ?, 5, 7, ?)').run('msg_1', id, data);
    database.close();
  };

  it.each([
    ['damaged', (path: string) => writeFileSync(path, 'x'.repeat(8192), { flag: 'r+' })],
    ['empty', (path: string) => writeFileSync(path, '')],
    ['of another schema', (path: string) => replaced(path, 'create table session(key text)')],
    ['without any table', (path: string) => replaced(path, 'select 1')],
    ['a directory', (path: string) => (rmSync(path), mkdirSync(path))],
    ['a pipe', (path: string) => (rmSync(path), execFileSync('mkfifo', [path]))],
  ])('says nothing when it is %s', (_, spoil) => {
    spoil(stage(home, { id, cwd: CWD }));
    expect([find(), opencode.latestConversation(placeIn(home, CWD)), turn()]).toEqual([[], null, null]);
  });

  it('says what it can of a row that lacks something', () => {
    const path = stage(home, { id, cwd: CWD });
    const database = new DatabaseSync(path);
    database.exec('update session set directory = null, time_updated = null');
    database.close();
    expect(find()).toEqual([{ nativeId: id, cwd: null, path, updatedAtMs: 0 }]);
  });

  it('does not hold whoever asks while somebody else has it locked', async () => {
    const path = stage(home, { id, cwd: CWD });
    const script = `
      const { DatabaseSync } = require('@photostructure/sqlite');
      const database = new DatabaseSync(process.argv[1]);
      database.exec('pragma locking_mode = exclusive; begin exclusive');
      process.stdout.write('locked');
      process.stdin.once('end', () => process.exit(0)).resume();`;
    const child = spawn(process.execPath, ['-e', script, path], { stdio: ['pipe', 'pipe', 'inherit'] });
    try {
      await once(child.stdout, 'data');
      const startedAtMs = performance.now();
      expect(find()).toEqual([]);
      expect(performance.now() - startedAtMs).toBeLessThan(5_000);
    } finally {
      const ended = once(child, 'exit');
      child.stdin.end();
      await ended;
    }
    expect(find()).toHaveLength(1);
  });

  it.each([
    ['a prompt without an answer', '{"role":"user","time":{"created":1}}', 'working'],
    ['an answer that is being given', '{"role":"assistant","time":{"created":1}}', 'working'],
    [
      'an answer that called a tool',
      '{"role":"assistant","finish":"tool-calls","time":{"completed":2}}',
      'working',
    ],
    ['an answer that is complete', '{"role":"assistant","finish":"stop","time":{"completed":2}}', 'idle'],
  ])('tells the state by its last message: %s', (_, data, is) => {
    say(stage(home, { id, cwd: CWD }), data);
    expect(turn()).toEqual({
      is,
      sinceMs: 7,
      evidence: 'the last message in its database',
      waitingFor: null,
    });
  });

  it.each(['{"role":', '[]', '', 'null'])('says nothing of a message that is %j', (data) => {
    say(stage(home, { id, cwd: CWD }), data);
    expect(turn()).toBeNull();
  });

  it('is where the variable says, seen from the directory of its data', () => {
    stage(home, { id, cwd: CWD });
    const environment = (name: string) => ({ environment: { HOME: home, OPENCODE_DB: name }, cwd: CWD });
    expect(opencode.findConversations(environment('opencode.db'), id)).toHaveLength(1);
    expect(opencode.findConversations(environment(':memory:'), id)).toEqual([]);
    expect(opencode.findConversations(environment('/nonexistent/x.db'), id)).toEqual([]);
  });
});

function replaced(path: string, sql: string): void {
  rmSync(path);
  const database = new DatabaseSync(path);
  database.exec(sql);
  database.close();
}
