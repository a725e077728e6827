/** `submit`: what a run hands in, from the built command line, beside takeovers, crashes and nonsense. */
import { existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SessionView } from '../../src/api/session-view.ts';
import type { SubmissionDetailView, SubmissionsView } from '../../src/api/submission-view.ts';
import { MAX_SUBMISSION_BYTES } from '../../src/lifecycle/submission.ts';
import { ReeveError } from '../../src/api/errors.ts';
import { openReeve } from '../../src/supervisor/reeve.ts';
import { insideRun } from '../support/credentials.ts';
import type { Insider } from '../support/credentials.ts';
import { eventually } from '../support/processes.ts';
import { CLI, createSandbox, finished } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

let sandbox: Sandbox;
beforeEach(() => {
  sandbox = createSandbox();
});
afterEach(() => sandbox.cleanUp());

interface Told {
  readonly code: number | null;
  readonly json: {
    readonly accepted?: boolean;
    readonly again?: boolean;
    readonly id?: string;
    readonly error?: {
      readonly code: string;
      readonly message: string;
      readonly details: Record<string, unknown>;
    };
  };
}

type Environment = Record<string, string>;

async function submit(env: Environment, file: string, ...flags: readonly string[]): Promise<Told> {
  const { code, stdout } = await sandbox.reeve(['submit', '--data', file, ...flags, '--json'], { env });
  return { code, json: JSON.parse(stdout) as Told['json'] };
}

const write = (name: string, data: string | Buffer) => {
  writeFileSync(sandbox.path(name), data);
  return name;
};
const jsonOf = async <T>(...words: readonly string[]) =>
  JSON.parse((await sandbox.reeve([...words, '--json'])).stdout) as T;
const listed = async (...words: readonly string[]) =>
  (await jsonOf<SubmissionsView>('submit', 'ls', ...words)).submissions;
const TAKE_OVER = ['--on-live', 'retire', '--grace', '0'];

describe('a list without submissions', () => {
  it('says so in a sentence', async () => {
    const listOf = async (...words: readonly string[]) =>
      (await sandbox.reeve(['submit', 'ls', ...words])).stdout.trim();
    expect(await listOf()).toBe('No submissions yet. From inside a run: reeve submit --data FILE');
    expect(await listOf('--refused')).toBe('No submission came too late.');
    expect(await listed()).toEqual([]);
  });
});

describe('a submission', () => {
  it('from inside a run is accepted, listed and shown to the byte', async () => {
    const data = '\uFEFFfound:\r\n\tit\'s "here" ? 😀\u0007 no newline';
    write('finding', data);
    const script = `${process.execPath} ${CLI} submit --data - --json < finding > answer`;
    expect((await sandbox.reeve(['run', '-s', 'a', '--', 'sh', '-c', script])).code).toBe(0);
    const answer = JSON.parse(readFileSync(sandbox.path('answer'), 'utf8')) as { id: string };
    expect(answer).toEqual({ accepted: true, again: false, id: expect.stringMatching(/^sub-[a-z0-9]{16}$/) });

    const { id: sessionId, run } = await sandbox.show('a');
    const view = {
      id: answer.id,
      session: 'a',
      sessionId,
      run: run.id,
      at: expect.stringMatching(/^\d{4}-.*Z$/),
      key: expect.stringMatching(/^[0-9a-f]{64}$/),
      digest: expect.stringMatching(/^[0-9a-f]{64}$/),
      bytes: Buffer.byteLength(data),
      accepted: true,
      because: null,
    };
    expect(await jsonOf('submit', 'ls')).toEqual({ submissions: [view], isCut: false });
    expect(await jsonOf('submit', 'show', answer.id)).toEqual({ ...view, data });
    expect((await sandbox.reeve(['submit', 'show', answer.id.slice(0, 9)])).stdout).toBe(data);
    const text = (await sandbox.reeve(['submit', 'ls', 'a'])).stdout;
    expect(text).toContain(answer.id);
    expect((await sandbox.reeve(['why', 'a'])).stdout).toContain(answer.id);
  });

  it('is accepted once: again it is told so, and other content under its key is refused', async () => {
    const { env } = await insideRun(sandbox, 'a');
    const first = await submit(env, write('f', 'found'), '--key', 'k');
    expect(first).toEqual({ code: 0, json: { accepted: true, again: false, id: expect.any(String) } });
    expect(await submit(env, 'f', '--key', 'k')).toEqual({
      code: 0,
      json: { accepted: true, again: true, id: first.json.id },
    });
    const other = await submit(env, write('g', 'other'), '--key', 'k');
    expect([other.code, other.json.error?.code]).toEqual([2, 'conflict']);
    expect(other.json.error?.details).toEqual({ run: env.REEVE_RUN, id: first.json.id });
    expect(await listed()).toHaveLength(1);
  });

  it('of many that submit the same at once is stored once, and all are told the same', async () => {
    const { env } = await insideRun(sandbox, 'a');
    write('f', 'found');
    const all = await Promise.all(Array.from({ length: 8 }, () => submit(env, 'f')));
    expect(all.map(({ code }) => code)).toEqual(Array.from({ length: 8 }, () => 0));
    expect(new Set(all.map(({ json }) => json.id)).size).toBe(1);
    expect(all.filter(({ json }) => json.again === false)).toHaveLength(1);
    expect(await listed()).toHaveLength(1);
  });
});

