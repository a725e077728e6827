/** What a run left in its spool is taken in once, before its end, whoever is killed at whichever step. */
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { RequestListener } from 'node:http';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RunView, SessionView } from '../../src/api/session-view.ts';
import type { SubmissionsView } from '../../src/api/submission-view.ts';
import { MAX_ACCEPTED_A_RUN } from '../../src/lifecycle/submission.ts';
import { homeAt } from '../../src/supervisor/home.ts';
import { leaveWrite } from '../../src/supervisor/leave-write.ts';
import { MAX_WRITE_BYTES } from '../../src/supervisor/spooled-write.ts';
import { eventsIn } from '../fixtures/stand-in-harness.ts';
import { eventually, isAlive, see, signalSeen } from '../support/processes.ts';
import { reviewingIn } from '../support/reviewer.ts';
import { createSandbox, finished } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

let sandbox: Sandbox;
beforeEach(() => {
  sandbox = createSandbox();
  writeFileSync(sandbox.path('finding'), 'found');
});
afterEach(() => sandbox.cleanUp());

interface Insider {
  readonly run: RunView;
  /** What is in the environment of everything inside the run, whose store has a password. */
  readonly env: Record<string, string>;
  readonly spool: string;
  /** Lets its command exit with 0. */
  finish(): void;
}

async function insider(env: Record<string, string> = {}, ...flags: readonly string[]): Promise<Insider> {
  const script = `printf "%s\\n" "$REEVE_TOKEN" >token.new; mv token.new "$REEVE_RUN"
    while [ ! -e "$REEVE_RUN.over" ]; do sleep 0.05; done`;
  const words = ['run', '--json', '-d', '-s', 'a', ...flags, '--', 'sh', '-c', script];
  const { run } = JSON.parse((await sandbox.reeve(words, { env })).stdout) as SessionView;
  const file = sandbox.path(run.id);
  await eventually('its token is told', () => existsSync(file));
  const token = readFileSync(file, 'utf8').trim();
  return {
    run,
    env: { REEVE_STORE: 'withheld', REEVE_RUN: run.id, REEVE_TOKEN: token },
    spool: join(sandbox.home, 'runs', run.id, 'hooks'),
    finish: () => writeFileSync(`${file}.over`, ''),
  };
}

const SUBMIT = ['submit', '--data', 'finding', '--json'];

async function leave({ env }: Insider, words: readonly string[] = SUBMIT): Promise<void> {
  const { code, stdout } = await sandbox.reeve(words, { env });
  expect({ code, ...(JSON.parse(stdout) as object) }).toMatchObject({ code: 0, queued: true });
}

const left = (spool: string) =>
  existsSync(spool) ? readdirSync(spool).filter((name) => name.startsWith('.write-')) : [];
const late = () => left(join(sandbox.home, 'late-hooks'));
const submissions = async () => (await sandbox.json<SubmissionsView>(['submit', 'ls'])).submissions;
const kinds = () => eventsIn(sandbox).map(({ kind }) => kind);

/** Accepted once, and nothing of it is left or told otherwise. */
async function expectAcceptedOnce({ spool, run }: Insider): Promise<void> {
  expect(await submissions()).toMatchObject([{ accepted: true, run: run.id, bytes: 5 }]);
  expect(kinds().filter((kind) => kind === 'submission.accepted')).toHaveLength(1);
  expect(kinds()).not.toContain('write.fenced');
  expect(kinds()).not.toContain('write.refused');
  expect([...left(spool), ...late()]).toEqual([]);
}

/** Held at the checkpoint until it is let go. */
function held(point: string, words: readonly string[]) {
  const gate = sandbox.path(`gate-${point}`);
  const child = sandbox.start(words, {
    env: { ...sandbox.env, REEVE_CHECKPOINT: `${point}=wait:${gate}` },
  });
  const done = finished(child);
  return {
    reached: () => eventually(`${point} is reached`, () => existsSync(`${gate}.reached`)),
    letGo: () => {
      writeFileSync(gate, '');
      return done;
    },
  };
}

const ended = (outcome: string) =>
  eventually('the run is over', async () => (await sandbox.show('a')).run.outcome === outcome, 20_000);

