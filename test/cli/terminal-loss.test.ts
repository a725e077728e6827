/** The terminal of a foreground run is closed: the command ends, whatever it thinks of a hang-up. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually, isAlive, parentOf, see, signalSeen } from '../support/processes.ts';
import type { Seen } from '../support/processes.ts';
import { CLI, createSandbox } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

/** A busy machine takes its time: only turns a hang into a failure. */
const LIMIT_MS = 240_000;

let sandbox: Sandbox;
beforeEach(() => {
  sandbox = createSandbox();
});
afterEach(() => sandbox.cleanUp(), LIMIT_MS);

const REEVE = `${process.execPath} ${CLI}`;
const STUBBORN = 'trap "" HUP; echo $$ > ready; while :; do sleep 1; done';
const UNASKABLE = 'trap "" HUP TERM; echo $$ > ready; while :; do sleep 1; done';

/** A real terminal; what holds its other end is killed with it. */
function onTerminal(command: string): ChildProcess {
  return spawn('script', ['-qec', command, '/dev/null'], {
    cwd: sandbox.root,
    env: { ...sandbox.env, TERM: 'xterm' },
    stdio: ['pipe', 'ignore', 'inherit'],
  });
}

/** The launcher is the parent of the keeper, which is that of the command. */
function launcherOf(worker: Seen): Seen {
  return see(parentOf(parentOf(worker.pid)));
}

async function endedRun() {
  return eventually(
    'the end is on record',
    async () => {
      const { run } = await sandbox.show('a');
      return run.state === 'ended' && run;
    },
    LIMIT_MS,
  );
}

describe('a command that ignores a hang-up', () => {
  it.each([
    ['the launcher leads the terminal’s session', `exec ${REEVE} run -s a -- sh -c '${STUBBORN}'`],
    ['a shell does', `${REEVE} run -s a -- sh -c '${STUBBORN}'; true`],
    ['its input is not the terminal', `exec ${REEVE} run -s a -- sh -c '${STUBBORN}' < /dev/null`],
  ])(
    'is asked to end when its terminal is closed, and %s',
    async (_, command) => {
      const terminal = onTerminal(command);
      const worker = await sandbox.pidFrom('ready');
      terminal.kill('SIGKILL');
      expect(await endedRun()).toMatchObject({
        outcome: 'stopped',
        signal: 'SIGTERM',
        reason: expect.stringContaining('terminal was closed'),
      });
      expect(isAlive(worker)).toBe(false);
    },
    60_000,
  );

  it(
    'is killed when it does not care about that either',
    async () => {
      const terminal = onTerminal(`exec ${REEVE} run -s a -- sh -c '${UNASKABLE}'`);
      const worker = await sandbox.pidFrom('ready');
      terminal.kill('SIGKILL');
      expect(await endedRun()).toMatchObject({ outcome: 'stopped', signal: 'SIGKILL' });
      expect(isAlive(worker)).toBe(false);
    },
    LIMIT_MS,
  );

  it(
    'ends also when its launcher is killed together with the terminal',
    async () => {
      const terminal = onTerminal(`exec ${REEVE} run -s a -- sh -c '${STUBBORN}'`);
      const worker = await sandbox.pidFrom('ready');
      signalSeen(launcherOf(worker), 'SIGKILL');
      terminal.kill('SIGKILL');
      expect(await endedRun()).toMatchObject({ outcome: 'stopped', signal: 'SIGTERM' });
      expect(isAlive(worker)).toBe(false);
    },
    LIMIT_MS,
  );

  it(
    'ends also when the leader of its session is killed, and with it only their right to the terminal',
    async () => {
      const terminal = onTerminal(`exec ${REEVE} run -s a -- sh -c '${STUBBORN}'`);
      const worker = await sandbox.pidFrom('ready');
      // So that it does not close the terminal when its child is gone.
      terminal.kill('SIGSTOP');
      signalSeen(launcherOf(worker), 'SIGKILL');
      expect(await endedRun()).toMatchObject({
        outcome: 'stopped',
        signal: 'SIGTERM',
        reason: expect.stringContaining('terminal was closed'),
      });
      terminal.kill('SIGKILL');
    },
    LIMIT_MS,
  );
});

