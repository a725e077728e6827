import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { askSystem, createDarwinProcessTable } from '../../src/process/darwin.ts';
import type { Ask } from '../../src/process/darwin.ts';
import { probe } from '../../src/process/liveness.ts';
import { identify } from '../../src/process/process-table.ts';
import type { ProcessTable } from '../../src/process/process-table.ts';

/** Written after the manual and sources of macOS's ps, ioreg and sysctl; the names and numbers are made up. */
function recorded(name: string): string {
  return readFileSync(new URL(`../fixtures/process-darwin/${name}.txt`, import.meta.url), 'utf8');
}
const FACTS = recorded('ps-facts');
const HOST = {
  host: '1D2C3B4A-5F6E-5788-99AA-BBCCDDEEFF00',
  boot: '7E4F1A90-3B62-4C1D-8A55-0D9E6F1B2C3D',
  pidNamespace: 'darwin',
};
const COLUMNS = 'pid=,ppid=,pgid=,stat=,lstart=,comm=';
const LIST = `ps -axww -o ${COLUMNS}`;

function failure(how: Readonly<Record<string, unknown>>): () => never {
  return () => {
    throw Object.assign(new Error('Command failed'), how);
  };
}
/** What execFileSync throws for a pid that is not there. */
const NO_SUCH_PROCESS = failure({ status: 1, signal: null, stdout: '', stderr: '' });

/** A Mac that answers as recorded, or as told, by command. */
function mac(answers: Readonly<Record<string, string | (() => string)>> = {}): ProcessTable {
  const ask: Ask = (program, args) => {
    const command = [program, ...args].join(' ');
    const told = answers[command];
    if (told !== undefined) return typeof told === 'string' ? told : told();
    if (command === LIST) return FACTS;
    if (command === 'ps -axwwE -o pid=,command=') return recorded('ps-environments');
    if (command === 'ps -axww -o pid=,command=') return recorded('ps-commands');
    if (command === 'ioreg -rd1 -c IOPlatformExpertDevice') return recorded('ioreg-platform');
    if (command === 'sysctl -n kern.bootsessionuuid') return recorded('sysctl-boot');
    const pid = /^ps -ww -p (\d+) -o /.exec(command)?.[1];
    if (pid === undefined) throw new Error(`This Mac was not told how to answer: ${command}`);
    return FACTS.split('\n').find((line) => line.trim().startsWith(`${pid} `)) ?? NO_SUCH_PROCESS();
  };
  return createDarwinProcessTable(ask);
}

function lookAt(pid: number): string {
  return `ps -ww -p ${pid} -o ${COLUMNS}`;
}

describe('the list of processes of a Mac', () => {
  it('is read whole, with one space in each start time', () => {
    const boot = 'Mon Nov 3 07:58:01 2025';
    const session = { sessionId: null, isZombie: false, isStopped: false };
    expect(mac().all()).toEqual([
      { ...session, pid: 0, parentPid: 0, groupId: 0, startTime: boot, name: 'kernel_task' },
      { ...session, pid: 1, parentPid: 0, groupId: 1, startTime: boot, name: 'launchd' },
      {
        ...session,
        pid: 121,
        parentPid: 1,
        groupId: 121,
        startTime: 'Mon Nov 3 07:58:09 2025',
        name: 'logd',
      },
      {
        ...session,
        pid: 402,
        parentPid: 1,
        groupId: 402,
        startTime: 'Mon Nov 3 07:59:44 2025',
        name: 'Electron',
      },
      {
        ...session,
        pid: 519,
        parentPid: 1,
        groupId: 519,
        startTime: 'Mon Nov 3 08:00:02 2025',
        name: 'Finder',
      },
      {
        ...session,
        pid: 1604,
        parentPid: 402,
        groupId: 1604,
        startTime: 'Thu Nov 13 21:05:30 2025',
        name: 'login',
      },
      {
        ...session,
        pid: 1605,
        parentPid: 1604,
        groupId: 1605,
        startTime: 'Thu Nov 13 21:05:30 2025',
        name: '-zsh',
      },
      {
        ...session,
        pid: 71234,
        parentPid: 1,
        groupId: 71234,
        startTime: 'Sat Nov 15 20:22:07 2025',
        name: 'perl',
      },
      {
        ...session,
        pid: 71235,
        parentPid: 71234,
        groupId: 71235,
        startTime: 'Sat Nov 15 20:22:07 2025',
        name: 'claude',
      },
      {
        ...session,
        pid: 71240,
        parentPid: 71235,
        groupId: 71240,
        startTime: 'Sat Nov 15 20:22:11 2025',
        name: 'zsh',
      },
      {
        ...session,
        pid: 71241,
        parentPid: 71235,
        groupId: 71235,
        startTime: 'Sat Nov 15 20:22:12 2025',
        isZombie: true,
        isStopped: false,
        name: '(node)',
      },
      {
        ...session,
        pid: 71260,
        parentPid: 1605,
        groupId: 71260,
        startTime: 'Sat Nov 15 20:23:00 2025',
        isZombie: true,
        isStopped: false,
        name: '<defunct>',
      },
      {
        ...session,
        pid: 71300,
        parentPid: 71240,
        groupId: 71240,
        startTime: 'Sat Nov 15 20:30:59 2025',
        name: 'sh (deleted) x',
      },
      {
        ...session,
        isStopped: true,
        pid: 71301,
        parentPid: 71240,
        groupId: 71301,
        startTime: 'Sat Nov 15 20:31:00 2025',
        name: 'two  spaces',
      },
    ]);
  });

  it.each([
    ['fails', failure({ status: 1, stdout: '', stderr: 'ps: not permitted' })],
    ['does not answer in time', failure({ status: null, signal: 'SIGTERM', code: 'ETIMEDOUT' })],
    ['lists nothing', ''],
    ['lists what cannot be understood', FACTS.replaceAll('Nov', '11月')],
  ])('throws when ps %s, rather than being empty', (_, answer) => {
    expect(() => mac({ [LIST]: answer }).all()).toThrow(/./);
  });
});