describe('a late submission', () => {
  it('of a superseded run exits 5, names the current run, is kept aside, and changes nothing else', async () => {
    const old = await insideRun(sandbox, 'a');
    const next = await insideRun(sandbox, 'a', ...TAKE_OVER);
    const before = await sandbox.show('a');
    const late = await submit(old.env, write('f', 'what the old one found'));
    expect([late.code, late.json.error?.code]).toEqual([5, 'fenced']);
    const [kept] = await listed('a', '--refused');
    expect(late.json.error?.details).toEqual({ run: old.run.id, current: next.run.id, kept: kept?.id });
    expect(late.json.error?.message).toContain(next.run.id);
    expect(late.json.error?.message).toContain(String(kept?.id));
    expect(await jsonOf<SubmissionDetailView>('submit', 'show', String(kept?.id))).toMatchObject({
      run: old.run.id,
      accepted: false,
      because: 'it has ended (superseded)',
      data: 'what the old one found',
    });
    expect(await sandbox.show('a')).toEqual(before);
    const story = (await sandbox.reeve(['why', 'a'])).stdout;
    expect(story).toContain(`A late submission of run ${old.run.id} was refused`);
    expect(story).toContain(String(kept?.id));

    // Again it is kept under the same id; and the current run's own is accepted.
    const again = await submit(old.env, 'f');
    expect([again.code, again.json.error?.details['kept']]).toEqual([5, kept?.id]);
    expect(await submit(next.env, 'f')).toMatchObject({ code: 0, json: { accepted: true, again: false } });
    expect((await listed()).map(({ accepted }) => accepted)).toEqual([true, false]);
  });

  it('that was accepted in time exits 5, and says under which id it is', async () => {
    const { run, env } = await insideRun(sandbox, 'a');
    const { json } = await submit(env, write('f', 'found'));
    await sandbox.json(['kill', 'a']);
    const late = await submit(env, 'f');
    expect(late.code).toBe(5);
    expect(late.json.error?.details).toEqual({
      run: run.id,
      current: run.id,
      kept: json.id,
      acceptedAs: json.id,
    });
    expect(await listed()).toHaveLength(1);
  });

  it('is forgotten with its session', async () => {
    const { env } = await insideRun(sandbox, 'a');
    await sandbox.json(['kill', 'a']);
    const { json } = await submit(env, write('f', 'found'));
    await sandbox.json(['rm', 'a']);
    expect(await listed()).toEqual([]);
    expect((await sandbox.reeve(['submit', 'show', String(json.error?.details['kept'])])).code).toBe(3);
    const unknown = await submit(env, 'f');
    expect([unknown.code, unknown.json.error?.details]).toEqual([
      5,
      { run: env.REEVE_RUN, current: null, kept: null },
    ]);
  });
});

