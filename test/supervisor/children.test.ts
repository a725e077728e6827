/** Runs that runs started: each dealt with by its policy, before its parent is over, whoever ends that and however. */
import { existsSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ChildView } from '../../src/api/session-view.ts';
import { DEFAULT_TERMS } from '../../src/lifecycle/child.ts';
import type { OnParentEnd } from '../../src/lifecycle/child.ts';
import { openStore } from '../../src/store/open.ts';
import type { Store } from '../../src/store/store.ts';
import type { SessionDetail } from '../../src/supervisor/list.ts';
import { claimOf, identity } from '../store/examples.ts';
import { startObeying } from '../support/obeying.ts';
import type { Obeying } from '../support/obeying.ts';
import { endOnRecord } from '../support/on-record.ts';
import { eventually, isAlive, isExecuting, see, signalSeen } from '../support/processes.ts';
import type { Seen } from '../support/processes.ts';
import { CLI, createSandbox, finished } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

let sandbox: Sandbox;
beforeEach(() => {
  sandbox = createSandbox();
});
afterEach(() => sandbox.cleanUp());

interface Child {
  readonly detail: SessionDetail;
  readonly harness: Seen;
  readonly keeper: Seen;
}

async function startChild(parent: Obeying, name: string, ...flags: string[]): Promise<Child> {
  const detail = await parent.json<SessionDetail>([
    'child',
    'run',
    '-d',
    '-s',
    name,
    ...flags,
    '--',
    'sleep',
    '300',
  ]);
  return { detail, harness: see(detail.run.pid ?? 0), keeper: see(detail.run.keeperPid ?? 0) };
}

const isUp = ({ harness, keeper }: Child) => [harness, keeper].map(isAlive);

