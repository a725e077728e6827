/** What a harness does, as `show` tells it: derived from what it said, what it keeps on record, and whether it lives. */
import { randomUUID } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SessionView } from '../../src/api/session-view.ts';
import { installStandIns } from '../fixtures/stand-in-harness.ts';
import type { StandIns } from '../fixtures/stand-in-harness.ts';
import { eventually, isAlive, see, signalSeen } from '../support/processes.ts';
import { createSandbox } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

let sandbox: Sandbox;
let standIns: StandIns;
beforeEach(() => {
  sandbox = createSandbox();
  standIns = installStandIns(sandbox, 'claude', 'codex', 'code');
});
afterEach(() => sandbox.cleanUp());

async function launch(...command: readonly string[]): Promise<number> {
  const { run } = await sandbox.json<SessionView>(['run', '--detach', '-s', 'a', '--', ...command]);
  await standIns.ready(run.pid);
  return run.pid ?? 0;
}

async function shown(): Promise<Pick<SessionView, 'status' | 'activity'>> {
  const { status, activity } = await sandbox.show('a');
  return { status, activity };
}

const REGISTRY = "Claude's own list of live processes";

describe('the status of a session', () => {
  it('follows what its harness says, with since when, on what evidence, and what it waits for', async () => {
    const pid = await launch('claude', '--session-id', randomUUID());
    const steps = [
      ['hook UserPromptSubmit', 'working', 'its UserPromptSubmit hook', null],
      [
        'hook PermissionRequest {"tool_name":"Bash"}',
        'needs-input',
        'its PermissionRequest hook',
        'permission to use Bash',
      ],
      ['hook PostToolUse', 'working', 'its PostToolUse hook', null],
      ['hook Stop', 'idle', 'its Stop hook', null],
    ] as const;
    for (const [command, status, evidence, waitingFor] of steps) {
      const fromMs = Date.now();
      await standIns.tell(pid, command);
      const toMs = Date.now();
      const seen = await shown();
      expect(seen).toEqual({
        status,
        activity: { since: expect.any(String) as unknown, evidence, waitingFor },
      });
      const sinceMs = Date.parse(seen.activity?.since ?? '');
      // Times of files have the steps of the kernel's clock.
      expect(sinceMs).toBeGreaterThanOrEqual(fromMs - 20);
      expect(sinceMs).toBeLessThanOrEqual(toMs);
      expect((await sandbox.list())[0]).toMatchObject({ status, activity: seen.activity });
    }
  });

  it('is since the first of several that say the same', async () => {
    const pid = await launch('claude', '--session-id', randomUUID());
    await standIns.tell(pid, 'hook UserPromptSubmit');
    const first = await shown();
    await standIns.tell(pid, 'hook PostToolUse');
    await standIns.tell(pid, 'hook UserPromptSubmit');
    expect(await shown()).toEqual(first);
  });

  it.each([
    ['the whole run', ['kill', 'a']],
    ['the harness alone', null],
  ])('is never that it needs input once it is dead: %s', async (_, verb) => {
    const pid = await launch('claude', '--session-id', randomUUID());
    await standIns.tell(pid, 'hook PermissionRequest');
    await standIns.tell(pid, `registry waiting ${Date.now() + 1000}`);
    expect((await shown()).status).toBe('needs-input');
    const harness = see(pid);
    if (verb !== null) await sandbox.json(verb);
    else signalSeen(harness, 'SIGKILL');
    await eventually('it is dead', () => !isAlive(harness));
    const seen = await shown();
    expect(seen.status).not.toBe('needs-input');
    const ended = await eventually('it has ended', async () => {
      const detail = await sandbox.show('a');
      expect(detail.status).not.toBe('needs-input');
      return detail.run.state === 'ended' && detail;
    });
    expect(ended).toMatchObject({ status: verb === null ? 'failed' : 'stopped', activity: null });
  });

  it('is never that it needs input between its death and its end on record', async () => {
    const go = sandbox.path('go');
    const argv = ['run', '--detach', '-s', 'a', '--', 'claude', '--session-id', randomUUID()];
    // Its keeper inherits this and waits there, alive, with the end of the harness not yet on record.
    await sandbox.reeve(argv, { env: { REEVE_CHECKPOINT: `finalise.begun=wait:${go}` } });
    const { run } = await sandbox.show('a');
    await standIns.tell(run.pid, 'hook PermissionRequest');
    expect((await shown()).status).toBe('needs-input');
    signalSeen(see(run.pid ?? 0), 'SIGKILL');
    await eventually('the keeper is about to finalise', () => existsSync(`${go}.reached`));
    expect(await shown()).toEqual({ status: 'unknown', activity: null });
    writeFileSync(go, '');
    await eventually('it has ended', async () => (await shown()).status === 'failed');
  });

  it('is not said while its keeper is stopped and nothing can be proven of it', async () => {
    const pid = await launch('claude', '--session-id', randomUUID());
    await standIns.tell(pid, 'hook PermissionRequest');
    const { run } = await sandbox.show('a');
    const [harness, keeper] = [see(pid), see(run.keeperPid ?? 0)];
    signalSeen(keeper, 'SIGSTOP');
    signalSeen(harness, 'SIGKILL');
    await eventually('it is dead', () => !isAlive(harness));
    expect((await shown()).status).toBe('unknown');
    signalSeen(keeper, 'SIGCONT');
  });
});