/** Starts it held at a named step. */
function heldOnTerminal(step: string, command: string): { terminal: ChildProcess; go: () => void } {
  const file = sandbox.path('go');
  sandbox.env['REEVE_CHECKPOINT'] = `${step}=wait:${file}`;
  const terminal = onTerminal(command);
  delete sandbox.env['REEVE_CHECKPOINT'];
  return { terminal, go: () => writeFileSync(file, '') };
}

const isHeld = () => eventually('it is held', () => existsSync(sandbox.path('go.reached')), LIMIT_MS);

describe('a terminal that is closed while the run starts', () => {
  const leading = (script: string) => `echo $$ > launcher; exec ${REEVE} run -s a -- sh -c '${script}'`;

  async function closedAt(step: string, script: string): Promise<{ go: () => void }> {
    const { terminal, go } = heldOnTerminal(step, leading(script));
    const launcher = await sandbox.pidFrom('launcher');
    await isHeld();
    terminal.kill('SIGKILL');
    await heardOfIt(launcher);
    return { go };
  }

  it.each(['launch.claimed', 'launch.keeper_spawned', 'launch.started', 'keeper.released', 'keeper.holding'])(
    'at %s keeps the command from being executed',
    async (step) => {
      const { go } = await closedAt(step, STUBBORN);
      go();
      expect(await endedRun()).toMatchObject({
        outcome: 'never_started',
        reason: expect.stringContaining('terminal was closed'),
      });
      expect(existsSync(sandbox.path('ready'))).toBe(false);
    },
    LIMIT_MS,
  );

  it.each(['harness.forked', 'keeper.executing', 'launch.executing'])(
    'at %s ends the command',
    async (step) => {
      const { go } = await closedAt(step, 'exec sleep 600');
      go();
      expect(await endedRun()).toMatchObject({ outcome: 'stopped', signal: 'SIGHUP' });
    },
    LIMIT_MS,
  );

  it(
    'to the run only, by the death of its session’s leader, keeps the command from being executed',
    async () => {
      writeFileSync(
        sandbox.path('start.sh'),
        `echo $$ > launcher; exec ${REEVE} run -s a -- sh -c '${STUBBORN}'`,
      );
      const { terminal, go } = heldOnTerminal('launch.claimed', 'echo $$ > leader; sh start.sh; true');
      const [leader, launcher] = [await sandbox.pidFrom('leader'), await sandbox.pidFrom('launcher')];
      await isHeld();
      // So that it does not close the terminal when its child is gone.
      terminal.kill('SIGSTOP');
      signalSeen(leader, 'SIGKILL');
      await heardOfIt(launcher);
      go();
      expect(await endedRun()).toMatchObject({ outcome: 'never_started' });
      expect(existsSync(sandbox.path('ready'))).toBe(false);
      terminal.kill('SIGKILL');
    },
    LIMIT_MS,
  );

  it(
    'ends a command that ignores it, although the launcher, which alone was told, cannot pass it on',
    async () => {
      const { terminal, go } = heldOnTerminal('launch.executing', leading(STUBBORN));
      const worker = await sandbox.pidFrom('ready');
      await isHeld();
      terminal.kill('SIGKILL');
      expect(await endedRun()).toMatchObject({ outcome: 'stopped', signal: 'SIGTERM' });
      expect(isAlive(worker)).toBe(false);
      go();
    },
    LIMIT_MS,
  );

  it(
    'has ended a command that died of a hang-up a moment before the terminal was gone',
    async () => {
      const { terminal, go } = heldOnTerminal(
        'keeper.doubting',
        `setsid --wait ${REEVE} run -s a -- sh -c 'echo $$ > ready; exec sleep 600'`,
      );
      signalSeen(await sandbox.pidFrom('ready'), 'SIGHUP');
      await isHeld();
      terminal.kill('SIGKILL');
      await eventually('the terminal is gone', () => terminal.signalCode !== null);
      go();
      expect(await endedRun()).toMatchObject({ outcome: 'stopped', signal: 'SIGHUP' });
    },
    LIMIT_MS,
  );

  it(
    'is not meant for a run under nohup',
    async () => {
      const script =
        'trap "echo hup >> signs" HUP; trap "echo usr1 >> signs" USR1; echo $$ > ready; while :; do sleep 0.02; done';
      writeFileSync(
        sandbox.path('start.sh'),
        `echo $$ > launcher; exec nohup ${REEVE} run -s a -- sh -c '${script}' > out 2>&1`,
      );
      const { terminal, go } = heldOnTerminal('launch.claimed', 'sh start.sh; true');
      const launcher = await sandbox.pidFrom('launcher');
      await isHeld();
      terminal.kill('SIGKILL');
      await heardOfIt(launcher);
      go();
      await sandbox.pidFrom('ready');
      // Passed on in their order: once this one is there, so is whatever came before it.
      signalSeen(launcher, 'SIGUSR1');
      await eventually('the signal behind it', () => existsSync(sandbox.path('signs')), LIMIT_MS);
      expect(readFileSync(sandbox.path('signs'), 'utf8')).toBe('usr1\n');
      await sandbox.reeve(['kill', 'a']);
    },
    LIMIT_MS,
  );
});

