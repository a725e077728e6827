/** hook.sh as a harness calls it: whatever becomes of Reeve, the payload is taken and the harness goes on. */
import { spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { hookCommand } from '../../src/harness/hook-command.ts';

const HOOK = fileURLToPath(new URL('../../src/hook/hook.sh', import.meta.url));
const RUN = 'r-hooktest';
/** More than a pipe holds: whoever leaves without reading breaks the pipe for its writer. */
const LARGE = Buffer.alloc(1024 * 1024, '{"hook_event_name":"PostToolUse"} ');
/** A harness waits for its hooks. Busy as this machine may be, a hook that takes this long has hung. */
const LIMIT_MS = 5_000;

/** Mounts that only the command sees. */
const OWN_MOUNTS = ['unshare', process.getuid?.() === 0 ? '-m' : '-rm'];

let root: string;
let home: string;
let run: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'reeve-hook-'));
  home = join(root, 'state');
  run = join(home, 'runs', RUN);
  mkdirSync(join(run, 'hooks'), { recursive: true });
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

interface Called {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** What became of the writing of the payload. */
  readonly broken: string | null;
  readonly tookMs: number;
}

/** Calls it as a harness does: payload written while it runs, its end awaited. */
function call(
  command: readonly string[],
  payload: string | Buffer,
  env: Record<string, string> = {},
): Promise<Called> {
  const [program = '', ...args] = command;
  const beganMs = performance.now();
  const child = spawn(program, args, {
    env: { PATH: '/usr/bin:/bin', ...env },
    stdio: 'pipe',
  });
  let stdout = '';
  let stderr = '';
  let broken: string | null = null;
  child.stdout.on('data', (chunk) => (stdout += String(chunk)));
  child.stderr.on('data', (chunk) => (stderr += String(chunk)));
  child.stdin.on('error', (error) => (broken = String(error)));
  child.stdin.end(payload);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) =>
      resolve({ code, stdout, stderr, broken, tookMs: performance.now() - beganMs }),
    );
  });
}

const asHarness = (payload: string | Buffer, directory: string | null, env: Record<string, string> = {}) =>
  call(['sh', '-c', hookCommand(HOOK, directory)], payload, env);

async function goesOn(called: Promise<Called>): Promise<void> {
  const { code, stdout, broken, tookMs } = await called;
  expect({ code, stdout, broken }).toEqual({ code: 0, stdout: '', broken: null });
  expect(tookMs).toBeLessThan(LIMIT_MS);
}

async function goesOnInSilence(called: Promise<Called>): Promise<void> {
  await goesOn(called);
  expect((await called).stderr).toBe('');
}

function spooled(directory = join(run, 'hooks')): readonly { head: string; payload: Buffer; end: string }[] {
  return readdirSync(directory).map((name) => {
    const message = readFileSync(join(directory, name));
    const at = message.indexOf('\n') + 1;
    const end = message.length - '\nwhole\n'.length;
    return {
      head: message.toString('latin1', 0, at),
      payload: message.subarray(at, end),
      end: message.toString('latin1', end),
    };
  });
}

const SHELLS: readonly (readonly string[])[] = [
  ['dash'],
  ['bash', '--posix'],
  ['busybox', 'sh'],
  ['ksh'],
  ['sh'],
].filter(([program = '']) => spawnSync('sh', ['-c', `command -v ${program}`]).status === 0);

