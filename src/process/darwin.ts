/**
 * macOS: through `ps` and `sysctl`, since there is no /proc. Start times have steps of a second here, so a pid that
 * is reused within its own second cannot be told apart; macOS hands out pids in order, which makes that improbable.
 */
import { execFileSync } from 'node:child_process';
import { hostOf } from '../lifecycle/installation.ts';
import type {
  HostIdentity,
  ProcessDetails,
  ProcessFact,
  ProcessReading,
  ProcessTable,
} from './process-table.ts';

/**
 * Runs a program and returns what it printed; throws when it failed, with `status`, `stdout` and `stderr` as
 * execFileSync gives them. `ps` exits 1, without a word, for a pid that is not there.
 */
export type Ask = (program: string, args: readonly string[]) => string;

const FACT_COLUMNS = 'pid=,ppid=,pgid=,stat=,lstart=,comm=';
/** A busy Mac lists about a thousand processes in 100 ms. */
const ASK_TIMEOUT_MS = 5_000;
const ASK_MAX_BYTES = 64 * 1024 * 1024;

export function createDarwinProcessTable(ask: Ask = askSystem, installation = ''): ProcessTable {
  return {
    host: hostIdentity(ask, installation),
    read: (pid) => readProcess(ask, pid),
    all: () => readAll(ask),
    childrenOf: () => null,
    startedWith: (assignment, among) => {
      // Read first: whoever has one of these pids later than that has another start time.
      const facts = readAll(ask);
      const marked = new Set(findMarked(ask, assignment));
      return facts.filter(({ pid }) => marked.has(pid) && (among === undefined || among.includes(pid)));
    },
    bearing: () => [],
    // macOS withholds the environments of its own programs from everybody: that says nothing of whose they are.
    withheld: () => [],
    details: (pid) => detailsOf(ask, pid),
    memoryOf: (pids) => memoryOf(ask, pids),
    startedAtMs: ({ startTime }) => startedAtMs(startTime),
    awakeMs: () => awakeMs(ask),
  };
}

function parseFacts(output: string): readonly ProcessFact[] {
  return output.split('\n').flatMap((line) => {
    const match = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(\w{3}\s+\w{3}\s+\d+\s+[\d:]{8}\s+\d{4})\s+(.*)$/.exec(
      line,
    );
    if (match === null) return [];
    const [, pid, parentPid, groupId, stat = '', startTime = '', command = ''] = match;
    return [
      {
        pid: Number(pid),
        parentPid: Number(parentPid),
        groupId: Number(groupId),
        sessionId: null,
        startTime: startTime.replaceAll(/\s+/g, ' '),
        isStopped: stat.startsWith('T'),
        isZombie: stat.startsWith('Z'),
        name: command.split('/').at(-1) ?? command,
      },
    ];
  });
}

/**
 * `ps -E` puts the environment behind the arguments, and nothing between them: only what a second look without it does
 * not show is environment, or a person's `grep REEVE_RUN=…` would pass for a member of the run. macOS shows nobody the
 * environment of its own programs (/bin/zsh, /bin/sleep): of these the mark tells nothing, descent and group must.
 */
function findMarked(ask: Ask, assignment: string): readonly number[] {
  const commands = parseCommands(ask('ps', ['-axww', '-o', 'pid=,command=']));
  const extended = parseCommands(ask('ps', ['-axwwE', '-o', 'pid=,command=']));
  return [...extended].flatMap(([pid, text]) => {
    const command = commands.get(pid);
    // Another program meanwhile, or new: not proven, and found in other ways or by the next look.
    if (command === undefined || !text.startsWith(`${command} `)) return [];
    return text.slice(command.length).split(' ').includes(assignment) ? [pid] : [];
  });
}

function parseCommands(output: string): ReadonlyMap<number, string> {
  return new Map(
    output.split('\n').flatMap((line) => {
      const match = /^\s*(\d+)\s+(.*)$/.exec(line);
      return match === null ? [] : [[Number(match[1]), match[2]?.trimEnd() ?? ''] as const];
    }),
  );
}

