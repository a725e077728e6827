/** What Reeve works with on this machine: programs, the harnesses and what was put into their settings, its own daemon. */
import { execFileSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { age, clock } from '../api/time-words.ts';
import { allAdapters } from '../harness/adapters.ts';
import { HOOK_TARGETS } from '../harness/hook-settings/hook-settings.ts';
import type { HookStatus } from '../harness/hook-settings/hook-settings.ts';
import { findProgram } from '../harness/native-program.ts';
import { isShim, SHIM_NAMES, shimDirectories, shimStatus } from '../harness/shim.ts';
import { findTmux } from '../runtime/tmux.ts';
import type { Machine } from './context.ts';
import { findDaemon } from './daemon-place.ts';
import type { Check } from './doctor.ts';
import { hookStatusFor } from './harness-settings.ts';
import { homeFrom } from './home.ts';
import { ownProgram } from './own-program.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** What `findTmux` asks people for: older ones lack parts of what a pane is started with. */
const OLDEST_TMUX = [3, 2] as const;
/** Each of these programs answers at once, or hangs. */
const LIMIT_MS = 5_000;

/** Only sessions with --tmux need it. */
export function checkTmux(): Check {
  const path = findTmux();
  const version = said(path, '-V').replace(/^tmux /, '');
  // `next-3.4` is what builds between two versions are called.
  const [, major, minor] = /(\d+)\.(\d+)/.exec(version) ?? [];
  const [least, then] = OLDEST_TMUX;
  const isOld =
    major !== undefined && (Number(major) < least || (Number(major) === least && Number(minor) < then));
  return isOld
    ? poor(
        'tmux',
        `${path} is version ${version}. Sessions with --tmux need ${OLDEST_TMUX.join('.')} or newer.`,
      )
    : good('tmux', `${path} ${version} for sessions with --tmux.`);
}

/** Only reviews ask it. */
export function checkGit(): Check {
  try {
    return good('git', `${said('git', '--version')} for reviews.`);
  } catch {
    return poor('git', 'git was not found, and reviews need it.');
  }
}

export async function checkHarnesses(environment: Environment): Promise<Check> {
  const found = await installedHarnesses(environment);
  const says = [...found].map(([name, path]) => `${name} (${path})`).join(', ');
  return found.size === 0
    ? poor('harnesses', `None of ${SHIM_NAMES.join(', ')} is on the PATH.`)
    : good('harnesses', `${says}.`);
}

/** By name; shims are none. */
async function installedHarnesses(environment: Environment): Promise<ReadonlyMap<string, string>> {
  const names = (await allAdapters()).map(({ name }) => name).filter((name) => name !== 'command');
  return new Map(
    names.flatMap((name): [string, string][] => {
      const path = findProgram(name, environment['PATH'] ?? '', '/');
      return path === null ? [] : [[name, path]];
    }),
  );
}

export async function checkHooks(environment: Environment): Promise<readonly Check[]> {
  const harnesses = await installedHarnesses(environment);
  return HOOK_TARGETS.flatMap((target): Check[] => {
    const status = hookStatusFor(target, environment);
    const problem = hookProblem(status, harnesses.has(target));
    if (problem !== null) return [poor('hooks', problem)];
    return status.is === 'installed' ? [good('hooks', `${target} has them, in ${status.path}.`)] : [];
  });
}

function hookProblem(status: HookStatus, isInstalled: boolean): string | null {
  const { target } = status;
  switch (status.is) {
    case 'unreadable':
      return status.because;
    case 'partly':
      return `${target} has only some of them, or those of another version. Mend it: reeve hooks install ${target}`;
    case 'installed':
      return status.switchedOffBy === null
        ? null
        : `Those of ${target} are switched off by ${status.switchedOffBy}.`;
    case 'absent':
      // The others are given them for each launch; Gemini takes them so only from root.
      return target === 'gemini' && isInstalled && process.getuid?.() !== 0
        ? 'What gemini does is not known without them. Install them: reeve hooks install gemini'
        : null;
  }
}

export function checkShims(environment: Environment): readonly Check[] {
  const path = environment['PATH'] ?? '';
  const directories = shimDirectories(join(homeFrom(environment).path, 'shims'), ownProgram(), path);
  return directories.flatMap((directory) => {
    const shims = shimStatus(directory, SHIM_NAMES, ownProgram(), path).filter((each) => isShim(each.path));
    const outdated = shims.filter(({ is }) => is === 'outdated').map(({ name }) => name);
    const behind = shims.filter(({ first }) => first !== 'shim').map(({ name }) => name);
    if (outdated.length > 0) {
      const names = outdated.join(' ');
      return [
        poor(
          'shims',
          `Of another version in ${directory}: ${names}. Mend it: reeve shim install ${names} --dir ${directory}`,
        ),
      ];
    }
    return behind.length > 0
      ? [
          poor(
            'shims',
            `${directory} does not come first on the PATH, so these are not used: ${behind.join(', ')}.`,
          ),
        ]
      : [good('shims', `${shims.map(({ name }) => name).join(', ')} in ${directory}.`)];
  });
}

export function checkDaemon(machine: Machine, nowMs: number): Check {
  const seen = findDaemon(machine);
  if (seen.is === 'none') return good('daemon', 'None is running, and nothing needs one.');
  const {
    process: { pid },
    version,
    startedAtMs,
  } = seen.record;
  const who = `pid ${pid}, version ${version}, since ${clock(startedAtMs)}, ${age(startedAtMs, nowMs)} ago`;
  if (seen.is === 'unknown')
    return poor('daemon', `Whether it lives is not known (${who}): ${seen.because}.`);
  // When it was put there: npm gives all files that it installs the same time of change.
  const installedAtMs = statSync(ownProgram()[1] ?? '', { throwIfNoEntry: false })?.ctimeMs ?? 0;
  return installedAtMs > startedAtMs
    ? poor(
        'daemon',
        `It is older than the Reeve that is installed (${who}). Replace it: reeve serve --detach --replace`,
      )
    : good('daemon', `${who}.`);
}

function said(program: string, flag: string): string {
  return execFileSync(program, [flag], {
    encoding: 'utf8',
    timeout: LIMIT_MS,
    stdio: ['ignore', 'pipe', 'ignore'],
  }).trim();
}

function good(name: string, says: string): Check {
  return { name, is: 'good', says };
}

function poor(name: string, says: string): Check {
  return { name, is: 'poor', says };
}