describe.each(SHELLS.map((words) => [words.join(' '), words] as const))('under %s', (_, shell) => {
  it.each([
    ['of one line', Buffer.from('{"session_id":"x"}')],
    ['of nothing', Buffer.alloc(0)],
    ['of several lines, with a last line like the message’s own', Buffer.from('{\n "a": 1\n}\n\nwhole\n')],
    ['of bytes that are no text', Buffer.from(Array.from({ length: 512 }, (__, index) => index % 256))],
    ['with backslashes and percent signs', Buffer.from(String.raw`{"prompt":"\\n %s %n \c"}`)],
    ['of a megabyte', LARGE],
  ])('a payload %s is handed over whole, for this user alone', async (__, payload) => {
    await goesOn(call([...shell, HOOK, run], payload));
    const messages = spooled();
    expect(messages).toHaveLength(1);
    expect(messages[0]?.payload.equals(payload)).toBe(true);
    expect(messages[0]?.end).toBe('\nwhole\n');
    expect(messages[0]?.head).toMatch(new RegExp(String.raw`^launch ${RUN} ${process.pid}( \d+)+\n$`));
    expect(statSync(join(run, 'hooks', readdirSync(join(run, 'hooks'))[0] ?? '')).mode & 0o777).toBe(0o600);
  });

  it('a directory that cannot be written to costs the message, and nothing else', async () => {
    // Root may write anywhere but to a file system that is mounted read-only.
    const script = `mount -t tmpfs -o ro none "$1/hooks" || exit 99; shift; exec "$@"`;
    await goesOn(call([...OWN_MOUNTS, 'sh', '-c', script, 'sh', run, ...shell, HOOK, run], LARGE));
    expect(spooled()).toEqual([]);
  });

  it('a full disk costs the message, and no half of it stays', async () => {
    const script = `mount -t tmpfs -o size=64k none "$1/hooks" || exit 99; run=$1; shift; "$@" || exit; ls "$run/hooks"`;
    await goesOn(call([...OWN_MOUNTS, 'sh', '-c', script, 'sh', run, ...shell, HOOK, run], LARGE));
  });

  it('a reused pid does not overwrite a message that was not read', async () => {
    const script = 'printf first >"$1/hooks/$$.0"; printf half >"$1/hooks/$$.1"; shift; exec "$@"';
    await goesOn(call(['sh', '-c', script, 'sh', run, ...shell, HOOK, run], 'second'));
    const texts = readdirSync(join(run, 'hooks')).map((name) =>
      readFileSync(join(run, 'hooks', name), 'utf8'),
    );
    expect(texts.filter((text) => text === 'first' || text === 'half')).toHaveLength(2);
    expect(texts.filter((text) => text.endsWith('second\nwhole\n'))).toHaveLength(1);
  });

  it('after the run’s end the message goes where late ones are found', async () => {
    writeFileSync(join(run, 'exit.json'), '{}');
    await goesOn(call([...shell, HOOK, run], 'late'));
    expect(spooled()).toEqual([]);
    expect(spooled(join(home, 'late-hooks')).map(({ payload }) => String(payload))).toEqual(['late']);
  });
});