describe('Claude’s own record', () => {
  it('that is newer than the last hook wins: a turn that was interrupted ends without any hook', async () => {
    const pid = await launch('claude', '--session-id', randomUUID());
    await standIns.tell(pid, 'hook UserPromptSubmit');
    expect((await shown()).status).toBe('working');
    const atMs = Date.now() + 1000;
    await standIns.tell(pid, `registry idle ${atMs}`);
    expect(await shown()).toEqual({
      status: 'idle',
      activity: { since: new Date(atMs).toISOString(), evidence: REGISTRY, waitingFor: null },
    });
    expect((await sandbox.list())[0]?.status).toBe('idle');
  });

  it('that is older than the last hook loses', async () => {
    const pid = await launch('claude', '--session-id', randomUUID());
    const atMs = Date.now() - 60_000;
    await standIns.tell(pid, 'hook UserPromptSubmit');
    await standIns.tell(pid, `registry idle ${atMs}`);
    expect(await shown()).toMatchObject({
      status: 'working',
      activity: { evidence: 'its UserPromptSubmit hook' },
    });
  });

  it('that says the same as the hook does not change since when', async () => {
    const pid = await launch('claude', '--session-id', randomUUID());
    await standIns.tell(pid, 'hook UserPromptSubmit');
    const before = await shown();
    await standIns.tell(pid, `registry busy ${Date.now() + 1000}`);
    expect(await shown()).toEqual(before);
  });

  it('of a process with another start time is of another process, and ignored', async () => {
    const pid = await launch('claude', '--session-id', randomUUID());
    await standIns.tell(pid, 'hook UserPromptSubmit');
    await standIns.tell(pid, `registry idle ${Date.now() + 1000} 12345`);
    expect((await shown()).status).toBe('working');
  });

  it('of a status that nobody knows says nothing', async () => {
    const pid = await launch('claude', '--session-id', randomUUID());
    await standIns.tell(pid, 'hook UserPromptSubmit');
    await standIns.tell(pid, `registry toString ${Date.now() + 1000}`);
    expect((await shown()).status).toBe('working');
  });
});

describe('Codex’s transcript', () => {
  it('that is newer than the last hook wins: a turn that was interrupted ends without any hook', async () => {
    const pid = await launch('codex');
    await standIns.tell(pid, 'hook UserPromptSubmit');
    expect((await shown()).status).toBe('working');
    const at = new Date(Date.now() + 1000).toISOString();
    await standIns.tell(pid, `turn turn_aborted ${at}`);
    expect(await shown()).toEqual({
      status: 'idle',
      activity: { since: at, evidence: 'turn_aborted in its transcript', waitingFor: null },
    });
  });
});

describe('Every Code, which has no hooks,', () => {
  it('is told by the lock that it holds open, and bound by it', async () => {
    const nativeId = randomUUID();
    sandbox.env['STAND_IN_ID'] = nativeId;
    sandbox.env['CODE_HOME'] = sandbox.path('code-home');
    await launch('code');
    expect(await sandbox.show('a')).toMatchObject({ harness: 'code', nativeId, status: 'idle' });
    expect((await sandbox.show(nativeId)).name).toBe('a');
  });
});
