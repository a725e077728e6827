/** Where each harness keeps what a conversation cost, and the one that keeps it in a database. */
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { codex } from '../../src/harness/codex.ts';
import { opencode } from '../../src/harness/opencode.ts';
import type { UsageReader } from '../../src/harness/usage.ts';
import type { UsagePosition } from '../../src/lifecycle/usage.ts';
import { placeIn, SUBJECTS } from '../fixtures/harness-subjects.ts';
import type { Subject } from '../fixtures/harness-subjects.ts';

const CWD = '/home/dev/work/o_n.e';

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'reeve-usage-files-'));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

function write(path: string, text = ''): string {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return path;
}

/** The files of a conversation's subagents, as each harness lays them out; the last is of another conversation. */
const SUBAGENTS: Readonly<Partial<Record<Subject['name'], (transcript: string, id: string) => string[]>>> = {
  claude: (transcript, id) => {
    write(join(dirname(transcript), id, 'subagents', 'agent-a1.meta.json'));
    return [write(join(dirname(transcript), id, 'subagents', 'agent-a1.jsonl'))];
  },
  gemini: (transcript, id) => [write(join(dirname(transcript), id, 'sub-1.jsonl'))],
  codex: rolloutBelow,
  code: rolloutBelow,
};

function rolloutBelow(transcript: string, id: string): string[] {
  const below = '01a1e0d8-0000-7a32-b229-b253d5eb4bab';
  const days = join(transcript, '..', '..', '..', '..');
  const meta = (root: string, own: string) =>
    `${JSON.stringify({ type: 'session_meta', payload: { session_id: root, id: own } })}\n`;
  const at = (day: string, own: string) =>
    join(days, ...day.split('-'), `rollout-${day}T04-15-01-${own}.jsonl`);
  const stranger = '01a1e0d9-0000-7a32-b229-b253d5eb4bab';
  write(at('2026-11-15', stranger), meta(stranger, stranger));
  write(at('2026-11-15', '01a1e0d9-1111-7a32-b229-b253d5eb4bab'), 'not yet whole');
  return [write(at('2026-11-16', below), meta(id, below))];
}

describe.each(SUBJECTS.map((subject) => [subject.name, subject] as const))('%s', (name, subject) => {
  const [id, , other] = subject.ids;
  const reader = async (): Promise<UsageReader> => {
    const { usage } = subject.adapter;
    if (usage === undefined) throw new Error(`${name} tells nothing of what it costs.`);
    return usage();
  };

  it('has no files where there are none', async () => {
    expect((await reader()).files(placeIn(home, CWD), id)).toEqual([]);
    expect((await reader()).files({ environment: {}, cwd: '/nonexistent' }, 'zzz')).toEqual([]);
  });

  it('has the transcript of a conversation, from wherever it is asked, and those of its subagents', async () => {
    const transcript = subject.stage(home, { id, cwd: CWD });
    subject.stage(home, { id: other, cwd: CWD });
    const subagents = SUBAGENTS[subject.name]?.(transcript, id) ?? [];
    for (const cwd of [CWD, '/elsewhere'])
      expect((await reader()).files(placeIn(home, cwd), id)).toEqual([transcript, ...subagents]);
  });
});

describe('codex', () => {
  it('finds a thread whose id says nothing of its day', async () => {
    const id = 'ffffffff-1111-4111-8111-111111111111';
    const path = join(
      home,
      '.codex',
      'sessions',
      '2025',
      '01',
      '02',
      `rollout-2025-01-02T10-00-00-${id}.jsonl`,
    );
    write(path);
    expect((await codex.usage?.())?.files(placeIn(home, CWD), id)).toEqual([path]);
  });
});

describe('opencode', () => {
  const path = () => join(home, '.local', 'share', 'opencode', 'opencode.db');
  let reader: UsageReader;

  beforeEach(async () => {
    const loaded = await opencode.usage?.();
    if (loaded === undefined) throw new Error('opencode tells nothing of what it costs.');
    reader = loaded;
    create();
  });

  function inDatabase(work: (database: InstanceType<typeof DatabaseSync>) => void): void {
    const database = new DatabaseSync(path());
    try {
      work(database);
    } finally {
      database.close();
    }
  }

  function create(): void {
    mkdirSync(dirname(path()), { recursive: true });
    inDatabase((database) =>
      database.exec(`pragma journal_mode = wal;
        create table session(id text primary key, parent_id text);
        create table message(id text primary key, session_id text, time_created integer, time_updated integer, data text);
        create index message_session on message(session_id, time_created, id);
        insert into session values ('ses_root', null), ('ses_child', 'ses_root'), ('ses_deep', 'ses_child'), ('ses_else', null)`),
    );
  }

  function put(id: string, session: string, updatedAtMs: number, output: number): void {
    const tokens = { input: 0, output, reasoning: 0, cache: { read: 0, write: 0 } };
    const data = JSON.stringify({ role: 'assistant', modelID: 'm', tokens });
    inDatabase((database) =>
      database
        .prepare('insert or replace into message values (?, ?, ?, ?, ?)')
        .run(id, session, updatedAtMs, updatedAtMs, data),
    );
  }

  async function read(from: UsagePosition | null) {
    const outputs: Record<string, number> = {};
    let position = from;
    for await (const piece of reader.read({
      path: path(),
      nativeId: 'ses_root',
      from,
      maxBytes: Number.MAX_SAFE_INTEGER,
    })) {
      for (const { key, output } of piece.records) outputs[key] = output;
      ({ position } = piece);
    }
    return { outputs, position };
  }

  it('tells what was changed since, of a conversation and all below it', async () => {
    put('m1', 'ses_root', 1_000_000, 1);
    put('m2', 'ses_deep', 1_000_001, 2);
    put('m3', 'ses_else', 1_000_002, 4);
    put('m4', 'ses_root', 1_500_000, 0);
    const first = await read(null);
    expect(first.outputs).toEqual({ m1: 1, m2: 2 });
    put('m4', 'ses_root', 2_000_000, 8);
    const second = await read(first.position);
    expect(second.outputs).toEqual({ m4: 8 });
    // Written before that, but seen only now.
    put('m5', 'ses_child', 1_999_990, 16);
    expect((await read(second.position)).outputs).toMatchObject({ m5: 16 });
  });

  it('tells thousands of one moment', async () => {
    inDatabase((database) => {
      database.exec('begin');
      const insert = database.prepare(`insert into message values (?, 'ses_root', 5, 5, ?)`);
      const data = JSON.stringify({ role: 'assistant', tokens: { output: 1 } });
      for (let index = 0; index < 2_500; index += 1) insert.run(`m${index}`, data);
      database.exec('commit');
    });
    expect(Object.keys((await read(null)).outputs)).toHaveLength(2_500);
  });

  it('reads another database in its place from the beginning', async () => {
    put('m1', 'ses_root', 9_000_000, 1);
    const { position } = await read(null);
    renameSync(path(), `${path()}.old`);
    create();
    put('m2', 'ses_root', 1_000, 2);
    expect((await read(position)).outputs).toEqual({ m2: 2 });
  });

  it('has a sign that changes with what is only in its log, and is an error when it is no database', async () => {
    put('m1', 'ses_root', 1_000, 1);
    const before = reader.sign(path());
    put('m2', 'ses_root', 1_001, 1);
    expect(reader.sign(path())).not.toBe(before);
    rmSync(path());
    expect(reader.sign(path())).toBeNull();
    writeFileSync(path(), 'x'.repeat(10_000));
    await expect(read(null)).rejects.toThrow();
  });
});