describe('what a run left', () => {
  it('is taken in by the next look, once', async () => {
    const inside = await insider();
    await leave(inside);
    await leave(inside);
    expect(left(inside.spool)).toHaveLength(1);
    await sandbox.list();
    await sandbox.list();
    await expectAcceptedOnce(inside);
  });

  it.each(['writes.read', 'submit.begun', 'submit.recorded', 'writes.taken'])(
    'is taken in once when a reader is killed at %s',
    async (point) => {
      const inside = await insider();
      await leave(inside);
      const killed = await sandbox.reeve(['ls'], { env: { REEVE_CHECKPOINT: `${point}=kill` } });
      expect(killed.signal).toBe('SIGKILL');
      expect(left(inside.spool)).toHaveLength(1);
      await sandbox.list();
      await expectAcceptedOnce(inside);
    },
  );

  it.each([
    'finalise.swept',
    'writes.closed',
    'writes.read',
    'submit.recorded',
    'writes.taken',
    'finalise.ended',
  ])('is the run’s own when whoever ends it is killed at %s', async (point) => {
    const inside = await insider({ REEVE_CHECKPOINT: `${point}=kill` });
    const keeper = see(inside.run.keeperPid ?? 0);
    await leave(inside);
    inside.finish();
    await eventually('its keeper is killed', () => !isAlive(keeper));
    await ended('completed');
    await expectAcceptedOnce(inside);
  });

  it.each([
    ['submission', SUBMIT],
    ['heartbeat', ['heartbeat', '--json']],
    ['usage', ['usage', 'add', '--model', 'm', '--input', '3', '--json']],
  ])('(%s) is taken in by the one who ends it, and a slower reader changes nothing', async (_, words) => {
    const inside = await insider();
    await leave(inside, words);
    const reader = held('writes.read', ['ls']);
    await reader.reached();
    inside.finish();
    await eventually('it is over', () => kinds().includes('run.ended'));
    const before = [kinds(), await sandbox.json(['usage', 'a']), await submissions()];
    expect((await reader.letGo()).code).toBe(0);
    expect([kinds(), await sandbox.json(['usage', 'a']), await submissions()]).toEqual(before);
    expect(kinds()).not.toContain('write.fenced');
  });

  it('counts also when its writer is held up, and when it comes after the spool was closed', async () => {
    const before = await insider();
    const gate = sandbox.path('held-up');
    // Not a part of the run's tree, which would be ended with it.
    process.env['REEVE_CHECKPOINT'] = `writes.left=wait:${gate}`;
    const written = leaveWrite(homeAt(sandbox.home), {
      run: before.run.id,
      token: before.env['REEVE_TOKEN'] ?? '',
      what: { write: 'submission', data: 'found', key: 'k' },
    }).finally(() => delete process.env['REEVE_CHECKPOINT']);
    await eventually('it is left', () => existsSync(`${gate}.reached`));
    before.finish();
    await eventually('it is over', () => kinds().includes('run.ended'));
    writeFileSync(gate, '');
    expect(await written).toBe(true);
    await expectAcceptedOnce(before);
    await sandbox.json(['rm', 'a']);

    const closing = sandbox.path('closing');
    const after = await insider({ REEVE_CHECKPOINT: `writes.closed=wait:${closing}` });
    after.finish();
    await eventually('its spool is closed', () => existsSync(`${closing}.reached`));
    await leave(after);
    expect([left(after.spool), late().length]).toEqual([[], 1]);
    writeFileSync(closing, '');
    await eventually('it is over', () => kinds().includes('run.ended'));
    expect(await submissions()).toMatchObject([{ accepted: true, run: after.run.id }]);
    expect(late()).toEqual([]);
  });
});

it('what a run spent is taken in by its own keeper, and held against its budget', async () => {
  const inside = await insider({}, '--max-tokens', '100');
  await leave(inside, ['usage', 'add', '--model', 'm', '--input', '200', '--json']);
  signalSeen(see(inside.run.keeperPid ?? 0), 'SIGUSR1');
  // Read from the file itself: any command would take it in.
  const outcomes = () => eventsIn(sandbox, 'run.ended').map(({ data }) => data['outcome']);
  await eventually('it is ended', () => outcomes().length > 0, 60_000);
  expect(outcomes()).toEqual(['over_budget']);
});