describe('during a takeover', () => {
  // By the library, for a process that carries the run's mark would be ended as a part of its tree.
  const submitBy = async ({ run, env }: Insider) => {
    const reeve = await openReeve({ home: sandbox.home, environment: sandbox.env });
    try {
      const submitted = await reeve.submit({ data: 'found' }, { run: run.id, token: env.REEVE_TOKEN });
      return { id: submitted.accepted ? submitted.id : null, accepted: submitted.accepted };
    } catch (error) {
      if (!(error instanceof ReeveError) || error.code !== 'fenced') throw error;
      return { id: error.details['kept'], accepted: false };
    } finally {
      await reeve.close();
    }
  };

  it.each(['retire.intended', 'retire.tree_gone', 'retire.ended'])(
    'held at %s, what the old run submits is accepted if it has not ended, and else kept',
    async (point) => {
      const old = await insideRun(sandbox, 'a');
      const go = sandbox.path('go');
      const taking = finished(
        sandbox.start(['run', '--detach', '--json', ...TAKE_OVER, '-s', 'a', '--', 'sleep', '60'], {
          env: { ...sandbox.env, REEVE_CHECKPOINT: `${point}=wait:${go}` },
        }),
      );
      await eventually('it is held', () => existsSync(`${go}.reached`));
      const told = await submitBy(old);
      // With its tree gone, its keeper may end it at any moment.
      if (point !== 'retire.tree_gone') expect(told.accepted).toBe(point === 'retire.intended');
      writeFileSync(go, '');
      const taken = JSON.parse((await taking).stdout) as SessionView;
      expect((await listed()).map(({ id, run, accepted }) => ({ id, run, accepted }))).toEqual([
        { ...told, run: old.run.id },
      ]);
      const kinds = (await sandbox.reeve(['why', 'a'])).stdout;
      const [submitted, ended] = [kinds.indexOf(String(told.id)), kinds.indexOf('ended as superseded')];
      expect(submitted < ended).toBe(told.accepted);
      expect((await sandbox.show('a')).run).toMatchObject({ id: taken.run.id, state: 'running', epoch: 2 });
    },
  );
});

describe('whoever is killed', () => {
  it('before it was recorded has submitted nothing, and may do it again', async () => {
    const { env } = await insideRun(sandbox, 'a');
    const killed = await sandbox.reeve(['submit', '--data', write('f', 'found')], {
      env: { ...env, REEVE_CHECKPOINT: 'submit.begun=kill' },
    });
    expect(killed.signal).toBe('SIGKILL');
    expect(await listed()).toEqual([]);
    expect(await submit(env, 'f')).toMatchObject({ code: 0, json: { again: false } });
  });

  it('after it was recorded has submitted it, and is told so', async () => {
    const { env } = await insideRun(sandbox, 'a');
    const killed = await sandbox.reeve(['submit', '--data', write('f', 'found')], {
      env: { ...env, REEVE_CHECKPOINT: 'submit.recorded=kill' },
    });
    expect(killed.signal).toBe('SIGKILL');
    const [only] = await listed();
    expect(await submit(env, 'f')).toEqual({ code: 0, json: { accepted: true, again: true, id: only?.id } });
  });

  it('with its run, as a part of its tree, before it was recorded, has submitted nothing', async () => {
    const { env } = await insideRun(sandbox, 'a');
    const go = sandbox.path('go');
    const slow = finished(
      sandbox.start(['submit', '--data', write('f', 'found'), '--json'], {
        env: { ...sandbox.env, ...env, REEVE_CHECKPOINT: `submit.begun=wait:${go}` },
      }),
    );
    await eventually('it is held', () => existsSync(`${go}.reached`));
    await insideRun(sandbox, 'a', ...TAKE_OVER);
    // Asked to end or killed, whichever came first.
    expect(['SIGTERM', 'SIGKILL']).toContain((await slow).signal);
    expect(await listed()).toEqual([]);
  });
});

