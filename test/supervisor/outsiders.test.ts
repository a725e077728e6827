/** Owners that Reeve did not start: somebody typed `claude --resume ID`. */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SessionView } from '../../src/api/session-view.ts';
import { eventsIn, installStandIns } from '../fixtures/stand-in-harness.ts';
import type { StandIns } from '../fixtures/stand-in-harness.ts';
import { eventually, isAlive, isExecuting, see, signalSeen, startedWith } from '../support/processes.ts';
import type { Seen } from '../support/processes.ts';
import { CLI, createSandbox } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

let sandbox: Sandbox;
let standIns: StandIns;
beforeEach(() => {
  sandbox = createSandbox();
  standIns = installStandIns(sandbox, 'claude', 'codex', 'gemini', 'opencode', 'code');
});
afterEach(async () => {
  standIns.endOutsiders();
  await sandbox.cleanUp();
});

interface Failure {
  readonly error: { readonly code: string; readonly message: string; readonly details: unknown };
}

const resume = (nativeId: string, ...flags: readonly string[]) => [
  'run',
  '--detach',
  ...flags,
  '-s',
  'a',
  '--',
  'claude',
  '--resume',
  nativeId,
];
const END_IT = ['--on-live', 'retire', '--unmanaged', '--grace', '0.5'];

function textOf(path: string): string {
  return existsSync(path) ? readFileSync(path, 'utf8') : '';
}

const sessions = () => sandbox.json<SessionView[]>(['ls', '--all']);

describe('a live process of the same conversation', () => {
  it('stands in the way (4), is named with its command and since when, and is left alone', async () => {
    const nativeId = randomUUID();
    const beforeMs = Date.now();
    const outsider = await standIns.outsider('claude', ['--resume', nativeId, '--model', 'opus']);
    const { error } = await sandbox.json<Failure>(resume(nativeId), 4);
    expect(error.code).toBe('unmanaged_owner');
    expect(error.message).toContain(`pid ${outsider.pid} `);
    expect(error.message).toContain(`--resume ${nativeId}`);
    expect(error.details).toEqual({
      nativeId,
      owner: {
        pid: outsider.pid,
        harness: 'claude',
        argv: expect.arrayContaining(['--resume', nativeId, '--model', 'opus']) as unknown,
        cwd: sandbox.root,
        since: expect.any(String) as unknown,
        evidence: 'its command line',
      },
    });
    const { since } = (error.details as { owner: { since: string } }).owner;
    // The time of the boot is known to the second only.
    expect(Math.abs(Date.parse(since) - beforeMs)).toBeLessThan(3_000);
    expect(isAlive(outsider)).toBe(true);
    expect(await sessions()).toEqual([]);
  });

  it.each([
    ['--on-live retire without --unmanaged', ['--on-live', 'retire'], 4, 'unmanaged_owner'],
    ['--force', ['--force'], 4, 'unmanaged_owner'],
    ['--unmanaged without --on-live retire', ['--unmanaged'], 2, 'usage'],
    ['--on-live attach', ['--on-live', 'attach', '--unmanaged'], 2, 'usage'],
  ])('is left alone with %s', async (_, flags, exit, code) => {
    const nativeId = randomUUID();
    const outsider = await standIns.outsider('claude', ['--resume', nativeId]);
    const { error } = await sandbox.json<Failure>(resume(nativeId, ...flags), exit);
    expect(error.code).toBe(code);
    expect(isAlive(outsider)).toBe(true);
  });

  it('is found by Claude’s own list also when its command line names no conversation', async () => {
    const nativeId = randomUUID();
    const outsider = await standIns.outsider('claude', [], {
      env: { STAND_IN_ID: nativeId },
      script: 'registry idle 1',
    });
    const { error } = await sandbox.json<Failure>(resume(nativeId), 4);
    expect(error.details).toMatchObject({
      owner: { pid: outsider.pid, evidence: "Claude's own list of live processes" },
    });
  });

  it('that has moved on to another, as Claude’s own list says, no longer does', async () => {
    const [first, second] = [randomUUID(), randomUUID()];
    await standIns.outsider('claude', ['--resume', first], { script: `become ${second};registry idle 1` });
    expect((await sandbox.json<SessionView>(resume(first))).nativeId).toBe(first);
  });

  it.each(['codex', 'code'] as const)('of %s is found by the lock that it holds open', async (harness) => {
    const nativeId = randomUUID();
    const outsider = await standIns.outsider(harness, [], { env: { STAND_IN_ID: nativeId }, script: '' });
    const { error } = await sandbox.json<Failure>(['run', '-s', 'a', '--', harness, 'resume', nativeId], 4);
    expect(error).toMatchObject({ code: 'unmanaged_owner', details: { owner: { pid: outsider.pid } } });
  });

  it('of opencode is found by its command line', async () => {
    const nativeId = `ses_${randomUUID()}`;
    const outsider = await standIns.outsider('opencode', ['--session', nativeId]);
    const argv = ['run', '-s', 'a', '--', 'opencode', '-s', nativeId];
    expect((await sandbox.json<Failure>(argv, 4)).error.details).toMatchObject({
      owner: { pid: outsider.pid },
    });
  });

  it('of Gemini, a script, is found by its command line', async () => {
    const nativeId = randomUUID();
    const outsider = await standIns.outsider('gemini', ['--resume', nativeId]);
    const argv = ['run', '-s', 'a', '--', 'gemini', '--resume', nativeId];
    expect((await sandbox.json<Failure>(argv, 4)).error.details).toMatchObject({
      owner: { pid: outsider.pid },
    });
  });

  it('stands in the way of a resume by the session’s own name too', async () => {
    const nativeId = randomUUID();
    await sandbox.json(['run', '--detach', '-s', 'a', '--', 'claude', '--session-id', nativeId]);
    await sandbox.json(['kill', 'a']);
    const outsider = await standIns.outsider('claude', ['--resume', nativeId]);
    const { error } = await sandbox.json<Failure>(['resume', '--detach', 'a'], 4);
    expect(error).toMatchObject({ code: 'unmanaged_owner', details: { owner: { pid: outsider.pid } } });
    expect((await sandbox.show('a')).epoch).toBe(1);
  });

  it('that a tool of another session’s run started counts as well', async () => {
    const nativeId = randomUUID();
    const other = ['run', '--detach', '-s', 'other', '--', 'claude', '--session-id', randomUUID()];
    const { run } = await sandbox.json<SessionView>(other);
    await standIns.tell(run.pid, `tool echo $$ > ${sandbox.path('pid')}; exec claude --resume ${nativeId}`);
    const nested = await sandbox.pidFrom('pid');
    await standIns.ready(nested.pid);
    const { error } = await sandbox.json<Failure>(resume(nativeId), 4);
    expect(error).toMatchObject({
      code: 'live_owner',
      details: { session: 'other', owner: { run: run.id } },
    });
    expect(isAlive(nested)).toBe(true);
  });
});

