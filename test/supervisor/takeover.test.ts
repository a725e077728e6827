/** Takeover and stop: the old tree proven gone before anything new begins, whoever dies in the middle. */
import { existsSync, mkdirSync, readFileSync, rmdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SessionView } from '../../src/api/session-view.ts';
import { mayRunForeign } from '../../src/process/elf.ts';
import { elf, FOREIGN } from '../support/elf.ts';
import { launchIn, MISBEHAVE } from '../support/launch.ts';
import { intentOnRecord } from '../support/on-record.ts';
import { eventually, isAlive, isExecuting, signalSeen, startedWith } from '../support/processes.ts';
import { CLI, createSandbox, finished } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

let sandbox: Sandbox;
beforeEach(() => {
  sandbox = createSandbox();
});
afterEach(() => sandbox.cleanUp());

const launch = (name: string, ...command: string[]) => launchIn(sandbox, name, ...command);

const TAKE_OVER = [
  'run',
  '--detach',
  '--on-live',
  'retire',
  '--grace',
  '0.3',
  '-s',
  'a',
  '--',
  'sleep',
  '60',
];

describe.each(['cgroup', 'subreaper'])('a takeover (%s)', (containment) => {
  it.each(['sleeper', 'deaf', 'nohup', 'escaped', 'wiped', 'stopped', 'grouped', 'family'])(
    'ends a tree with a %s member before the new run begins',
    async (kind) => {
      sandbox.env['REEVE_CONTAINMENT'] = containment;
      const { harness, keeper } = await launch('a', 'perl', MISBEHAVE, kind, 'tag', 'hidden');
      const hidden = await sandbox.pidFrom('hidden');
      const taken = await sandbox.json<SessionView>(TAKE_OVER);
      expect([harness, hidden, keeper].map(isAlive)).toEqual([false, false, false]);
      expect({ epoch: taken.epoch, status: taken.status }).toEqual({ epoch: 2, status: 'working' });
      expect((await sandbox.show('a')).runs.map(({ outcome }) => outcome)).toEqual(['superseded', null]);
    },
  );

  it.each(['hopper', 'sprinter'])(
    'catches a %s, which forks, leaves its session and exits all the time',
    async (kind) => {
      sandbox.env['REEVE_CONTAINMENT'] = containment;
      await launch('a', 'perl', MISBEHAVE, kind, 'tag', 'hidden');
      await eventually('it hops', () => existsSync(sandbox.path('hidden')));
      await sandbox.json(TAKE_OVER);
      const last = readFileSync(sandbox.path('hidden'), 'utf8');
      expect(isExecuting(Number(last))).toBe(false);
      // Anything that still hopped would write another pid.
      await sandbox.show('a');
      expect(readFileSync(sandbox.path('hidden'), 'utf8')).toBe(last);
    },
  );
});

describe('whoever takes over', () => {
  it('is told on stderr whom it replaced: run, pid, since when', async () => {
    const { run } = await launch('a', 'sleep', '60');
    const result = await sandbox.reeve(['run', '--detach', '--force', '-s', 'a', '--', 'sleep', '60']);
    expect(result.code).toBe(0);
    expect(result.stderr).toContain(run.id);
    expect(result.stderr).toContain(`pid ${run.pid}`);
    expect(result.stderr).toMatch(/since \d{4}-\d{2}-\d{2} \d{2}:\d{2}/);
  });

  it('may not do it from inside the run that would have to end', async () => {
    const script = `${process.execPath} ${CLI} run --detach --force -s a -- sleep 61 > answer 2>&1; echo $? > code; exec sleep 60`;
    const { harness } = await launch('a', 'sh', '-c', script);
    await eventually('the answer', () => existsSync(sandbox.path('code')));
    expect(readFileSync(sandbox.path('code'), 'utf8')).toBe('2\n');
    expect(isAlive(harness)).toBe(true);
    expect((await sandbox.show('a')).epoch).toBe(1);
  });

  it('by default is refused, and the owner goes on', async () => {
    const { harness, run } = await launch('a', 'sleep', '60');
    const { error } = await sandbox.json<{ error: { code: string; details: unknown } }>(
      ['run', '-s', 'a', '--', 'true'],
      4,
    );
    expect(error.code).toBe('live_owner');
    expect(error.details).toMatchObject({
      session: 'a',
      owner: { run: run.id, epoch: 1, pid: run.pid, keeperPid: run.keeperPid, since: run.startedAt },
    });
    expect(isAlive(harness)).toBe(true);
  });

  it('with attach joins the living one and ends nothing', async () => {
    const { harness } = await launch('a', 'sh', '-c', 'echo hello; exec sleep 60');
    const joined = sandbox.start(['run', '--on-live', 'attach', '-s', 'a', '--', 'true']);
    let output = '';
    joined.stdout?.on('data', (chunk) => (output += String(chunk)));
    await eventually('the log', () => output.includes('hello'));
    joined.kill('SIGINT');
    expect((await finished(joined)).code).toBe(0);
    expect(isAlive(harness)).toBe(true);
  });
});