it('what a run left is its own also when a person declares it gone', async () => {
  const inside = await insider();
  inside.finish();
  await ended('completed');
  const database = new DatabaseSync(join(sandbox.home, 'reeve.db'));
  database.exec(
    `update runs set state = 'running', ending = null, outcome = null, ended_at = null,
     keeper = replace(replace(keeper, '"boot":"', '"boot":"other-'), '"host":"', '"host":"other-')`,
  );
  database.close();
  rmSync(join(inside.spool, '.closed'));
  await leave(inside);
  await sandbox.json(['kill', '--assume-gone', 'a']);
  await expectAcceptedOnce(inside);
});

describe('what comes after the end', () => {
  it.each(['exits', 'is lost'] as const)('of a run that %s is kept aside, once', async (how) => {
    const inside = await insider();
    if (how === 'exits') inside.finish();
    else signalSeen(see(inside.run.keeperPid ?? 0), 'SIGKILL');
    await ended(how === 'exits' ? 'completed' : 'lost');
    await leave(inside);
    expect([left(inside.spool), late().length]).toEqual([[], 1]);
    const killed = await sandbox.reeve(['ls'], { env: { REEVE_CHECKPOINT: 'writes.taken=kill' } });
    expect(killed.signal).toBe('SIGKILL');
    await sandbox.list();
    expect(await submissions()).toMatchObject([{ accepted: false, run: inside.run.id }]);
    expect(kinds().filter((kind) => kind === 'write.fenced')).toHaveLength(1);
    expect(late()).toEqual([]);
  });
});

describe('what cannot be accepted', () => {
  it('for another reason than being late is told once, and its text stays', async () => {
    const inside = await insider();
    await leave(inside, [...SUBMIT, '--key', 'k']);
    await sandbox.list();
    writeFileSync(sandbox.path('finding'), 'other');
    await leave(inside, [...SUBMIT, '--key', 'k']);
    const killed = await sandbox.reeve(['ls'], { env: { REEVE_CHECKPOINT: 'writes.refused=kill' } });
    expect(killed.signal).toBe('SIGKILL');
    await sandbox.list();
    expect(kinds().filter((kind) => kind === 'write.refused')).toHaveLength(1);
    expect(await submissions()).toHaveLength(1);
    expect(left(inside.spool)).toEqual([]);
    const kept = readdirSync(inside.spool).filter((name) => name.startsWith('.refused-'));
    expect(kept.map((name) => readFileSync(join(inside.spool, name), 'utf8')).join()).toContain('other');
    inside.finish();
    await ended('completed');
  });

  it('because a stranger left it changes nothing and is not kept', async () => {
    const inside = await insider();
    await leave({ ...inside, env: { ...inside.env, REEVE_TOKEN: 'made-up' } });
    await sandbox.list();
    expect(await submissions()).toEqual([]);
    expect(kinds()).toContain('write.fenced');
    expect(left(inside.spool)).toEqual([]);
  });

  it('because it is nothing that Reeve wrote keeps nobody from looking, nor the run from ending', async () => {
    const inside = await insider();
    const path = (name: string) => join(inside.spool, `.write-${name}`);
    writeFileSync(path('garbage'), '{"run":');
    writeFileSync(path('empty'), '');
    writeFileSync(path('huge'), Buffer.alloc(MAX_WRITE_BYTES + 1, 32));
    writeFileSync(
      path('another'),
      JSON.stringify({ run: 'r-other', token: 't', what: { write: 'heartbeat' } }),
    );
    writeFileSync(
      path('numbers'),
      JSON.stringify({ run: inside.run.id, token: 't', what: { write: 'submission', data: 1, key: 2 } }),
    );
    symlinkSync('/nowhere', path('link'));
    mkdirSync(path('directory'));
    execFileSync('mkfifo', [path('pipe')]);
    await leave(inside);
    await sandbox.list();
    await expect(submissions()).resolves.toMatchObject([{ accepted: true }]);
    inside.finish();
    await ended('completed');
    expect(left(inside.spool)).toEqual([]);
    const refused = readdirSync(inside.spool).filter((name) => name.startsWith('.refused-'));
    expect(refused.map((name) => name.slice('.refused-'.length)).toSorted()).toEqual([
      'another',
      'directory',
      'empty',
      'garbage',
      'huge',
      'link',
      'numbers',
      'pipe',
    ]);
  });

  it('because its spool cannot be read holds the end until it can', async () => {
    const inside = await insider();
    await leave(inside);
    const aside = `${inside.spool}.aside`;
    renameSync(inside.spool, aside);
    writeFileSync(inside.spool, '');
    const keeper = see(inside.run.keeperPid ?? 0);
    inside.finish();
    await eventually('its keeper is gone', () => !isAlive(keeper));
    const unknown = await sandbox.show('a');
    expect([unknown.status, unknown.run.state]).toEqual(['unknown', 'running']);
    expect(unknown.doubt).toContain('ENOTDIR');
    renameSync(inside.spool, `${inside.spool}.file`);
    renameSync(aside, inside.spool);
    await ended('completed');
    await expectAcceptedOnce(inside);
  });

  it('because there is too much of it is refused by the one who leaves it', async () => {
    const { run, spool } = await insider();
    const heartbeat = { write: 'heartbeat' } as const;
    for (let number = 0; number < MAX_ACCEPTED_A_RUN; number += 1)
      writeFileSync(join(spool, `.write-${number}`), '');
    const home = homeAt(sandbox.home);
    await expect(leaveWrite(home, { run: run.id, token: 't', what: heartbeat })).rejects.toMatchObject({
      code: 'too_large',
    });
    await expect(leaveWrite(home, { run: 'r-none', token: 't', what: heartbeat })).resolves.toBe(false);
  });
});