describe('what does not stand in the way', () => {
  it.each([
    ['a process of another conversation', ['--resume', randomUUID()]],
    ['a process of a conversation that nobody knows', []],
    ['a command that serves none', ['mcp', 'serve', '--resume', 'ID']],
  ])('%s, and it is left alone even by whoever may end strangers', async (_, args) => {
    const nativeId = randomUUID();
    const words = args.map((word) => (word === 'ID' ? nativeId : word));
    const other = await standIns.outsider('claude', words, { env: { STAND_IN_ID: randomUUID() } });
    expect((await sandbox.json<SessionView>(resume(nativeId, ...END_IT))).nativeId).toBe(nativeId);
    expect(isAlive(other)).toBe(true);
    expect(eventsIn(sandbox, 'outsider.ended')).toEqual([]);
  });

  it('a process that has exited and was not collected', async () => {
    const nativeId = randomUUID();
    const script = `$| = 1; my $child = fork; exec @ARGV if !$child; print "$child\\n"; sleep 120`;
    const { REEVE_HOME: _home, ...env } = sandbox.env;
    const parent = spawn('perl', ['-e', script, 'claude', '--resume', nativeId], {
      env: { ...env, STAND_IN_SCRIPT: 'exit 0' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    try {
      let output = '';
      parent.stdout.on('data', (chunk) => (output += String(chunk)));
      const pid = Number(await eventually('its pid', () => /^\d+(?=\n)/.exec(output)?.[0]));
      await eventually('a zombie', () => / Z /.test(readFileSync(`/proc/${pid}/stat`, 'latin1')));
      expect((await sandbox.json<SessionView>(resume(nativeId))).nativeId).toBe(nativeId);
    } finally {
      parent.kill('SIGKILL');
    }
  });
});

describe('whoever asks for exactly that', () => {
  it('ends it and its tree, what it left behind with its mark too, and no look-alike', async () => {
    const nativeId = randomUUID();
    const outsider = await standIns.outsider('claude', ['--resume', nativeId]);
    await standIns.tell(outsider.pid, `daemon ${sandbox.path('left')}`);
    await standIns.tell(outsider.pid, `tool echo $$ > ${sandbox.path('tool')}; exec sleep 120`);
    const lookAlike = await standIns.outsider('claude', ['--resume', randomUUID()]);
    await standIns.tell(lookAlike.pid, `daemon ${sandbox.path('alike')}`);
    const [leftBehind, kept, others] = [
      await sandbox.pidFrom('left'),
      await sandbox.pidFrom('tool'),
      await sandbox.pidFrom('alike'),
    ];
    const session = await sandbox.json<SessionView>(resume(nativeId, ...END_IT));
    expect(session).toMatchObject({ name: 'a', epoch: 1, nativeId });
    expect([outsider, leftBehind, kept].map(isAlive)).toEqual([false, false, false]);
    expect([lookAlike, others].map(isAlive)).toEqual([true, true]);
    expect(eventsIn(sandbox, 'outsider.ended')).toEqual([
      {
        kind: 'outsider.ended',
        runId: session.run.id,
        data: expect.objectContaining({ pid: outsider.pid, harness: 'claude', nativeId }) as unknown,
      },
    ]);
  });

  it.each([['text', []] as const, ['json', ['--json']] as const])(
    'is told on stderr whom that ended, one line each, also with an answer in %s',
    async (_, more) => {
      const nativeId = randomUUID();
      const first = await standIns.outsider('claude', ['--resume', nativeId]);
      const second = await standIns.outsider('claude', ['--resume', nativeId, '--model', 'a\u001B[2Jb']);
      const { code, stdout, stderr } = await sandbox.reeve(resume(nativeId, ...END_IT, ...more));
      expect([code, stdout.includes(`pid ${first.pid}`)]).toEqual([0, false]);
      const lines = stderr.split('\n').filter((line) => line.includes('which Reeve did not start'));
      expect(lines).toHaveLength(2);
      for (const { pid } of [first, second]) {
        expect(lines.filter((line) => line.includes(`pid ${pid} (`))).toHaveLength(1);
      }
      for (const line of lines) expect(line).toContain(nativeId);
      expect(stderr).not.toContain('\u001B');
    },
  );

  it('is told so at once, whatever becomes of the start', async () => {
    const nativeId = randomUUID();
    const outsider = await standIns.outsider('claude', ['--resume', nativeId]);
    const killed = await sandbox.reeve(resume(nativeId, ...END_IT), {
      env: { REEVE_CHECKPOINT: 'launch.claimed=kill' },
    });
    expect([isAlive(outsider), killed.signal]).toEqual([false, 'SIGKILL']);
    expect(killed.stderr).toContain(`pid ${outsider.pid} (`);
  });

  it('ends nobody for a start that is refused', async () => {
    const nativeId = randomUUID();
    await sandbox.json(['run', '--detach', '-s', 'a', '--', 'claude', '--session-id', nativeId]);
    await sandbox.json(['kill', 'a']);
    const outsider = await standIns.outsider('claude', ['--resume', nativeId]);
    await sandbox.json(['budget', 'set', 'a', '--max-minutes', '0.000001']);
    const { error } = await sandbox.json<Failure>(['resume', '--detach', 'a', ...END_IT], 8);
    expect([error.code, isAlive(outsider)]).toEqual(['over_budget', true]);
  });

  it('leaves alone what an earlier process of the same pid had marked', async () => {
    const nativeId = randomUUID();
    // The older one is forked first and told the pid of the later one, before it executes with that pid in its mark.
    // Start times have steps of 10 ms, and must differ.
    const script = `
      $| = 1; pipe my $in, my $out;
      my $older = fork;
      if (!$older) { close $out; chomp($ENV{CLAUDE_PID} = <$in>); setpgrp; exec 'sleep', '120'; }
      select undef, undef, undef, 0.05;
      my $later = fork;
      exec @ARGV if !$later;
      print $out "$later\\n"; close $out; print "$older $later\\n"; sleep 120`;
    const { REEVE_HOME: _home, ...env } = sandbox.env;
    const parent = spawn('perl', ['-e', script, 'claude', '--resume', nativeId], {
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let output = '';
    parent.stdout.on('data', (chunk) => (output += String(chunk)));
    const pids = await eventually('their pids', () => /^(\d+) (\d+)\n/.exec(output));
    const [older, later] = [see(Number(pids[1])), see(Number(pids[2]))];
    try {
      await standIns.ready(later.pid);
      await eventually('the mark', () => startedWith(`CLAUDE_PID=${later.pid}`).length > 0);
      await sandbox.json(resume(nativeId, ...END_IT));
      expect([older, later].map(isAlive)).toEqual([true, false]);
    } finally {
      for (const each of [older, later]) signalSeen(each, 'SIGKILL');
      parent.kill('SIGKILL');
    }
  });

  it('ends several of them', async () => {
    const nativeId = randomUUID();
    const all: Seen[] = [];
    for (const _ of [1, 2, 3]) all.push(await standIns.outsider('claude', ['--resume', nativeId]));
    await sandbox.json(resume(nativeId, ...END_IT));
    expect(all.map(isAlive)).toEqual([false, false, false]);
    expect(eventsIn(sandbox, 'outsider.ended')).toHaveLength(3);
  });

  it('ends one that has started itself again as one', async () => {
    const nativeId = randomUUID();
    const outsider = await standIns.outsider('claude', ['--resume', nativeId]);
    const again = `echo $$ > ${sandbox.path('again')}; exec claude --resume ${nativeId}`;
    await standIns.tell(outsider.pid, `tool ${again}`);
    const second = await sandbox.pidFrom('again');
    await standIns.ready(second.pid);
    await sandbox.json(resume(nativeId, ...END_IT));
    expect([outsider, second].map(isAlive)).toEqual([false, false]);
    expect(eventsIn(sandbox, 'outsider.ended').map(({ data }) => data['pid'])).toEqual([outsider.pid]);
  });

  it('lets it save its work, and kills it after the grace when it does not listen', async () => {
    const nativeId = randomUUID();
    const outsider = await standIns.outsider('claude', ['--resume', nativeId], { script: 'deaf' });
    const beganMs = performance.now();
    await sandbox.json(resume(nativeId, ...END_IT));
    expect(performance.now() - beganMs).toBeGreaterThanOrEqual(500);
    expect(isAlive(outsider)).toBe(false);
  });

  it.each([
    ['from a tool of it', 'claude', ''],
    ['from a tool of one that leaves no mark', 'gemini', ''],
    ['from what it left behind, with only its mark', 'claude', ' &'],
  ] as const)('is refused inside of it, %s, and nothing is ended', async (_, harness, background) => {
    const nativeId = randomUUID();
    const outsider = await standIns.outsider(harness, ['--resume', nativeId]);
    const begin = sandbox.path('begin');
    const answer = sandbox.path('answer');
    const script = sandbox.path('inside');
    const words = ['--detach', ...END_IT, '-s', 'a', '--', harness, '--resume', nativeId];
    // In the background it has no parent of the tree any more once the shell that started it is gone.
    writeFileSync(
      script,
      `while [ ! -e ${begin} ]; do sleep 0.01; done
       REEVE_HOME=${sandbox.home} exec ${process.execPath} ${CLI} run --json ${words.join(' ')} > ${answer}`,
    );
    await standIns.tell(outsider.pid, `tool echo $$ > ${sandbox.path('shell')}; sh ${script}${background}`);
    const shell = await eventually('its shell', () => Number(textOf(sandbox.path('shell'))));
    if (background !== '') await eventually('the shell is gone', () => !isExecuting(shell));
    writeFileSync(begin, '');
    const told = await eventually('its answer', () => /^[^]*\}\n$/.exec(textOf(answer))?.[0]);
    expect(JSON.parse(told)).toMatchObject({
      error: { code: 'inside_own_run', details: { pid: outsider.pid, nativeId } },
    });
    expect(isAlive(outsider)).toBe(true);
    expect(await sessions()).toEqual([]);
  });

  describe('of one that cannot be killed', { tags: ['freezer'] }, () => {
    // Frozen by the old freezer a process does not die of SIGKILL until it is thawed: the unkillable, staged.
    const freezer = join('/sys/fs/cgroup/freezer', `reeve-test-outsider-${process.pid}`);
    beforeEach(() => mkdirSync(freezer));
    afterEach(async () => {
      writeFileSync(join(freezer, 'freezer.state'), 'THAWED');
      standIns.endOutsiders();
      await eventually(
        'the freezer is empty',
        () => readFileSync(join(freezer, 'cgroup.procs'), 'utf8') === '',
      );
      rmdirSync(freezer);
    });

    it('is told so (7), by its pid, and starts nothing', async () => {
      const nativeId = randomUUID();
      const outsider = await standIns.outsider('claude', ['--resume', nativeId]);
      writeFileSync(join(freezer, 'cgroup.procs'), String(outsider.pid));
      writeFileSync(join(freezer, 'freezer.state'), 'FROZEN');
      const { error } = await sandbox.json<Failure>(resume(nativeId, ...END_IT), 7);
      expect(error.code).toBe('survivors');
      expect(error.message).toContain(`(pid ${outsider.pid})`);
      expect(await sessions()).toEqual([]);
    });
  });
});