describe('whoever is killed in the middle of', () => {
  it.each([
    'retire.intended',
    'retire.tree_gone',
    'retire.keeper_stopped',
    'finalise.begun',
    'finalise.swept',
    'finalise.ended',
    'retire.ended',
  ])(
    'a takeover, at %s, leaves one truth: the old run superseded, and the session free or owned',
    async (point) => {
      // Its keeper does not come to write the outcome itself, so that it is certain who does, and dies over it.
      sandbox.env['REEVE_CHECKPOINT'] = `keeper.recorded=wait:${sandbox.path('never')}`;
      const { harness } = await launch('a', 'perl', MISBEHAVE, 'wiped', 'tag', 'hidden');
      delete sandbox.env['REEVE_CHECKPOINT'];
      const hidden = await sandbox.pidFrom('hidden');
      const killed = await sandbox.reeve(TAKE_OVER, { env: { REEVE_CHECKPOINT: `${point}=kill` } });
      expect(killed.signal).toBe('SIGKILL');
      const between = await sandbox.show('a');
      // The old owner is the owner as long as it is not proven gone, and never after.
      if (between.run.state !== 'ended') expect(between.run.epoch).toBe(1);
      if (between.run.state === 'ended') expect([harness, hidden].map(isAlive)).toEqual([false, false]);
      const next = await sandbox.json<SessionView>(TAKE_OVER);
      expect([harness, hidden].map(isAlive)).toEqual([false, false]);
      expect({ epoch: next.epoch, status: next.status }).toEqual({ epoch: 2, status: 'working' });
      expect((await sandbox.show('a')).runs[0]?.outcome).toBe('superseded');
    },
  );

  it.each(['retire.intended', 'retire.tree_gone', 'finalise.begun', 'finalise.swept', 'finalise.ended'])(
    'a stop, at %s, can be followed by another, and the run is stopped once',
    async (point) => {
      await launch('a', 'sleep', '60');
      await sandbox.reeve(['stop', 'a'], { env: { REEVE_CHECKPOINT: `${point}=kill` } });
      await sandbox.json(['stop', 'a']);
      expect((await sandbox.show('a')).run.outcome).toBe('stopped');
      const { sentences } = await sandbox.json<{ sentences: { text: string }[] }>(['why', 'a']);
      expect(sentences.filter(({ text }) => text.includes('ended as'))).toHaveLength(1);
    },
  );
});

it('a stop that was killed before it told anybody is not said to have stopped what then ends by itself', async () => {
  const go = sandbox.path('go');
  const { keeper } = await launch('a', 'sh', '-c', `until [ -e ${go} ]; do sleep 0.02; done`);
  await sandbox.reeve(['stop', 'a'], { env: { REEVE_CHECKPOINT: 'retire.intended=kill' } });
  writeFileSync(go, '');
  await eventually('its keeper is gone', () => !isAlive(keeper));
  const { run } = await sandbox.show('a');
  expect(run).toMatchObject({ outcome: 'stopped', exitCode: 0 });
  expect(run.reason).toContain('not known');
});