async function withStore<T>(work: (store: Store) => Promise<T>): Promise<T> {
  const store = await openStore({ sqlite: `${sandbox.home}/reeve.db` });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

/** The numbers of the events by which two sessions' runs ended. */
async function endedAt(...names: string[]): Promise<number[]> {
  return withStore(async (store) => {
    const events = await store.events({ after: 0, limit: 1000 });
    const sessions = await Promise.all(names.map((name) => store.sessionByName(name)));
    return sessions.map(
      (found) =>
        events.find(({ kind, sessionId }) => kind === 'run.ended' && sessionId === found?.session.id)?.seq ??
        0,
    );
  });
}

const ENDS: Readonly<Record<string, (parent: Obeying) => Promise<unknown>>> = {
  'is stopped': () => sandbox.json(['stop', 'parent']),
  'is killed': () => sandbox.json(['kill', 'parent']),
  'is taken over': () =>
    sandbox.json(['run', '-d', '-s', 'parent', '--on-live', 'retire', '--', 'sleep', '300']),
  'exits by itself': async (parent) => {
    parent.exits(0);
    await endOnRecord(sandbox, 'parent');
  },
  'loses its keeper': async ({ started: { run } }) => {
    signalSeen(see(run.keeperPid ?? 0), 'SIGKILL');
    await eventually('its end', async () => (await sandbox.show('parent')).run.state === 'ended');
  },
};

describe.each(['cgroup', 'subreaper'])('when a run with children (%s)', (containment) => {
  beforeEach(() => {
    sandbox.env['REEVE_CONTAINMENT'] = containment;
  });

  describe.each(Object.keys(ENDS))('%s', (how) => {
    const end = async (policy: OnParentEnd) => {
      const parent = await startObeying(sandbox, 'parent');
      const child = await startChild(parent, 'child', '--on-parent-end', policy);
      expect(child.detail.run.parent).toBe(parent.started.run.id);
      await ENDS[how]?.(parent);
      expect(isExecuting(parent.started.run.pid ?? 0)).toBe(false);
      return { parent, child };
    };

    it('what is to be cancelled is gone, and on record, before it is over', async () => {
      const { parent, child } = await end('cancel');
      expect(isUp(child)).toEqual([false, false]);
      const { run } = await sandbox.show('child');
      expect({ outcome: run.outcome, reason: run.reason }).toEqual({
        outcome: 'cancelled',
        reason: expect.stringContaining(`its parent, run ${parent.started.run.id}`),
      });
      const [childEnd = 0, parentEnd = 0] = await endedAt('child', 'parent');
      expect(childEnd).toBeGreaterThan(0);
      expect(childEnd).toBeLessThan(parentEnd);
    });

    it('what is to be let go lives on, owned by nobody, and ends on its own record', async () => {
      const { child } = await end('detach');
      expect(isUp(child)).toEqual([true, true]);
      const [view] = (await sandbox.json<{ children: ChildView[] }>(['child', 'ls', 'parent'])).children;
      expect(view).toMatchObject({ session: 'child', owner: null, waitsUntil: null, run: { outcome: null } });
      signalSeen(child.harness, 'SIGTERM');
      await endOnRecord(sandbox, 'child');
      expect((await sandbox.show('child')).run).toMatchObject({ outcome: 'failed', signal: 'SIGTERM' });
    });

    it('what is to be adopted lives on, and belongs to the next run of the session', async () => {
      const { parent, child } = await end('adopt');
      expect(isUp(child)).toEqual([true, true]);
      const next = how === 'is taken over' ? null : await startObeying(sandbox, 'parent');
      const { run } = next?.started ?? (await sandbox.show('parent'));
      const [view] = (await sandbox.json<{ children: ChildView[] }>(['child', 'ls', 'parent'])).children;
      expect(view).toMatchObject({ parent: parent.started.run.id, owner: run.id, waitsUntil: null });
      expect(
        (await sandbox.json<{ sentences: { text: string }[] }>(['why', 'child'])).sentences.map(
          ({ text }) => text,
        ),
      ).toContain(`Run ${run.id} took it over from run ${parent.started.run.id}, which is over.`);
      // The same holds for the end of the one that adopted it.
      await sandbox.json(['stop', 'parent']);
      expect(isUp(child)).toEqual([true, true]);
      await sandbox.json(['kill', 'child']);
      expect(isUp(child)).toEqual([false, false]);
    });
  });

  it('ends, what its children started is dealt with too, each by its own policy', async () => {
    const parent = await startObeying(sandbox, 'parent');
    const inner = sandbox.path('inner-orders');
    await parent.does(`mkfifo ${inner}`);
    const obeys = 'exec 3<>"$0"; while read -r order <&3; do eval "$order"; done';
    const detail = await parent.json<SessionDetail>([
      'child',
      'run',
      '-d',
      '-s',
      'child',
      '--',
      'sh',
      '-c',
      obeys,
      inner,
    ]);
    const order = (name: string, policy: string) => {
      const command = `'${process.execPath}' '${CLI}' child run -d -s ${name} --on-parent-end ${policy} -- sleep 300`;
      writeFileSync(inner, `${command} > ${sandbox.path(name)}.out 2>&1; echo $? > ${sandbox.path(name)}\n`);
      return eventually(name, () => existsSync(sandbox.path(name)));
    };
    await order('grandchild', 'cancel');
    await order('freed', 'detach');
    const [grandchild, freed] = [await sandbox.show('grandchild'), await sandbox.show('freed')];
    expect(grandchild.run.parent).toBe(detail.run.id);
    await sandbox.json(['stop', 'parent']);
    expect((await sandbox.show('child')).run.outcome).toBe('cancelled');
    expect((await sandbox.show('grandchild')).run.outcome).toBe('cancelled');
    const { sentences } = await sandbox.json<{ sentences: { run: string; text: string }[] }>([
      'why',
      'parent',
    ]);
    // Each of its own runs; the child's story tells of the grandchild.
    expect(new Set(sentences.map(({ run }) => run))).toEqual(new Set([parent.started.run.id]));
    expect(sentences.filter(({ text }) => text.includes('grandchild'))).toEqual([]);
    expect((await sandbox.reeve(['why', 'child'])).stdout).toContain('Its child grandchild');
    expect(isExecuting(grandchild.run.pid ?? 0)).toBe(false);
    // Orphaned twice over, and still nobody's leftover.
    expect((await sandbox.show('freed')).run).toMatchObject({ state: 'running', liveness: 'alive' });
    expect(isExecuting(freed.run.pid ?? 0)).toBe(true);
    await sandbox.json(['kill', 'freed']);
  });

  it('ends by itself while a child of its child lives on, it does not end that one', async () => {
    const parent = await startObeying(sandbox, 'parent');
    await parent.json([
      'child',
      'run',
      '-d',
      '-s',
      'middle',
      '--',
      'sh',
      '-c',
      `'${process.execPath}' '${CLI}' child run -d -s freed --on-parent-end detach -- sleep 300; true`,
    ]);
    await eventually(
      'the middle one to end',
      async () => (await sandbox.show('middle')).run.state === 'ended',
    );
    const freed = await sandbox.show('freed');
    parent.exits(0);
    await eventually('its end', async () => (await sandbox.show('parent')).run.state === 'ended');
    expect(isExecuting(freed.run.pid ?? 0)).toBe(true);
    await sandbox.json(['kill', 'freed']);
  });

  it.each(['stop', 'exit'])(
    'ends (%s), a child in the foreground of one of its tools is dealt with as any',
    async (how) => {
      const parent = await startObeying(sandbox, 'parent');
      parent.begins(`'${process.execPath}' '${CLI}' child run -s kept --on-parent-end detach -- sleep 300`);
      await eventually('the child', async () =>
        (await sandbox.list()).some(({ name, run }) => name === 'kept' && run.pid !== null),
      );
      parent.begins(`'${process.execPath}' '${CLI}' child run -s child -- sleep 300`);
      await eventually('the child', async () =>
        (await sandbox.list()).some(({ name, run }) => name === 'child' && run.pid !== null),
      );
      const { run } = await sandbox.show('child');
      if (how === 'stop') await sandbox.json(['stop', 'parent']);
      else parent.exits(0);
      await eventually('its end', async () => (await sandbox.show('parent')).run.state === 'ended');
      expect(isExecuting(run.pid ?? 0)).toBe(false);
      expect((await sandbox.show('child')).run.outcome).toBe('cancelled');
      expect((await sandbox.show('kept')).run).toMatchObject({ state: 'running', liveness: 'alive' });
      await sandbox.json(['kill', 'kept']);
    },
  );
});

describe('a child that is being started while its parent is ended', () => {
  it.each(['launch.claimed', 'launch.keeper_spawned', 'launch.started', 'launch.released'])(
    'at %s, leaves nothing that lives, and both are over',
    async (point) => {
      const parent = await startObeying(sandbox, 'parent');
      const held = sandbox.path('held');
      parent.begins(
        `REEVE_CHECKPOINT=${point}=wait:${held} '${process.execPath}' '${CLI}' child run -d -s child -- sleep 300`,
      );
      await eventually('the point', () => existsSync(`${held}.reached`));
      await sandbox.json(['stop', 'parent', '--grace', '1']);
      expect((await sandbox.show('parent')).run.outcome).toBe('stopped');
      const child = await sandbox.show('child');
      expect(child.run.state).toBe('ended');
      expect(['never_started', 'cancelled']).toContain(child.run.outcome);
    },
  );
});

describe('whoever ends a run with a child may die in the middle', () => {
  it.each(['retire.intended', 'retire.tree_gone', 'finalise.begun', 'finalise.children', 'finalise.swept'])(
    'at %s, and whoever looks next finishes it',
    async (point) => {
      // Its keeper, which may be quicker, is kept from writing the outcome itself: it is certain who dies over it.
      sandbox.env['REEVE_CHECKPOINT'] = `keeper.recorded=wait:${sandbox.path('never')}`;
      const parent = await startObeying(sandbox, 'parent');
      delete sandbox.env['REEVE_CHECKPOINT'];
      const child = await startChild(parent, 'child');
      const stopping = await sandbox.reeve(['stop', 'parent'], {
        env: { REEVE_CHECKPOINT: `${point}=kill` },
      });
      expect(stopping.signal).toBe('SIGKILL');
      await sandbox.json(['stop', 'parent']);
      expect(isUp(child)).toEqual([false, false]);
      expect((await sandbox.show('child')).run.outcome).toBe('cancelled');
      expect((await sandbox.show('parent')).run.outcome).toBe('stopped');
    },
  );
});

describe('a child that cannot be dealt with', () => {
  it('is an error of its parent, which stays the owner, and is told', async () => {
    const parent = await startObeying(sandbox, 'parent');
    const { stdout: token } = await parent.does('printf %s "$REEVE_TOKEN"');
    // On another host, where nothing of it can be proven from here.
    const request = claimOf('elsewhere', {
      runId: 'r-elsewhere',
      launcher: { ...identity(1), host: 'another-host' },
      parent: { ...DEFAULT_TERMS, runId: parent.started.run.id, token },
    });
    await withStore((store) => store.claim(request));
    const stopping = await sandbox.reeve(['stop', 'parent', '--grace', '0']);
    expect(stopping.code).toBe(7);
    expect(stopping.stderr).toContain('its child elsewhere (run r-elsewhere) could not be cancelled');
    const shown = await sandbox.show('parent');
    expect(shown.run.outcome).toBeNull();
    expect(shown.doubt).toContain('elsewhere');
    expect((await sandbox.reeve(['why', 'parent'])).stdout).toContain(
      'It could not end: its child elsewhere',
    );
    const refused = await sandbox.reeve(['run', '-d', '-s', 'parent', '--', 'true']);
    expect(refused.code).toBe(7);
    await sandbox.json(['kill', 'elsewhere', '--assume-gone']);
    expect((await sandbox.show('parent')).run.outcome).toBe('stopped');
  });
});

describe('a process that pretends to be a child’s keeper', () => {
  it.each(['cgroup', 'subreaper'])('ends with the run all the same (%s)', async (containment) => {
    sandbox.env['REEVE_CONTAINMENT'] = containment;
    const parent = await startObeying(sandbox, 'parent');
    await startChild(parent, 'child', '--on-parent-end', 'detach');
    const directory = `${sandbox.home}/runs/${parent.started.run.id}/children`;
    const child = await sandbox.show('child');
    await parent.does(
      `setsid sleep 301 & echo $! > ${sandbox.path('forger')}; start=$(sed 's/.*) //' /proc/$!/stat | cut -d' ' -f20); echo "$start ${child.run.id} " > ${directory}/$!`,
    );
    const forger = await sandbox.pidFrom('forger');
    await sandbox.json(['stop', 'parent']);
    expect(isExecuting(forger.pid)).toBe(false);
    await sandbox.json(['kill', 'child']);
  });
});

describe('a start from inside a run', () => {
  it('that is over is refused, and told', async () => {
    const parent = await startObeying(sandbox, 'parent');
    const { stdout } = await parent.does('printf "%s %s" "$REEVE_RUN" "$REEVE_TOKEN"');
    const [REEVE_RUN = '', REEVE_TOKEN = ''] = stdout.split(' ');
    await sandbox.json(['stop', 'parent']);
    for (const verb of [['run'], ['child', 'run']]) {
      const late = await sandbox.reeve([...verb, '-d', '-s', 'late', '--', 'sleep', '300'], {
        env: { REEVE_RUN, REEVE_TOKEN },
      });
      expect(late.code).toBe(5);
      expect(late.stderr).toContain(`Run ${REEVE_RUN} may start nothing: it has ended (stopped).`);
    }
    expect((await sandbox.list()).map(({ name }) => name)).toEqual(['parent']);
    const { sentences } = await sandbox.json<{ sentences: { text: string }[] }>(['why', 'parent']);
    expect(sentences.at(-1)?.text).toContain(`A late start of run ${REEVE_RUN} was refused`);
  });

  it('with a token that is not its own is refused', async () => {
    const { started } = await startObeying(sandbox, 'parent');
    const env = { REEVE_RUN: started.run.id, REEVE_TOKEN: 'guessed' };
    expect((await sandbox.reeve(['run', '-d', '--', 'sleep', '300'], { env })).code).toBe(5);
  });

  it('of another state directory is nobody’s child', async () => {
    const env = { REEVE_RUN: 'r-unknown', REEVE_TOKEN: 'any' };
    const result = await sandbox.reeve(['run', '-s', 'own', '--', 'true'], { env });
    expect(result.code).toBe(0);
    expect((await sandbox.show('own')).run.parent).toBeNull();
    expect((await sandbox.reeve(['child', 'run', '--', 'true'], { env })).code).toBe(2);
  });

  it('may be deep, but not without end', async () => {
    const script = `n=$1; '${process.execPath}' '${CLI}' run -s deep-$n -- sh "$0" $((n + 1)) || echo "$n $?" > stopped.$n`;
    writeFileSync(sandbox.path('deeper.sh'), script);
    await sandbox.reeve(['run', '-s', 'deep', '--', 'sh', 'deeper.sh', '1']);
    expect((await sandbox.list()).map(({ name }) => name).toSorted()).toEqual(
      ['deep', ...[1, 2, 3, 4, 5, 6, 7, 8].map((n) => `deep-${n}`)].toSorted(),
    );
    expect(existsSync(sandbox.path('stopped.9'))).toBe(true);
  });

  it('is a child too when it is a plain run, to be cancelled', async () => {
    const parent = await startObeying(sandbox, 'parent');
    await parent.reeve(['run', '-d', '-s', 'plain', '--', 'sleep', '300']);
    const { children } = await sandbox.json<{ children: ChildView[] }>(['child', 'ls', 'parent']);
    expect(children).toMatchObject([
      { session: 'plain', onParentEnd: 'cancel', owner: parent.started.run.id },
    ]);
  });
});

describe('a child', () => {
  it('that nobody adopts in time is ended by its own keeper, though nobody looks', async () => {
    const parent = await startObeying(sandbox, 'parent');
    const child = await startChild(parent, 'child', '--on-parent-end', 'adopt', '--adopt-within', '1');
    await sandbox.json(['stop', 'parent']);
    await eventually('its end', () => !isAlive(child.keeper));
    const end = await withStore(async (store) => (await store.run(child.detail.run.id))?.ending);
    expect(end).toMatchObject({ outcome: 'cancelled', actor: 'keeper' });
    const events = await withStore((store) => store.eventsOf(child.detail.id));
    const at = (wanted: string) => events.find(({ kind }) => kind === wanted)?.atMs ?? Number.NaN;
    // It had its time.
    expect(at('run.ended') - at('child.waiting')).toBeGreaterThanOrEqual(1_000);
  });

  it('that nobody adopts in time is ended by whoever looks', async () => {
    const parent = await startObeying(sandbox, 'parent');
    const child = await startChild(parent, 'child', '--on-parent-end', 'adopt', '--adopt-within', '0');
    // Its keeper, which would do the same, does not come to it.
    signalSeen(child.keeper, 'SIGSTOP');
    await sandbox.json(['stop', 'parent']);
    await sandbox.list();
    expect(isUp(child)).toEqual([false, false]);
    expect((await sandbox.show('child')).run).toMatchObject({
      outcome: 'cancelled',
      reason: `its parent, run ${parent.started.run.id}, was over, and no successor took it over within 0 s`,
    });
  });

  it('may stop its parent, also one that does not listen, and ends with it', async () => {
    const parent = await startObeying(sandbox, 'parent');
    parent.begins("trap '' TERM; true");
    const stops = `'${process.execPath}' '${CLI}' stop parent --grace 1; sleep 300`;
    await parent.json(['child', 'run', '-d', '-s', 'child', '--', 'sh', '-c', stops]);
    await eventually('both are over', async () =>
      (await sandbox.list()).every(({ run }) => run.state === 'ended'),
    );
    expect((await sandbox.show('parent')).run.outcome).toBe('stopped');
    expect((await sandbox.show('child')).run.outcome).toBe('cancelled');
  });

  it('does not go on spending while its parent takes its time to end', async () => {
    const parent = await startObeying(sandbox, 'parent');
    parent.begins("trap '' TERM; true");
    const child = await startChild(parent, 'child');
    const harness = see(parent.started.run.pid ?? 0);
    const stopping = sandbox.start(['stop', 'parent', '--grace', '60']);
    await eventually('the end of the child', () => !isAlive(child.harness));
    expect(isAlive(harness)).toBe(true);
    signalSeen(harness, 'SIGKILL');
    expect((await finished(stopping)).code).toBe(0);
  });

  it('may not take its parent’s session over: it would end with it before it could', async () => {
    const parent = await startObeying(sandbox, 'parent');
    const code = sandbox.path('code');
    await parent.json([
      'child',
      'run',
      '-d',
      '-s',
      'child',
      '--',
      'sh',
      '-c',
      `'${process.execPath}' '${CLI}' run -d -s parent --on-live retire -- true; echo $? > ${code}.new; mv ${code}.new ${code}; sleep 300`,
    ]);
    await eventually('the refusal', () => existsSync(code));
    expect((await sandbox.show('parent')).run).toMatchObject({
      id: parent.started.run.id,
      liveness: 'alive',
    });
  });

  it('is told with what it is about, in the tree, in show and in why', async () => {
    const parent = await startObeying(sandbox, 'parent');
    await startChild(parent, 'child', '--subject', 'pr-7', '--revision', 'abc123');
    const shown = await sandbox.reeve(['show', 'parent']);
    expect(shown.stdout).toMatch(/└─ child .*cancel.*pr-7@abc123/);
    expect((await sandbox.reeve(['child', 'ls'])).stdout).toContain('pr-7@abc123');
    expect((await parent.reeve(['child', 'ls'])).stdout).toContain('pr-7@abc123');
    await sandbox.json(['stop', 'parent']);
    const texts = (await sandbox.json<{ sentences: { text: string }[] }>(['why', 'parent'])).sentences.map(
      ({ text }) => text,
    );
    expect(texts).toContainEqual(
      expect.stringMatching(/^Its child child \(run r-\w+\) ended as cancelled: its parent/),
    );
    expect((await sandbox.reeve(['why', 'child'])).stdout).toMatch(/about pr-7 at abc123/);
  });
});

it('a child run outside of any run is refused', async () => {
  const result = await finished(sandbox.start(['child', 'run', '--', 'true']));
  expect(result.code).toBe(2);
});