describe('a process of a Mac', () => {
  const CLAUDE = {
    pid: 71235,
    parentPid: 71234,
    groupId: 71235,
    sessionId: null,
    startTime: 'Sat Nov 15 20:22:07 2025',
    isZombie: false,
    isStopped: false,
    name: 'claude',
  };

  it('is read by its pid', () => {
    expect(mac().read(71235)).toEqual({ is: 'there', fact: CLAUDE });
  });

  it('has the same start time on the first and on a later day of a month, read alone or in the list', () => {
    const table = mac();
    expect([402, 71235].map((pid) => table.read(pid))).toEqual(
      [402, 71235].map((pid) => ({ is: 'there', fact: table.all().find((fact) => fact.pid === pid) })),
    );
  });

  it('is gone when ps exits 1 without a word', () => {
    expect(mac().read(99_999)).toEqual({ is: 'gone' });
  });

  it.each([
    [
      'takes too long',
      failure({ status: null, signal: 'SIGTERM', code: 'ETIMEDOUT', stdout: '', stderr: '' }),
    ],
    ['cannot be started', failure({ code: 'EAGAIN', syscall: 'spawnSync ps' })],
    [
      'exits 1 and says why',
      failure({ status: 1, stdout: '', stderr: 'ps: sysctl: Operation not permitted' }),
    ],
    ['exits 1 after it has listed something', failure({ status: 1, stdout: 'PID', stderr: '' })],
    ['exits 2', failure({ status: 2, stdout: '', stderr: '' })],
    ['answers nothing', ''],
    ['answers what cannot be understood', '71235 71234 71235 S  Sa. 15 Nov. 20:22:07 2025 claude'],
    ['answers about another process', FACTS],
  ])('is not known to be gone when ps %s', (_, answer) => {
    const table = mac({ [lookAt(71235)]: answer });
    expect(table.read(71235)).toMatchObject({ is: 'unreadable' });
    const identity = { ...HOST, pid: 71235, startTime: CLAUDE.startTime };
    expect(probe(table, identity)).toMatchObject({ is: 'unknown' });
  });

  it('is probed by its start time, and is dead as a zombie', () => {
    const table = mac();
    const alive = identify(table, 71235);
    expect(alive).toEqual({ ...HOST, pid: 71235, startTime: CLAUDE.startTime });
    expect(probe(table, alive)).toEqual({ is: 'alive' });
    const reused = { ...alive, startTime: 'Sat Nov 15 20:22:06 2025' };
    expect(probe(table, reused)).toMatchObject({ is: 'dead', proof: 'reused' });
    expect(probe(table, identify(table, 71241))).toMatchObject({ is: 'dead', proof: 'zombie' });
  });

  it('is found by the whole mark in its environment, and not by one among its arguments', () => {
    expect(mac().startedWith('REEVE_RUN=0198f3a2-run')).toMatchObject([CLAUDE, { pid: 71240 }]);
  });
});

describe('the identity of a Mac', () => {
  it('is that of its hardware and its boot', () => {
    expect(mac().host).toEqual(HOST);
  });

  it.each([
    ['ioreg -rd1 -c IOPlatformExpertDevice', ''],
    ['sysctl -n kern.bootsessionuuid', '\n'],
    ['sysctl -n kern.bootsessionuuid', failure({ status: 1 })],
  ])('is refused when %s gives none, for two such Macs would be the same', (command, answer) => {
    expect(() => mac({ [command]: answer })).toThrow(/./);
  });
});

describe('a question to the system', () => {
  it('is asked in one language and one time zone, for start times are compared as text', () => {
    const environment = askSystem('env', []).trim().split('\n').toSorted();
    expect(environment).toEqual(['LC_ALL=C', 'PATH=/bin:/usr/bin:/usr/sbin:/sbin', 'TZ=UTC0']);
  });

  it('that fails tells the status and what was said, by which a missing process is known', () => {
    expect(() => askSystem('sh', ['-c', 'echo out; echo err >&2; exit 1'])).toThrow(
      expect.objectContaining({ status: 1, stdout: 'out\n', stderr: 'err\n' }),
    );
  });

  it('about a pid that is not there fails as a missing process does', () => {
    // No kernel hands out a pid as high; the ps of Linux answers this one question as that of macOS does.
    expect(() => askSystem('ps', ['-p', '4194305', '-o', 'pid='])).toThrow(
      expect.objectContaining({ status: 1, stdout: '', stderr: '' }),
    );
  });
});