describe('a keeper that was stopped by somebody who died before ending it', () => {
  it('is continued by whoever looks, and puts the end on record', async () => {
    const go = sandbox.path('go');
    sandbox.env['REEVE_CHECKPOINT'] = `keeper.recorded=wait:${go}`;
    const { keeper } = await launch('a', 'sleep', '60');
    delete sandbox.env['REEVE_CHECKPOINT'];
    const stop = await sandbox.reeve(['stop', 'a'], {
      env: { REEVE_CHECKPOINT: 'retire.keeper_stopped=kill' },
    });
    expect(stop.signal).toBe('SIGKILL');
    writeFileSync(go, '');
    await eventually('it is on record', async () => (await sandbox.show('a')).run.state === 'ended');
    await eventually('the keeper is gone', () => !isAlive(keeper));
    expect((await sandbox.show('a')).run.outcome).toBe('stopped');
  });

  it('is continued by whoever starts the next, which then begins', async () => {
    const go = sandbox.path('go');
    sandbox.env['REEVE_CHECKPOINT'] = `keeper.recorded=wait:${go}`;
    await launch('a', 'sleep', '60');
    delete sandbox.env['REEVE_CHECKPOINT'];
    await sandbox.reeve(['stop', 'a'], { env: { REEVE_CHECKPOINT: 'retire.keeper_stopped=kill' } });
    writeFileSync(go, '');
    const next = await sandbox.json<SessionView>(['run', '-d', '-s', 'a', '--', 'sleep', '60']);
    expect(next.epoch).toBe(2);
    expect((await sandbox.show('a')).runs[0]?.outcome).toBe('stopped');
  });

  it('is not, when it has put the outcome on record itself a moment before: nobody looks after it any more', async () => {
    const [recorded, asked] = [sandbox.path('recorded'), sandbox.path('asked')];
    sandbox.env['REEVE_CHECKPOINT'] = `finalise.ended=wait:${recorded}`;
    const { keeper } = await launch('a', 'sleep', '60');
    delete sandbox.env['REEVE_CHECKPOINT'];
    const stop = finished(
      sandbox.start(['stop', 'a'], {
        env: {
          ...sandbox.env,
          REEVE_CHECKPOINT: `retire.tree_gone=wait:${asked},retire.keeper_stopped=kill`,
        },
      }),
    );
    await eventually('its outcome is on record', () => existsSync(`${recorded}.reached`));
    writeFileSync(asked, '');
    expect((await stop).signal).toBe('SIGKILL');
    writeFileSync(recorded, '');
    await eventually('the keeper is gone', () => !isAlive(keeper));
  });

  it('with the outcome on record already, does not keep the next one from starting', async () => {
    const go = sandbox.path('go');
    sandbox.env['REEVE_CHECKPOINT'] = `finalise.ended=wait:${go}`;
    const { keeper, harness } = await launch('a', 'sleep', '60');
    delete sandbox.env['REEVE_CHECKPOINT'];
    signalSeen(harness, 'SIGKILL');
    await eventually('its outcome is on record', () => existsSync(`${go}.reached`));
    signalSeen(keeper, 'SIGSTOP');
    writeFileSync(go, '');
    const next = await sandbox.json<SessionView>(['run', '-d', '-s', 'a', '--', 'sleep', '60']);
    expect(next.epoch).toBe(2);
    await eventually('the old keeper is gone', () => !isAlive(keeper));
  });
});