describe('reeve run, when its terminal is closed, exits', () => {
  /** The shell that leads the session dies of it; then all in the foreground are told, and one of them waits for the code. */
  const noting = (script: string) =>
    `(trap "" HUP; ${REEVE} run -s a -- sh -c '${script}'; echo $? > code); true`;
  const noted = () =>
    eventually(
      'it has exited',
      // The shell makes the file before it writes into it.
      () => (existsSync(sandbox.path('code')) && readFileSync(sandbox.path('code'), 'utf8').trim()) || null,
      LIMIT_MS,
    );

  it.each([
    ['129 for a command that the hang-up ended', 'echo $$ > ready; exec sleep 600', '129'],
    ['143 for one that had to be asked', STUBBORN, '143'],
    [
      'with the code that the command chose',
      'trap "exit 5" HUP; echo $$ > ready; while :; do sleep 0.02; done',
      '5',
    ],
  ])(
    '%s',
    async (_, script, code) => {
      const terminal = onTerminal(noting(script));
      await sandbox.pidFrom('ready');
      terminal.kill('SIGKILL');
      expect(await noted()).toBe(code);
    },
    LIMIT_MS,
  );

  it(
    '1 when the command was never executed',
    async () => {
      const { terminal, go } = heldOnTerminal('keeper.holding', noting('echo $$ > ready'));
      await isHeld();
      terminal.kill('SIGKILL');
      await eventually('the terminal is gone', () => terminal.signalCode !== null);
      go();
      expect(await noted()).toBe('1');
      expect(existsSync(sandbox.path('ready'))).toBe(false);
    },
    LIMIT_MS,
  );
});

describe('a run in a session of its own, which is on a terminal that nobody tells it about', () => {
  const apart = `setsid --wait ${REEVE} run -s a -- sh -c`;

  it(
    'has been hung up when its command saw by itself that the terminal was gone',
    async () => {
      const looking = 'echo $$ > ready; while [ -t 1 ]; do sleep 0.02; done; exit 4';
      const terminal = onTerminal(`${apart} '${looking}'`);
      await sandbox.pidFrom('ready');
      // Until it has told of the command, its keeper looks for the terminal by itself, and would be first.
      await eventually('it is on record', async () => (await sandbox.show('a')).run.pid !== null);
      terminal.kill('SIGKILL');
      expect(await endedRun()).toMatchObject({
        outcome: 'stopped',
        exitCode: 4,
        reason: expect.stringContaining('terminal was closed'),
      });
    },
    LIMIT_MS,
  );

  it(
    'hears of a hang-up that comes a moment before the terminal is gone',
    async () => {
      const terminal = onTerminal(`${apart} '${STUBBORN}'`);
      const worker = await sandbox.pidFrom('ready');
      const keeper = see(parentOf(worker.pid));
      // Its command is quicker than it is in listening.
      await eventually('it listens', () => isListening(keeper));
      const before = pausesOf(keeper);
      signalSeen(keeper, 'SIGHUP');
      await eventually('it has looked, and found its terminal there', () => pausesOf(keeper) >= before + 3);
      terminal.kill('SIGKILL');
      expect(await endedRun()).toMatchObject({ outcome: 'stopped', signal: 'SIGTERM' });
    },
    LIMIT_MS,
  );
});