describe('the command that a harness is given', () => {
  it.each([
    ['the run’s directory is gone', () => rmSync(run, { recursive: true }), {}],
    ['the whole state directory is gone', () => rmSync(home, { recursive: true }), {}],
    ['a file is in place of the spool', () => replaceByFile(join(run, 'hooks')), {}],
    ['a file is in place of the late spool', () => withLate((late) => writeFileSync(late, '')), {}],
  ])('succeeds in silence, and takes the payload, when %s', async (_, damage, env) => {
    damage();
    await goesOnInSilence(asHarness(LARGE, run, env));
  });

  it.each([
    ['no marks at all', {}],
    ['no REEVE_RUN', { REEVE_HOME: '/nowhere' }],
    ['an empty REEVE_RUN', { REEVE_HOME: '/nowhere', REEVE_RUN: '' }],
    ['no REEVE_HOME', { REEVE_RUN: RUN }],
    ['marks of a run that is not there', { REEVE_HOME: '/nowhere', REEVE_RUN: RUN }],
  ])('when it was installed for all sessions, takes the payload and does nothing: %s', async (_, env) => {
    await goesOnInSilence(asHarness(LARGE, null, env));
    expect(spooled()).toEqual([]);
  });

  it('when it was installed for all sessions, reports to the run in whose environment it is', async () => {
    await goesOnInSilence(asHarness('{}', null, { REEVE_HOME: home, REEVE_RUN: RUN }));
    expect(spooled()).toEqual([
      {
        head: expect.stringMatching(new RegExp(`^installed ${RUN} `)),
        payload: Buffer.from('{}'),
        end: '\nwhole\n',
      },
    ]);
  });

  it('names the processes above it, nearest first, with the harness behind at most one shell', async () => {
    await goesOnInSilence(asHarness('{}', run));
    const above = (spooled()[0]?.head ?? '').trim().split(' ').slice(2).map(Number);
    expect(above.slice(0, 2)).toContain(process.pid);
    expect(above[above.indexOf(process.pid) + 1]).toBe(process.ppid);
  });

  it('without /proc asks ps for the one that started its shell', async () => {
    const bin = join(root, 'bin');
    mkdirSync(bin);
    // As macOS prints it: right-aligned.
    writeFileSync(join(bin, 'ps'), `#!/bin/sh\n[ "$1 $2 $3" = "-o ppid= -p" ] && printf '%7d\\n' 4711\n`);
    chmodSync(join(bin, 'ps'), 0o755);
    const script = 'mount -t tmpfs none /proc || exit 99; exec "$@"';
    const command = [...OWN_MOUNTS, 'sh', '-c', script, 'sh', 'sh', HOOK, run];
    await goesOn(call(command, '{}', { PATH: `${bin}:/usr/bin:/bin` }));
    expect(spooled()[0]?.head).toBe(`launch ${RUN} ${process.pid} 4711\n`);
  });

  it.each(['a b', `it's`, '"quoted" $HOME `id`', 'ü\nnew line', '-dash', '*'])(
    'finds a directory whose name is %j',
    async (name) => {
      const directory = join(root, name, 'runs', RUN);
      mkdirSync(join(directory, 'hooks'), { recursive: true });
      const { code } = await asHarness('{}', directory);
      expect({ code, count: spooled(join(directory, 'hooks')).length }).toEqual({ code: 0, count: 1 });
      writeFileSync(join(directory, 'exit.json'), '{}');
      await goesOnInSilence(asHarness('{}', directory));
      expect(spooled(join(root, name, 'late-hooks'))).toHaveLength(1);
    },
  );

  it('succeeds when no file may grow so large, and leaves no message that looks whole', async () => {
    const limited = ['prlimit', '--fsize=4096', '--core=0', 'sh', '-c', hookCommand(HOOK, run)];
    const { code } = await call(limited, LARGE);
    expect(code).toBe(0);
    expect(spooled().filter(({ end }) => end === '\nwhole\n')).toEqual([]);
  });

  it('leaves no message that looks whole when its payload could not be read to the end', async () => {
    const bin = join(root, 'bin');
    mkdirSync(bin);
    writeFileSync(join(bin, 'cat'), '#!/bin/sh\n/bin/cat\nexit 1\n', { mode: 0o755 });
    const { code } = await asHarness('{}', run, { PATH: `${bin}:/usr/bin:/bin` });
    expect({ code, messages: spooled() }).toEqual({ code: 0, messages: [] });
  });

  it('succeeds when its program is gone', async () => {
    const { code, stdout, stderr } = await call(['sh', '-c', hookCommand(join(root, 'gone.sh'), run)], '{}');
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: '', stderr: '' });
  });

  it.each([
    ['while the run lives', false],
    ['after its end', true],
  ])('fifty at once lose none of each other’s messages, %s', async (_, isOver) => {
    if (isOver) writeFileSync(join(run, 'exit.json'), '{}');
    const payloads = Array.from(
      { length: 50 },
      (__, index) => `payload ${index} ${'x'.repeat(index * 1000)}`,
    );
    await Promise.all(payloads.map((payload) => goesOnInSilence(asHarness(payload, run))));
    const directory = isOver ? join(home, 'late-hooks') : join(run, 'hooks');
    expect(
      spooled(directory)
        .map(({ payload }) => String(payload))
        .toSorted(),
    ).toEqual(payloads.toSorted());
  });
});

function replaceByFile(path: string): void {
  rmSync(path, { recursive: true });
  writeFileSync(path, '');
}

function withLate(damage: (late: string) => void): void {
  writeFileSync(join(run, 'exit.json'), '{}');
  damage(join(home, 'late-hooks'));
  expect(existsSync(join(home, 'late-hooks'))).toBe(true);
}
