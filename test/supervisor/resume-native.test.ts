/** `resume` of a conversation by the id that its harness gave it, whether Reeve has ever seen it or not. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { randomUUID } from 'node:crypto';
import { DatabaseSync } from '@photostructure/sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SessionView } from '../../src/api/session-view.ts';
import { eventsIn, installStandIns } from '../fixtures/stand-in-harness.ts';
import { createSandbox } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

let sandbox: Sandbox;
let project: string;
beforeEach(() => {
  sandbox = createSandbox();
  installStandIns(sandbox, 'claude', 'codex', 'gemini', 'opencode', 'code');
  project = sandbox.path('project');
  mkdirSync(project);
});
afterEach(() => sandbox.cleanUp());

interface Failure {
  readonly error: {
    readonly message: string;
    readonly code: string;
    readonly hint: string;
    readonly details: unknown;
  };
}

function write(path: string, ...lines: readonly object[]): void {
  mkdirSync(dirname(sandbox.path(path)), { recursive: true });
  writeFileSync(sandbox.path(path), lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
}

/** Conversations as each harness has them on file. */
const ON_FILE = {
  claude: (id: string) =>
    write(`.claude/projects/${project.replaceAll(/[^A-Za-z0-9]/g, '-')}/${id}.jsonl`, {
      sessionId: id,
      cwd: project,
    }),
  codex: (id: string) =>
    write(`.codex/sessions/2026/11/15/rollout-2026-11-15T20-00-00-${id}.jsonl`, {
      type: 'session_meta',
      payload: { id, cwd: project },
    }),
  code: (id: string) =>
    write(`.code/sessions/2026/11/15/rollout-2026-11-15T20-00-00-${id}.jsonl`, {
      type: 'session_meta',
      payload: { id, cwd: project },
    }),
  gemini: (id: string) => {
    write(`.gemini/tmp/project/chats/session-2026-11-15T20-00-${id.slice(0, 8)}.jsonl`, { sessionId: id });
    writeFileSync(sandbox.path('.gemini/tmp/project/.project_root'), `${project}\n`);
  },
  opencode: (id: string) => {
    mkdirSync(sandbox.path('.local/share/opencode'), { recursive: true });
    const database = new DatabaseSync(sandbox.path('.local/share/opencode/opencode.db'));
    database.exec(
      'create table if not exists session (id text, directory text, parent_id text, time_updated int)',
    );
    database.prepare('insert into session values (?, ?, null, 1)').run(id, project);
    database.close();
  },
} as const;

const RESUMED: Readonly<Record<keyof typeof ON_FILE, (id: string) => readonly string[]>> = {
  claude: (id) => ['claude', '--resume', id],
  codex: (id) => ['codex', 'resume', id],
  code: (id) => ['code', 'resume', id],
  gemini: (id) => ['gemini', '--resume', id],
  opencode: (id) => ['opencode', '--session', id],
};

// The names are the keys of the table above.
const HARNESSES = Object.keys(ON_FILE) as readonly (keyof typeof ON_FILE)[];

describe.each(HARNESSES)('a conversation of %s that Reeve has never seen', (harness) => {
  const onFile = () => {
    const id = harness === 'opencode' ? `ses_${randomUUID().replaceAll('-', '')}` : randomUUID();
    ON_FILE[harness](id);
    return id;
  };

  it.each([
    ['its id', (id: string) => id],
    ['a beginning of its id', (id: string) => id.slice(0, 12)],
  ])('is resumed by %s, where it took place, and is a session from then on', async (_, reference) => {
    const nativeId = onFile();
    const session = await sandbox.json<SessionView>(['resume', '--detach', reference(nativeId)]);
    expect(session).toMatchObject({
      name: `project-${harness}`,
      harness,
      nativeId,
      cwd: project,
      argv: RESUMED[harness](nativeId),
      epoch: 1,
    });
    expect((await sandbox.show(nativeId.slice(0, 12))).id).toBe(session.id);
    const again = await sandbox.json<Failure>(['resume', '--detach', reference(nativeId)], 4);
    expect(again.error).toMatchObject({ code: 'live_owner', details: { session: `project-${harness}` } });
  });

  it('is resumed elsewhere when told so', async () => {
    const nativeId = onFile();
    mkdirSync(sandbox.path('elsewhere'));
    const flags = ['--detach', '--cwd', sandbox.path('elsewhere')];
    const session = await sandbox.json<SessionView>(['resume', ...flags, nativeId]);
    expect(session).toMatchObject({ name: `elsewhere-${harness}`, cwd: sandbox.path('elsewhere') });
  });
});