describe('stop', () => {
  it('asks first, so that a harness can end in its own way, and its code is kept', async () => {
    await launch('a', 'sh', '-c', 'trap "exit 9" TERM; echo ready; while :; do sleep 0.05; done');
    await eventually('it is ready', async () =>
      (await sandbox.reeve(['logs', 'a'])).stdout.includes('ready'),
    );
    await sandbox.json(['stop', 'a']);
    expect((await sandbox.show('a')).run).toMatchObject({ outcome: 'stopped', exitCode: 9, signal: null });
  });

  it('of what has ended by itself does not relabel it', async () => {
    await sandbox.json(['run', '-s', 'a', '--', 'true']);
    const answer = await sandbox.json<SessionView & { wasLive: boolean }>(['stop', 'a']);
    expect({ wasLive: answer.wasLive, outcome: answer.run.outcome }).toEqual({
      wasLive: false,
      outcome: 'completed',
    });
  });

  it.each(['cgroup', 'subreaper', 'marks'])(
    '(%s) of a run whose keeper was let go but has not started its harness yet leaves nothing',
    async (containment) => {
      const go = sandbox.path('go');
      sandbox.env['REEVE_CONTAINMENT'] = containment;
      const launcher = sandbox.start(
        ['run', '--detach', '-s', 'a', '--', 'sh', '-c', 'echo $$ > worker; exec sleep 60'],
        {
          env: { ...sandbox.env, REEVE_CHECKPOINT: `keeper.released=wait:${go}` },
        },
      );
      const launched = finished(launcher);
      await eventually('the keeper is held', () => existsSync(`${go}.reached`));
      const stopping = sandbox.json<SessionView>(['stop', 'a']);
      await intentOnRecord(sandbox, 'a');
      // The stop has found an empty tree by now, or is about to; the harness starts all the same.
      writeFileSync(go, '');
      expect((await stopping).run.outcome).toBe('stopped');
      await launched;
      const worker = existsSync(sandbox.path('worker')) ? readFileSync(sandbox.path('worker'), 'utf8') : '';
      expect(worker === '' || !isExecuting(Number(worker))).toBe(true);
    },
  );

  it('of a keeper that starts its harness only when the tree was already found empty leaves nothing', async () => {
    sandbox.env['REEVE_CONTAINMENT'] = 'subreaper';
    const [start, go] = [sandbox.path('start'), sandbox.path('go')];
    const launcher = sandbox.start(
      ['run', '--detach', '-s', 'a', '--', 'perl', MISBEHAVE, 'wiped', 'tag', 'hidden'],
      {
        env: { ...sandbox.env, REEVE_CHECKPOINT: `keeper.released=wait:${start}` },
      },
    );
    const launched = finished(launcher);
    await eventually('the keeper is held', () => existsSync(`${start}.reached`));
    const stopping = finished(
      sandbox.start(['stop', 'a'], {
        env: { ...sandbox.env, REEVE_CHECKPOINT: `retire.tree_gone=wait:${go}` },
      }),
    );
    await eventually('the stop found nobody', () => existsSync(`${go}.reached`));
    writeFileSync(start, '');
    const hidden = await sandbox.pidFrom('hidden');
    writeFileSync(go, '');
    expect((await stopping).code).toBe(0);
    await launched;
    expect(isAlive(hidden)).toBe(false);
    expect((await sandbox.show('a')).run.outcome).toBe('stopped');
  });

  it('from inside a run that does not listen still ends it', async () => {
    const script = `trap "" TERM; ${process.execPath} ${CLI} stop --grace 0.2 a; sleep 60`;
    const { harness, keeper } = await launch('a', 'sh', '-c', script);
    await eventually('the keeper has finalised', () => !isAlive(keeper));
    expect(isAlive(harness)).toBe(false);
    expect((await sandbox.show('a')).run.outcome).toBe('stopped');
  });

  it('from inside the run ends the run, and the caller with it', async () => {
    // Once it was seen.
    const stop = `until [ -e seen ]; do sleep 0.02; done; ${process.execPath} ${CLI} stop a; sleep 60`;
    const { harness, keeper } = await launch('a', 'sh', '-c', stop);
    writeFileSync(sandbox.path('seen'), '');
    await eventually('the keeper has finalised', () => !isAlive(keeper));
    expect(isAlive(harness)).toBe(false);
    expect((await sandbox.show('a')).run.outcome).toBe('stopped');
    expect(startedWith(`REEVE_HOME=${sandbox.home}`)).toEqual([]);
  });

  describe('what cannot be killed', { tags: ['freezer'] }, () => {
    // Frozen by the old freezer a process does not die of SIGKILL until it is thawed: the unkillable, staged.
    const freezer = join('/sys/fs/cgroup/freezer', `reeve-test-${process.pid}`);
    const freeze = (pid: number) => {
      writeFileSync(join(freezer, 'cgroup.procs'), String(pid));
      writeFileSync(join(freezer, 'freezer.state'), 'FROZEN');
    };
    const thaw = () => writeFileSync(join(freezer, 'freezer.state'), 'THAWED');
    beforeEach(() => mkdirSync(freezer));
    afterEach(async () => {
      thaw();
      await eventually(
        'the freezer is empty',
        () => readFileSync(join(freezer, 'cgroup.procs'), 'utf8') === '',
      );
      rmdirSync(freezer);
    });

    it('is named, said to be unknown (7), and its run stays the owner', async () => {
      const { harness, run } = await launch('a', 'sleep', '60');
      freeze(harness.pid);
      const { error } = await sandbox.json<{ error: { code: string; message: string } }>(['kill', 'a'], 7);
      expect(error.code).toBe('survivors');
      expect(error.message).toContain(String(harness.pid));
      expect((await sandbox.show('a')).run).toMatchObject({ id: run.id, state: 'running', outcome: null });
      expect((await sandbox.reeve(['run', '-s', 'a', '--', 'true'])).code).toBe(4);
      thaw();
      await sandbox.json(['kill', 'a']);
      expect((await sandbox.show('a')).run.outcome).toBe('stopped');
    });

    it('and was left behind by a harness keeps its run from ending, until it is gone', async () => {
      const { harness, keeper, run } = await launch(
        'a',
        'sh',
        '-c',
        'sleep 61 & echo $! > left; exec sleep 60',
      );
      const left = await sandbox.pidFrom('left');
      freeze(left.pid);
      signalSeen(harness, 'SIGTERM');
      await eventually('the keeper has tried', () => !isAlive(keeper), 30_000);
      const { error } = await sandbox.json<{ error: { code: string } }>(['run', '-s', 'a', '--', 'true'], 7);
      expect(error.code).toBe('unproven');
      const assumed = await sandbox.json<{ error: { code: string } }>(['kill', '--assume-gone', 'a'], 7);
      expect(assumed.error.code).toBe('survivors');
      thaw();
      const after = await sandbox.show('a');
      expect(after.run).toMatchObject({ id: run.id, outcome: 'failed', signal: 'SIGTERM' });
      expect(isAlive(left)).toBe(false);
    });
  });
});