describe('the end of a terminal is not meant for', () => {
  it(
    'a run under nohup',
    async () => {
      const terminal = onTerminal(
        `nohup ${REEVE} run -s a -- sh -c 'echo $$ > ready; exec sleep 600' > out 2>&1; true`,
      );
      const worker = await sandbox.pidFrom('ready');
      const [launcher, keeper] = [launcherOf(worker), see(parentOf(worker.pid))];
      terminal.kill('SIGKILL');
      for (const each of [launcher, keeper, worker]) await heardOfIt(each);
      expect((await sandbox.show('a')).run.liveness).toBe('alive');
      expect([launcher, keeper, worker].map(isAlive)).toEqual([true, true, true]);
      await sandbox.reeve(['kill', 'a']);
    },
    LIMIT_MS,
  );

  it(
    'a run in the background, whose shell does not pass it on',
    async () => {
      const signs = sandbox.path('signs');
      const script = `trap "echo hup >> ${signs}" HUP; trap "echo usr1 >> ${signs}" USR1; echo $$ > ready; while :; do sleep 0.02; done`;
      const terminal = onTerminal(`set -m; ${REEVE} run -s a -- sh -c '${script}' & read line`);
      const worker = await sandbox.pidFrom('ready');
      const keeper = see(parentOf(worker.pid));
      terminal.kill('SIGKILL');
      await heardOfIt(keeper);
      const before = pausesOf(keeper);
      // Its timer rings, put forward: it looks, and goes on waiting.
      signalSeen(keeper, 'SIGALRM');
      await eventually('it has looked', () => pausesOf(keeper) > before);
      // A shell attends to a hang-up first.
      signalSeen(worker, 'SIGUSR1');
      await eventually('the signal behind it', () => existsSync(signs));
      expect(readFileSync(signs, 'utf8')).toBe('usr1\n');
      await sandbox.reeve(['kill', 'a']);
    },
    LIMIT_MS,
  );

  it(
    'a detached run',
    async () => {
      const terminal = onTerminal(
        `${REEVE} run -d -s a -- sh -c 'echo $$ > ready; exec sleep 600'; read line`,
      );
      const worker = await sandbox.pidFrom('ready');
      terminal.kill('SIGKILL');
      await eventually('the terminal is gone', () => terminal.signalCode !== null);
      expect((await sandbox.show('a')).run.liveness).toBe('alive');
      expect(isAlive(worker)).toBe(true);
      await sandbox.reeve(['kill', 'a']);
    },
    LIMIT_MS,
  );
});

it.each([
  ['', 'exec', ''],
  [', also under nohup', 'nohup', '> out 2>&1; true'],
])(
  'a hang-up that somebody only sends, with the terminal still there, is the command’s own business%s',
  async (_, before, behind) => {
    const counting =
      'trap "echo hup >> hups" HUP; echo $$ > ready; while [ ! -e hups ]; do sleep 0.02; done; exit 3';
    const terminal = onTerminal(`${before} ${REEVE} run -s a -- sh -c '${counting}' ${behind}`);
    const worker = await sandbox.pidFrom('ready');
    signalSeen(launcherOf(worker), 'SIGHUP');
    expect(await endedRun()).toMatchObject({ outcome: 'failed', exitCode: 3 });
    await eventually('the terminal is closed', () => terminal.exitCode !== null);
  },
  LIMIT_MS,
);

/** How often it has gone to sleep: while it looks again and again it does so after each look, otherwise once. */
function pausesOf({ pid }: Seen): number {
  const status = readFileSync(`/proc/${pid}/status`, 'latin1');
  return Number(/^voluntary_ctxt_switches:\s*(\d+)$/m.exec(status)?.[1]);
}

/** SIGHUP is the first of the signals. */
function isListening({ pid }: Seen): boolean {
  const caught = /^SigCgt:\s*([0-9a-f]+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1];
  return (BigInt(`0x${caught ?? '0'}`) & 1n) === 1n;
}

/** The kernel sends the signal before it takes the terminal away; nothing of it is waiting to be delivered any more. */
async function heardOfIt({ pid }: Seen): Promise<void> {
  await eventually('it has heard of it', () => {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const hasTerminal = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[4] !== '0';
    const isDelivered = /^ShdPnd:\s*0*$/m.test(readFileSync(`/proc/${pid}/status`, 'latin1'));
    return !hasTerminal && isDelivered;
  });
}