describe('a reference', () => {
  it('that fits conversations of several harnesses lists them (2), and --harness chooses', async () => {
    const beginning = randomUUID().slice(0, 23);
    const ids = Object.fromEntries(
      (['claude', 'codex', 'gemini'] as const).map((harness, index) => [
        harness,
        `${beginning}-${String(index).padStart(12, '0')}`,
      ]),
    );
    for (const harness of ['claude', 'codex', 'gemini'] as const) ON_FILE[harness](ids[harness] ?? '');
    const { error } = await sandbox.json<Failure>(['resume', '--detach', beginning], 2);
    expect(error).toMatchObject({ code: 'ambiguous' });
    expect(error.details).toEqual({
      candidates: Object.entries(ids).map(([harness, nativeId]) => ({ harness, nativeId, cwd: project })),
    });
    expect(await sandbox.json(['ls', '--all'])).toEqual([]);
    const flags = ['--detach', '--harness', 'codex'];
    const chosen = await sandbox.json<SessionView>(['resume', ...flags, beginning]);
    expect(chosen).toMatchObject({ harness: 'codex', nativeId: ids['codex'] });
  });

  it('that is the whole id of one conversation means that one, also where another’s goes on after it', async () => {
    const nativeId = `ses_${randomUUID().slice(0, 8)}`;
    ON_FILE.opencode(nativeId);
    ON_FILE.opencode(`${nativeId}0`);
    expect((await sandbox.json<SessionView>(['resume', '--detach', nativeId])).nativeId).toBe(nativeId);
  });

  it.each([
    ['an unknown id', randomUUID()],
    ['a beginning that is too short to be meant', 'abcde'],
    ['a path', '../../etc/passwd'],
    ['a pattern', '%%%%%%%%'],
    ['nothing', ''],
  ])('that is %s is not found (3), and nothing is claimed', async (_, reference) => {
    ON_FILE.claude(`abcde${randomUUID().slice(5)}`);
    const { error } = await sandbox.json<Failure>(['resume', '--detach', reference], 3);
    expect(error.code).toBe('not_found');
    expect(await sandbox.json(['ls', '--all'])).toEqual([]);
  });

  it('of a harness that is not the one asked for is not found (3)', async () => {
    const nativeId = randomUUID();
    ON_FILE.claude(nativeId);
    const flags = ['--detach', '--harness', 'gemini'];
    expect((await sandbox.json<Failure>(['resume', ...flags, nativeId], 3)).error.code).toBe('not_found');
  });

  it('of a conversation whose harness is gone says how to get it back (1), and nothing is claimed', async () => {
    const nativeId = randomUUID();
    ON_FILE.codex(nativeId);
    rmSync(sandbox.path('bin/codex'));
    const { error } = await sandbox.json<Failure>(['resume', '--detach', nativeId], 1);
    expect(error).toMatchObject({ code: 'harness_missing', details: { harness: 'codex' } });
    expect(error.hint).toContain('npm install -g @openai/codex');
    expect(await sandbox.json(['ls', '--all'])).toEqual([]);
  });

  it('to a session is preferred to a file with the same beginning', async () => {
    const nativeId = randomUUID();
    await sandbox.json(['run', '--detach', '-s', 'a', '--', 'claude', '--session-id', nativeId]);
    ON_FILE.gemini(`${nativeId.slice(0, 24)}000000000000`);
    const { error } = await sandbox.json<Failure>(['resume', '--detach', nativeId.slice(0, 20)], 4);
    expect(error).toMatchObject({ code: 'live_owner', details: { session: 'a' } });
  });
});