it.each([['no-such-command-here'], ['./no-such-path'], ['/']])(
  'a take-over by a command that cannot be executed (%s) is refused, and the owner lives on',
  async (command) => {
    const { harness, run } = await launch('a', 'sleep', '60');
    const { error } = await sandbox.json<{ error: { code: string } }>(
      ['run', '--detach', '--on-live', 'retire', '-s', 'a', '--', command],
      2,
    );
    expect([error.code, isAlive(harness)]).toEqual(['usage', true]);
    expect((await sandbox.show('a')).run).toMatchObject({ id: run.id, state: 'running', outcome: null });
  },
);

describe('a take-over with --force, for which nobody can be started, leaves the owner alive:', () => {
  /** Refused before and without anything being changed. */
  async function refused(command: string): Promise<{ code: string; message: string }> {
    const { harness, run } = await launch('a', 'sleep', '60');
    const words = ['run', '--detach', '--force', '-s', 'a', '--', command];
    const { error } = await sandbox.json<{ error: { code: string; message: string } }>(words, 2);
    expect(isAlive(harness)).toBe(true);
    expect((await sandbox.show('a')).run).toMatchObject({ id: run.id, state: 'running', outcome: null });
    return error;
  }

  it('a symbolic link that leads to itself', async () => {
    symlinkSync('loop', sandbox.path('loop'));
    expect(await refused('./loop')).toMatchObject({ code: 'usage' });
  });

  it.runIf(process.platform === 'linux').each([
    ['a program without its loader', elf({ interpreter: '/nonexist/ld.so\0' })],
    ['a program that ends in its header', elf().subarray(0, 40)],
    ['a program that ends before its program headers do', elf().subarray(0, 100)],
    ['an object file', elf({ type: 1 })],
  ])('%s, and a script with it as its interpreter', async (_, bytes) => {
    writeFileSync(sandbox.path('program'), bytes, { mode: 0o755 });
    writeFileSync(sandbox.path('script'), `#!${sandbox.path('program')}\n`, { mode: 0o755 });
    expect(await refused('./program')).toMatchObject({ code: 'usage' });
    await sandbox.json(['kill', 'a']);
    expect(await refused('./script')).toMatchObject({ code: 'usage' });
  });

  it.skipIf(process.platform !== 'linux' || mayRunForeign())(
    'a program for another kind of processor',
    async () => {
      writeFileSync(sandbox.path('program'), elf({ machine: FOREIGN }), { mode: 0o755 });
      expect(await refused('./program')).toMatchObject({ code: 'usage' });
    },
  );
});