describe('a daemon that', () => {
  const daemonThat = async (answers: RequestListener) => {
    mkdirSync(join(sandbox.home, 'daemon'), { recursive: true });
    const server = createServer(answers);
    await new Promise<void>((resolve) => {
      server.listen(join(sandbox.home, 'daemon', 'socket'), resolve);
    });
    return () => new Promise((resolve) => server.close(resolve));
  };

  const failing = (code: string, details: object) => (): RequestListener => (_, response) => {
    response.writeHead(409, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ error: { code, message: 'No.', details } }));
  };

  it.each([
    ['is cut off', (): RequestListener => (request) => request.socket.destroy()],
    ['has no store', failing('store_unavailable', {})],
    ['is of another store', failing('fenced', { current: null })],
  ])('%s leaves the write to the spool', async (_, answers) => {
    const inside = await insider();
    const close = await daemonThat(answers());
    await leave(inside);
    await close();
    await sandbox.list();
    await expectAcceptedOnce(inside);
  });

  it('refuses is believed', async () => {
    const inside = await insider();
    const close = await daemonThat(failing('fenced', { current: 'r-next' })());
    const { code } = await sandbox.reeve(SUBMIT, { env: inside.env });
    await close();
    expect([code, left(inside.spool)]).toEqual([5, []]);
  });
});

it('a reviewer’s verdict that was left is on record when its run ends', async () => {
  await sandbox.json(['run', '-d', '-s', 'w', '--', 'sleep', '60']);
  const reviews = reviewingIn(sandbox);
  const { reviewer, pullRequests } = await reviews.trigger({ '1': 'aaaa1' });
  const { token } = await reviews.reviewer(reviewer?.run);
  const id = pullRequests[0]?.review.id ?? '';
  const env = { REEVE_STORE: 'withheld', REEVE_RUN: reviewer?.run ?? '', REEVE_TOKEN: token };
  const words = ['review', 'submit', '--run', id, '--verdict', 'approve', '--body', 'finding', '--json'];
  const { code, stdout } = await sandbox.reeve(words, { env });
  expect({ code, ...(JSON.parse(stdout) as object) }).toEqual({
    code: 0,
    accepted: false,
    queued: true,
    review: id,
    verdict: 'approve',
  });
  reviews.exit(reviewer?.run ?? '', 0);
  await eventually('it is on record', async () => (await reviews.show(id)).status !== 'running', 20_000);
  expect(await reviews.show(id)).toMatchObject({ verdict: 'approve', body: 'found', late: null });
});