describe('a stranger', () => {
  it('with a wrong token is refused, and nothing of it is kept', async () => {
    const { run, env } = await insideRun(sandbox, 'a');
    write('f', 'planted');
    for (const wrong of [
      { REEVE_RUN: run.id, REEVE_TOKEN: 'forged' },
      { REEVE_RUN: 'r-nobody', REEVE_TOKEN: env.REEVE_TOKEN },
    ]) {
      const told = await submit(wrong, 'f');
      expect([told.code, told.json.error?.code, told.json.error?.details['kept']]).toEqual([
        5,
        'fenced',
        null,
      ]);
      expect(told.json.error?.message).toContain('not kept');
    }
    expect(await listed()).toEqual([]);
  });

  it('outside of any run has a usage error', async () => {
    const told = await submit({}, write('f', 'x'));
    expect([told.code, told.json.error?.code]).toEqual([2, 'usage']);
  });
});

describe('bad input', () => {
  it('is refused with one sentence, and nothing is stored', async () => {
    const { env } = await insideRun(sandbox, 'a');
    mkdirSync(sandbox.path('directory'));
    write('f', 'x');
    const cases: [string, string, string[]][] = [
      ['usage', write('invalid', Buffer.from([0x61, 0xff, 0x62])), []],
      ['usage', write('half', Buffer.from([0x61, 0xf0, 0x9f])), []],
      ['usage', write('nul', 'a\0b'), []],
      ['usage', write('empty', ''), []],
      ['usage', 'none', []],
      ['usage', 'directory', []],
      ['too_large', write('large', 'x'.repeat(MAX_SUBMISSION_BYTES + 1)), []],
      // Cut off in the middle of a character it is too large all the same.
      ['too_large', write('wide', '€'.repeat(MAX_SUBMISSION_BYTES)), []],
      ['too_large', '/dev/zero', []],
      ['usage', 'f', ['--key', '']],
      ['usage', 'f', ['--key', 'x'.repeat(101)]],
      ['usage', 'f', ['--key', 'a\nb']],
    ];
    for (const [code, file, flags] of cases) {
      const told = await submit(env, file, ...flags);
      expect({ file, flags, exit: told.code, code: told.json.error?.code }).toEqual({
        file,
        flags,
        exit: 2,
        code,
      });
    }
    const endless = await finished(
      sandbox.start(['submit', '--data', '-'], {
        env: { ...sandbox.env, ...env },
        stdio: [openSync('/dev/zero', 'r'), 'pipe', 'pipe'],
      }),
    );
    expect(endless.code).toBe(2);
    expect((await sandbox.reeve(['submit', '--json'], { env })).code).toBe(2);
    expect((await sandbox.reeve(['submit', 'show', 'none'])).code).toBe(3);
    expect((await sandbox.reeve(['submit', 'ls', 'none'])).code).toBe(3);
    expect(await listed()).toEqual([]);
  });

  it('of the largest size is none: it is accepted, from a file and from standard input', async () => {
    const { env } = await insideRun(sandbox, 'a');
    const data = '€'.repeat((MAX_SUBMISSION_BYTES - 1) / 3);
    write('f', `${data}x`);
    const accepted = await submit(env, 'f');
    expect(accepted.code).toBe(0);
    const piped = await finished(
      sandbox.start(['submit', '--data', '-', '--json'], {
        env: { ...sandbox.env, ...env },
        stdio: [openSync(sandbox.path('f'), 'r'), 'pipe', 'pipe'],
      }),
    );
    expect(JSON.parse(piped.stdout)).toEqual({ accepted: true, again: true, id: accepted.json.id });
    const out = openSync(sandbox.path('out'), 'w');
    const show = ['submit', 'show', String(accepted.json.id)];
    await finished(sandbox.start(show, { stdio: ['ignore', out, 'pipe'] }));
    expect(readFileSync(sandbox.path('out'), 'utf8') === `${data}x`).toBe(true);
  });
});