describe('what is resumed', () => {
  it('gets the prompt, and does it without anybody there where nothing is known of how it was started', async () => {
    const nativeId = randomUUID();
    ON_FILE.claude(nativeId);
    const argv = ['resume', '--detach', '-p', 'go on; please', nativeId];
    expect((await sandbox.json<SessionView>(argv)).argv).toEqual([
      'claude',
      '-p',
      '--resume',
      nativeId,
      '--',
      'go on; please',
    ]);
  });

  it('goes on in the manner of its own command', async () => {
    const nativeId = randomUUID();
    const own = ['claude', '--model', 'opus', '--session-id', nativeId];
    await sandbox.json(['run', '--detach', '-s', 'a', '--', ...own]);
    await sandbox.json(['kill', 'a']);
    const next = await sandbox.json<SessionView>(['resume', '--detach', 'a']);
    expect(next).toMatchObject({
      epoch: 2,
      nativeId,
      argv: ['claude', '--model', 'opus', '--resume', nativeId],
    });
  });

  it('is refused with a command that names another conversation, and nothing is started', async () => {
    const [nativeId, other] = [randomUUID(), randomUUID()];
    ON_FILE.claude(nativeId);
    const argv = ['resume', '--detach', nativeId, '--', 'claude', '--resume', other];
    expect((await sandbox.json<Failure>(argv, 2)).error.message).toContain(other);
    expect(await sandbox.list()).toEqual([]);
  });

  it('goes on in the same conversation with a command that was given and names none', async () => {
    const nativeId = randomUUID();
    ON_FILE.claude(nativeId);
    const first = await sandbox.json<SessionView>([
      'resume',
      '--detach',
      nativeId,
      '--',
      'claude',
      '--model',
      'haiku',
    ]);
    expect(first.argv).toEqual(['claude', '--model', 'haiku', '--resume', nativeId]);
    await sandbox.json(['kill', first.name]);
    const argv = ['resume', '--detach', first.name, '--', 'claude', '--model', 'opus'];
    const second = await sandbox.json<SessionView>(argv);
    expect(second).toMatchObject({ nativeId, argv: ['claude', '--model', 'opus', '--resume', nativeId] });
  });

  it('after it moved on to another conversation goes on in that one', async () => {
    const [first, second] = [randomUUID(), randomUUID()];
    const script = `hook SessionStart;become ${second};hook SessionStart;exit 0`;
    await sandbox.reeve(['run', '-s', 'a', '--', 'claude', '--session-id', first], {
      env: { STAND_IN_SCRIPT: script },
    });
    // Before it is resumed, for that one begins a conversation as well.
    expect((await sandbox.show('a')).nativeId).toBe(second);
    expect(eventsIn(sandbox, 'harness.session.began')).toHaveLength(2);
    expect((await sandbox.json<SessionView>(['resume', '--detach', 'a'])).nativeId).toBe(second);
  });
});

it('one that a silent live run may serve is refused (7), with a way on that works', async () => {
  const nativeId = randomUUID();
  sandbox.env['STAND_IN_SCRIPT'] = '';
  const silent = ['run', '--detach', '-s', 'silent', '--cwd', project, '--', 'claude', '--resume'];
  await sandbox.json<SessionView>(silent);
  ON_FILE.claude(nativeId);
  const { error } = await sandbox.json<Failure>(['resume', '--detach', nativeId], 7);
  expect(error).toMatchObject({ code: 'unproven', details: { session: 'silent' } });
  expect(error.hint).toContain('reeve stop silent');
  expect(error.hint).not.toContain('--assume-gone');
  await sandbox.json(['stop', 'silent']);
  expect((await sandbox.json<SessionView>(['resume', '--detach', nativeId])).nativeId).toBe(nativeId);
});