it('a superseded foreground run says so calmly and gives its own exit code', async () => {
  const old = sandbox.start(['run', '-s', 'a', '--', 'sleep', '60']);
  const done = finished(old);
  await eventually('it runs', async () => (await sandbox.list())[0]?.run.pid);
  await sandbox.json(TAKE_OVER);
  const result = await done;
  expect(result.code).toBe(143);
  expect(result.stderr).toContain('superseded');
});

describe('the id of an earlier run', () => {
  it('reaches its log, but never the run that came after it', async () => {
    const { run: first } = await launch('a', 'sh', '-c', 'echo first; exec sleep 60');
    await eventually('it has written', async () => (await sandbox.reeve(['logs', 'a'])).stdout === 'first\n');
    const { run } = await sandbox.json<SessionView>(TAKE_OVER);
    for (const verb of ['stop', 'kill', 'rm']) {
      const { error } = await sandbox.json<{ error: { code: string; details: unknown } }>(
        [verb, first.id],
        5,
      );
      expect(error).toMatchObject({ code: 'fenced', details: { run: first.id, current: run.id } });
    }
    expect((await sandbox.show('a')).status).toBe('working');
    expect((await sandbox.reeve(['logs', first.id])).stdout).toBe('first\n');
    await sandbox.json(['stop', run.id]);
  });
});

it('a stop that finds the session taken over by another says so, with exit code 4', async () => {
  // Its keeper, which may be quicker, does not come to write the outcome itself: the stop does, and waits there.
  sandbox.env['REEVE_CHECKPOINT'] = `keeper.recorded=wait:${sandbox.path('never')}`;
  await launch('a', 'sleep', '60');
  delete sandbox.env['REEVE_CHECKPOINT'];
  const go = sandbox.path('go');
  const stopping = finished(
    sandbox.start(['stop', '--json', 'a'], {
      env: { ...sandbox.env, REEVE_CHECKPOINT: `retire.ended=wait:${go}` },
    }),
  );
  await eventually('it has ended the run', () => existsSync(`${go}.reached`));
  const { run } = await sandbox.json<SessionView>(['run', '--detach', '-s', 'a', '--', 'sleep', '60']);
  writeFileSync(go, '');
  const result = await stopping;
  expect(result.code).toBe(4);
  expect(result.stderr).toContain(run.id);
  expect(JSON.parse(result.stdout)).toMatchObject({ wasLive: true, run: { epoch: 1, outcome: 'stopped' } });
});

describe('a write', () => {
  it('of a superseded run is fenced: exit 5, the current run named, nothing changed', async () => {
    const { run } = await launch('a', 'sh', '-c', 'echo "$REEVE_TOKEN" > token; exec sleep 60');
    await eventually('the token', () => existsSync(sandbox.path('token')));
    const credentials = {
      REEVE_RUN: run.id,
      REEVE_TOKEN: readFileSync(sandbox.path('token'), 'utf8').trim(),
    };
    expect((await sandbox.reeve(['heartbeat'], { env: credentials })).code).toBe(0);
    const taken = await sandbox.json<SessionView>(TAKE_OVER);
    const before = await sandbox.show('a');
    const late = await sandbox.reeve(['heartbeat', '--json'], { env: credentials });
    expect(late.code).toBe(5);
    expect(JSON.parse(late.stdout)).toMatchObject({
      error: { code: 'fenced', details: { run: run.id, current: taken.run.id } },
    });
    expect(await sandbox.show('a')).toEqual(before);
  });

  it('with another run’s token is fenced', async () => {
    const { run } = await launch('a', 'sleep', '60');
    const forged = await sandbox.reeve(['heartbeat'], { env: { REEVE_RUN: run.id, REEVE_TOKEN: 'forged' } });
    expect(forged.code).toBe(5);
  });

  it('outside of any run is bad usage', async () => {
    expect((await sandbox.reeve(['heartbeat'])).code).toBe(2);
  });
});