/** `ps` joins the words of a command with blanks, so a word with a blank in it falls apart: enough for ids and flags. */
function detailsOf(ask: Ask, pid: number): ProcessDetails | null {
  const say = (...args: readonly string[]) => {
    try {
      return ask('ps', ['-ww', ...args, '-p', String(pid), '-o', 'command=']).trim();
    } catch {
      return '';
    }
  };
  const command = say();
  if (command === '') return null;
  const environment = () =>
    say('-E')
      .slice(command.length)
      .split(' ')
      .flatMap((word) => (/^\w+=/.test(word) ? [word.split(/=(.*)/s, 2) as [string, string]] : []));
  return {
    argv: command.split(' '),
    cwd: () => null,
    environment: () => Object.fromEntries(environment()),
    openFiles: () => [],
  };
}

function memoryOf(ask: Ask, pids: readonly number[]): ReadonlyMap<number, number> {
  const wanted = new Set(pids);
  if (wanted.size === 0) return new Map();
  const rows = ask('ps', ['-ax', '-o', 'pid=,rss=']).matchAll(/^\s*(\d+)\s+(\d+)\s*$/gm);
  const all = Array.from(rows, ([, pid, kilobytes]) => [Number(pid), Number(kilobytes) * 1024] as const);
  return new Map(all.filter(([pid]) => wanted.has(pid)));
}

/**
 * Node's own clock counts sleep here: libuv reads mach_continuous_time. CLOCK_UPTIME_RAW, number 8, does not, and of what
 * every Mac has, Perl, which a keeper needs anyway, can read it.
 */
function awakeMs(ask: Ask): number | null {
  try {
    const program = 'print Time::HiRes::clock_gettime(8)';
    const seconds = Number(ask('/usr/bin/perl', ['-MTime::HiRes', '-e', program]));
    return seconds > 0 ? Math.floor(seconds * 1000) : null;
  } catch {
    return null; // A run must not fail to start for want of it.
  }
}

function startedAtMs(startTime: string): number | null {
  const atMs = Date.parse(`${startTime} UTC`);
  return Number.isNaN(atMs) ? null : atMs;
}

/** There is always a process to list: an answer without one is a table that could not be read. */
function readAll(ask: Ask): readonly ProcessFact[] {
  const facts = parseFacts(ask('ps', ['-axww', '-o', FACT_COLUMNS]));
  if (facts.length === 0) throw new Error('ps listed no process that could be understood.');
  return facts;
}

function readProcess(ask: Ask, pid: number): ProcessReading {
  try {
    const fact = parseFacts(ask('ps', ['-ww', '-p', String(pid), '-o', FACT_COLUMNS]))[0];
    if (fact?.pid === pid) return { is: 'there', fact };
    return { is: 'unreadable', because: 'what ps said of it makes no sense' };
  } catch (error) {
    return saysNoSuchProcess(error) ? { is: 'gone' } : { is: 'unreadable', because: 'ps did not answer' };
  }
}

/** A refused or mistaken `ps` exits 1 as well, but says why. Every failure but the silent one tells nothing. */
function saysNoSuchProcess(error: unknown): boolean {
  const said = (name: 'stdout' | 'stderr') =>
    error instanceof Error && name in error ? String(Object(error)[name]) : '';
  return (
    error instanceof Error &&
    'status' in error &&
    error.status === 1 &&
    (said('stdout') + said('stderr')).trim() === ''
  );
}

/** Not kern.uuid: that names the build of the kernel, which is the same on every Mac with the same macOS. */
function hostIdentity(ask: Ask, installation: string): HostIdentity {
  const hardware = ask('ioreg', ['-rd1', '-c', 'IOPlatformExpertDevice']);
  const host = /"IOPlatformUUID" = "([^"]+)"/.exec(hardware)?.[1];
  const boot = ask('sysctl', ['-n', 'kern.bootsessionuuid']).trim();
  // An empty answer would be equal to another machine's empty answer.
  if (host === undefined || boot === '') throw new Error('This Mac does not tell its hardware or boot UUID.');
  return { host: hostOf(host, installation), boot, pidNamespace: 'darwin' };
}

export function askSystem(program: string, args: readonly string[]): string {
  return execFileSync(program, [...args], {
    encoding: 'utf8',
    // Start times are compared as text: they must not change with the language or the time zone of a laptop.
    env: { PATH: '/bin:/usr/bin:/usr/sbin:/sbin', LC_ALL: 'C', TZ: 'UTC0' },
    timeout: ASK_TIMEOUT_MS,
    maxBuffer: ASK_MAX_BYTES,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}
