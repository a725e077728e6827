/** The command line as a new user meets it: shapes, exit codes, bad input. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SessionView } from '../../src/api/session-view.ts';
import { bestContainment } from '../../src/process/containment.ts';
import { AS_ROOT } from '../support/as-root.ts';
import { endOnRecord } from '../support/on-record.ts';
import { eventually, isAlive, see } from '../support/processes.ts';
import { CLI, createSandbox, finished } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

let sandbox: Sandbox;
beforeEach(() => {
  sandbox = createSandbox();
});
afterEach(() => sandbox.cleanUp());

interface Failure {
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly details: Record<string, unknown>;
  };
}

describe('what cannot be meant', () => {
  it('as the containment is refused before anything is done, with what can be', async () => {
    const before = await sandbox.json<SessionView>(['run', '--detach', '-s', 'a', '--', 'sleep', '60']);
    sandbox.env['REEVE_CONTAINMENT'] = 'zzz';
    for (const more of [[], ['--force']]) {
      const words = ['run', '--detach', '-s', 'a', ...more, '--', 'sleep', '61'];
      const { error } = await sandbox.json<Failure>(words, 2);
      expect(error).toMatchObject({ code: 'usage', message: expect.stringContaining('REEVE_CONTAINMENT') });
      expect(error.message).toMatch(/cgroup, subreaper .*marks/);
    }
    // Whoever only looks is not kept from it.
    expect((await sandbox.show('a')).run.id).toBe(before.run.id);
    sandbox.env['REEVE_CONTAINMENT'] = '';
    expect((await sandbox.json<SessionView>(['run', '--detach', '--', 'sleep', '60'])).status).toBe(
      'working',
    );
  });
});

describe('a list of live sessions where all have ended', () => {
  it('says that none is live, and where the others are', async () => {
    expect((await sandbox.reeve(['run', '--', 'true'])).code).toBe(0);
    const { stdout } = await sandbox.reeve(['ls', '--live']);
    expect(stdout).not.toContain('No sessions yet');
    expect(stdout).toMatch(/live.*reeve ls --all/);
  });
});

describe('shapes', () => {
  it('ls --json of nothing is an empty array', async () => {
    expect(await sandbox.json(['ls'])).toEqual([]);
  });

  it('a session as JSON has the documented fields, live and ended', async () => {
    const started = await sandbox.json<SessionView>(['run', '--detach', '-s', 'a', '--', 'sleep', '60']);
    const [live] = await sandbox.list();
    expect(live).toEqual({
      name: 'a',
      id: started.id,
      harness: 'command',
      cwd: sandbox.root,
      argv: ['sleep', '60'],
      nativeId: null,
      status: 'working',
      activity: null,
      epoch: 1,
      run: {
        id: started.run.id,
        epoch: 1,
        state: 'running',
        mode: 'detached',
        outcome: null,
        actor: expect.any(String),
        pid: started.run.pid,
        keeperPid: started.run.keeperPid,
        host: started.run.host,
        startedAt: started.run.startedAt,
        endedAt: null,
        exitCode: null,
        signal: null,
        proof: null,
        reason: null,
        liveness: 'alive',
        // Root's in CI is a cgroup; an ordinary user may have none.
        containment: AS_ROOT ? 'cgroup' : bestContainment(),
        parent: null,
        owner: null,
        onParentEnd: null,
        logPath: join(sandbox.home, 'runs', started.run.id, 'output.log'),
      },
    });
    await sandbox.json(['stop', 'a']);
    const [ended] = await sandbox.list();
    expect(ended).toEqual({
      ...live,
      status: 'stopped',
      run: {
        ...live?.run,
        state: 'ended',
        outcome: 'stopped',
        endedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
        signal: 'SIGTERM',
        proof: 'kernel',
        reason: expect.any(String),
        liveness: 'dead',
      },
    });
  });

  it.each([
    ['exit 0', 'done', 'completed'],
    ['exit 1', 'failed', 'failed'],
  ])('a command that does `%s` is %s', async (script, status, outcome) => {
    await sandbox.reeve(['run', '-s', 'a', '--', 'sh', '-c', script]);
    const session = await sandbox.show('a');
    expect({ status: session.status, outcome: session.run.outcome }).toEqual({ status, outcome });
  });

  it('every verb with --json prints exactly one JSON value on stdout', async () => {
    await sandbox.json(['run', '--detach', '-s', 'a', '--', 'echo', 'hello']);
    await endOnRecord(sandbox, 'a');
    for (const args of [
      ['ls'],
      ['show', 'a'],
      ['why', 'a'],
      ['logs', 'a'],
      ['paths'],
      ['doctor'],
      ['completion', 'bash'],
      ['resume', '--detach', 'a', '--', 'sleep', '60'],
      ['attach', 'a'],
      ['stop', 'a'],
      ['kill', 'a'],
      ['rm', 'a'],
    ]) {
      const [verb = '', ...rest] = args;
      const { code, stdout } = await sandbox.reeve([verb, '--json', ...rest]);
      expect({ verb, code }).toEqual({ verb, code: 0 });
      expect(() => JSON.parse(stdout)).not.toThrow();
    }
  });

  it('without a terminal there are no colours', async () => {
    await sandbox.reeve(['run', '-s', 'a', '--', 'true']);
    for (const args of [
      ['ls'],
      ['show', 'a'],
      ['why', 'a'],
      ['doctor'],
      ['run', '-s', 'a', '--', 'no-such'],
    ]) {
      const { stdout, stderr } = await sandbox.reeve(args);
      expect(stdout + stderr).not.toContain('\u001B');
    }
  });
});

describe('sessions', () => {
  it('without a name get a readable one that is new', async () => {
    mkdirSync(sandbox.path('my project'));
    const names: string[] = [];
    for (let count = 0; count < 3; count += 1) {
      const { name } = await sandbox.json<SessionView>([
        'run',
        '--detach',
        '--cwd',
        'my project',
        '--',
        'sleep',
        '60',
      ]);
      names.push(name);
    }
    expect(names).toEqual(['my-project-sleep', 'my-project-sleep-2', 'my-project-sleep-3']);
  });

  it('without a name, started all at once, get names that are all different', async () => {
    const starts = Array.from({ length: 25 }, () =>
      sandbox.reeve(['run', '--detach', '--json', '--', 'true']),
    );
    const names = (await Promise.all(starts)).map(({ stdout }) => (JSON.parse(stdout) as SessionView).name);
    expect(new Set(names).size).toBe(25);
  });

  it('resume with their own command and directory, as the next epoch', async () => {
    mkdirSync(sandbox.path('place'));
    await sandbox.reeve(['run', '-s', 'a', '--cwd', 'place', '--', 'sh', '-c', 'pwd >> ../places']);
    const resumed = await sandbox.reeve(['resume', 'a']);
    expect(resumed.code).toBe(0);
    expect(readFileSync(sandbox.path('places'), 'utf8')).toBe(`${sandbox.path('place')}\n`.repeat(2));
    expect((await sandbox.show('a')).epoch).toBe(2);
  });

  it('that are unknown cannot be resumed, shown, stopped, told or removed: exit 3', async () => {
    for (const verb of ['resume', 'show', 'why', 'logs', 'attach', 'stop', 'kill', 'rm']) {
      const { code } = await sandbox.reeve([verb, 'nobody']);
      expect({ verb, code }).toEqual({ verb, code: 3 });
    }
  });

  it('are found by id, by run id and by a unique beginning; an ambiguous one lists the candidates', async () => {
    await sandbox.reeve(['run', '-s', 'a', '--', 'true']);
    await sandbox.reeve(['run', '-s', 'b', '--', 'true']);
    const { id, run } = await sandbox.show('a');
    for (const reference of [id, run.id, id.slice(0, 10), run.id.slice(0, 10)]) {
      expect((await sandbox.show(reference)).name).toBe('a');
    }
    const { error } = await sandbox.json<Failure>(['show', 's-'], 2);
    expect(error.code).toBe('ambiguous');
    expect(error.details['candidates']).toMatchObject([{ name: 'a' }, { name: 'b' }]);
  });

  it('are removed with their logs once ended, and not before', async () => {
    const { run } = await sandbox.json<SessionView>(['run', '--detach', '-s', 'a', '--', 'sleep', '60']);
    expect((await sandbox.json<Failure>(['rm', 'a'], 4)).error.code).toBe('live_owner');
    expect(isAlive(see(run.pid ?? 0))).toBe(true);
    await sandbox.json(['stop', 'a']);
    expect(await sandbox.json(['rm', 'a'])).toEqual({ removed: ['a'] });
    expect(await sandbox.list()).toEqual([]);
    expect(() => readFileSync(run.logPath ?? '')).toThrow(/ENOENT/);
  });

  it('list the live ones and the latest fifty that ended; --all lists all', async () => {
    for (let count = 0; count < 4; count += 1) {
      const names = Array.from({ length: 13 }, (_, index) => `s${count}-${index}`);
      await Promise.all(names.map((name) => sandbox.reeve(['run', '--detach', '-s', name, '--', 'true'])));
    }
    await eventually(
      'all have ended',
      async () => (await sandbox.json<SessionView[]>(['ls', '--live'])).length === 0,
    );
    expect(await sandbox.list()).toHaveLength(50);
    expect(await sandbox.json(['ls', '--all'])).toHaveLength(52);
  });
});

describe('logs', () => {
  it('has what a detached run wrote, whole or the last lines', async () => {
    await sandbox.reeve([
      'run',
      '--detach',
      '-s',
      'a',
      '--',
      'sh',
      '-c',
      'echo one; echo two >&2; printf three',
    ]);
    await endOnRecord(sandbox, 'a');
    expect((await sandbox.reeve(['logs', 'a'])).stdout).toBe('one\ntwo\nthree');
    expect((await sandbox.reeve(['logs', '-n', '2', 'a'])).stdout).toBe('two\nthree');
    expect((await sandbox.reeve(['logs', '-n', '0', 'a'])).stdout).toBe('');
    expect((await sandbox.reeve(['logs', '-n', '99', 'a'])).stdout).toBe('one\ntwo\nthree');
  });

  it('followed goes on until the run ends, and misses nothing', async () => {
    const script = 'for i in 1 2 3 4 5 6 7 8 9; do echo $i; sleep 0.05; done';
    await sandbox.reeve(['run', '--detach', '-s', 'a', '--', 'sh', '-c', script]);
    expect((await sandbox.reeve(['logs', '-f', 'a'])).stdout).toBe('1\n2\n3\n4\n5\n6\n7\n8\n9\n');
  });

  it('of a foreground run says that there is none', async () => {
    await sandbox.reeve(['run', '-s', 'a', '--', 'true']);
    expect((await sandbox.json<Failure>(['logs', 'a'], 1)).error.code).toBe('no_log');
  });

  it('attached and left with Ctrl-C lets the run go on', async () => {
    const { run } = await sandbox.json<SessionView>([
      'run',
      '--detach',
      '-s',
      'a',
      '--',
      'sh',
      '-c',
      'echo hi; exec sleep 60',
    ]);
    const attached = sandbox.start(['attach', 'a']);
    const done = finished(attached);
    await new Promise((resolve) => attached.stdout?.once('data', resolve));
    attached.kill('SIGINT');
    expect((await done).code).toBe(0);
    expect(isAlive(see(run.pid ?? 0))).toBe(true);
  });
});

describe('bad input', () => {
  it.each([
    ['a/b', 'slashes'],
    ['../up', 'a way up'],
    ['bell\u0007', 'control characters'],
    ['x'.repeat(300), '300 characters'],
    ['', 'nothing'],
    ['two words', 'a space'],
  ])('a name of %j (%s) is refused, and nothing is started', async (name) => {
    const result = await sandbox.reeve(['run', `--session=${name}`, '--', 'touch', 'started']);
    expect(result.code).toBe(2);
    expect(result.stderr.split('\n').filter(Boolean).length).toBeLessThanOrEqual(2);
    expect(result.stderr).not.toContain('\u0007');
    expect(await sandbox.list()).toEqual([]);
  });

  it.each([
    [['run', '-s', '-dash', '--', 'true'], 'a name with a leading dash'],
    [['run', '--session=-dash', '--', 'true'], 'a name with a leading dash, joined'],
    [['run'], 'no command'],
    [['run', '--'], 'nothing behind --'],
    [['run', '--no-such-flag', '--', 'true'], 'an unknown flag'],
    [['run', '--on-live', 'explode', '--', 'true'], 'an unknown choice'],
    [['run', '--grace', 'soon', '--', 'true'], 'a grace that is no number'],
    [['run', '--grace', '-1', '--', 'true'], 'a negative grace'],
    [['run', '--cwd', 'no/such/place', '--', 'true'], 'a directory that is not there'],
    [['fly'], 'an unknown verb'],
    [['show'], 'no session'],
    [['ls', '--all', '--live'], 'flags that exclude each other'],
    [['logs', '-n', 'few', 'a'], 'a count that is no number'],
    [['completion', 'tcsh'], 'an unknown shell'],
    [['run', '--unmanaged', '--', 'true'], 'a stranger to be ended without a takeover'],
  ])('%j (%s) gives one sentence and exit code 2', async (args) => {
    const result = await sandbox.reeve(args);
    expect(result.code).toBe(2);
    expect(result.stdout).toBe('');
    expect(result.stderr).toMatch(/^reeve: [A-Z"`/-].*[.?]\n/);
    expect(result.stderr.trim().split('\n').length).toBeLessThanOrEqual(2);
  });

  it('a call from a directory that is gone gives one sentence', async () => {
    mkdirSync(sandbox.path('gone'));
    const script = `rmdir ../gone; exec ${process.execPath} ${CLI} run -- true`;
    const result = spawnSync('sh', ['-c', script], {
      cwd: sandbox.path('gone'),
      env: sandbox.env,
      encoding: 'utf8',
    });
    expect(result.status).toBe(2);
    expect(result.stderr).toMatch(/^reeve: The directory/);
  });

  it('as JSON is an error with a stable code', async () => {
    const result = await sandbox.reeve(['run', '--json', '--no-such-flag', '--', 'true']);
    expect(result.code).toBe(2);
    expect(JSON.parse(result.stdout)).toMatchObject({
      error: { code: 'usage', message: expect.any(String), details: {} },
    });
  });

  it('flags behind the command are the command’s own', async () => {
    const result = await sandbox.reeve(['run', '-s', 'a', 'echo', '--json', '-s', 'b']);
    expect(result).toMatchObject({ code: 0, stdout: '--json -s b\n' });
  });
});

it('why tells who started it, who took over, what ended it and on what evidence', async () => {
  const { run: first } = await sandbox.json<SessionView>(['run', '--detach', '-s', 'a', '--', 'sleep', '60']);
  const { run: second } = await sandbox.json<SessionView>([
    'run',
    '--detach',
    '--force',
    '-s',
    'a',
    '--',
    'sleep',
    '61',
  ]);
  await sandbox.json(['kill', 'a']);
  const { sentences } = await sandbox.json<{ sentences: { run: string; text: string }[] }>(['why', 'a']);
  const told = sentences.map(({ text }) => text).join('\n');
  for (const word of [
    first.id,
    second.id,
    'superseded',
    'stopped',
    String(first.pid),
    String(second.pid),
    'sleep 60',
  ]) {
    expect(told).toContain(word);
  }
});

it('show says how long ago a session ended, and for how long one has lived', async () => {
  await sandbox.reeve(['run', '-s', 'a', '--', 'true']);
  expect((await sandbox.reeve(['show', 'a'])).stdout).toMatch(/status +. done \d+\w+ ago\n/);
  await sandbox.reeve(['run', '-d', '-s', 'b', '--', 'sleep', '60']);
  expect((await sandbox.reeve(['show', 'b'])).stdout).toMatch(/status +. working for \d+\w+/);
});

it('doctor names the containment and is content here', async () => {
  const checks = await sandbox.json<{ name: string; is: string }[]>(['doctor']);
  // Which harnesses there are is this machine's affair.
  const own = checks.filter(({ name }) => name !== 'harnesses' && name !== 'hooks');
  expect(own.map(({ name, is }) => `${name} ${is}`)).toEqual([
    'node good',
    'keeper good',
    'containment good',
    'tmux good',
    'git good',
    'config good',
    'store good',
    'processes good',
    'runs good',
    'daemon good',
  ]);
});

it('doctor passes over a directory of PATH in which nothing can be looked at', async () => {
  symlinkSync('loop', sandbox.path('loop'));
  const env = { PATH: `${sandbox.path('loop')}:${sandbox.env['PATH']}` };
  const { stdout } = await sandbox.reeve(['doctor', '--json'], { env });
  const checks = JSON.parse(stdout) as { name: string }[];
  expect(checks.filter(({ name }) => name === 'shims')).toEqual([]);
});

it('the demo holds, in under thirty seconds', async () => {
  const before = Date.now();
  const { held, steps } = await sandbox.json<{ held: boolean; steps: { checks: unknown[] }[] }>(['demo']);
  expect({ held, steps: steps.length }).toEqual({ held: true, steps: 6 });
  expect(Date.now() - before).toBeLessThan(30_000);
});
