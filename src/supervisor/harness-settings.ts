/** What people put into their own settings, for sessions that are started without Reeve too: hooks, and shims on PATH. */
import { join, resolve } from 'node:path';
import { ReeveError } from '../api/errors.ts';
import { hookCommand } from '../harness/hook-command.ts';
import { hookStatus, installHooks, removeHooks } from '../harness/hook-settings/hook-settings.ts';
import type {
  HookPlace,
  HookPrograms,
  HookReport,
  HookStatus,
  HookTarget,
} from '../harness/hook-settings/hook-settings.ts';
import { installShims, removeShims, shimStatus } from '../harness/shim.ts';
import type { ShimName, ShimReport, ShimStatus } from '../harness/shim.ts';
import { userHome } from '../process/user-home.ts';
import { homeFrom, prepareHome } from './home.ts';
import { hookProgramPath } from './harness-launch.ts';
import { ownProgram } from './own-program.ts';

export type { HookReport, HookStatus, HookTarget } from '../harness/hook-settings/hook-settings.ts';
export type { ShimName, ShimStatus } from '../harness/shim.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** All or none: what cannot be read is refused before anything is written. */
export function changeHooksFor(
  action: 'install' | 'remove',
  targets: readonly HookTarget[],
  environment: Environment,
): readonly HookReport[] {
  const change = action === 'install' ? installHooksFor : removeHooksFor;
  const broken = targets.find((target) => hookStatusFor(target, environment).is === 'unreadable');
  if (broken !== undefined) change(broken, environment);
  return targets.map((target) => change(target, environment));
}

function installHooksFor(target: HookTarget, environment: Environment): HookReport {
  return installHooks(target, placeIn(environment), programs());
}

function removeHooksFor(target: HookTarget, environment: Environment): HookReport {
  return removeHooks(target, placeIn(environment));
}

export function hookStatusFor(target: HookTarget, environment: Environment): HookStatus {
  return hookStatus(target, placeIn(environment), programs());
}

function placeIn(environment: Environment): HookPlace {
  return { home: userHome(environment), environment };
}

function programs(): HookPrograms {
  const hookProgram = hookProgramPath();
  if (hookProgram === null) {
    throw new ReeveError('failed', 'The hook program of this installation is missing.', {
      hint: 'Install Reeve again.',
    });
  }
  return { command: hookCommand(hookProgram, null), plugin: join(hookProgram, '..', 'opencode-plugin.mjs') };
}

export interface ShimChanges {
  readonly directory: string;
  readonly shims: readonly ShimReport[];
}

export interface ShimStates {
  readonly directory: string;
  readonly shims: readonly ShimStatus[];
}

export function installShimsIn(
  names: readonly ShimName[],
  chosen: string | undefined,
  environment: Environment,
): ShimChanges {
  const directory = shimDirectory(chosen, environment);
  // Often the first thing that is ever written there: made by anybody else, it would not be for this user alone.
  if (chosen === undefined) prepareHome(homeFrom(environment));
  return { directory, shims: installShims(directory, names, ownProgram()) };
}

export function removeShimsFrom(
  names: readonly ShimName[],
  chosen: string | undefined,
  environment: Environment,
): ShimChanges {
  const directory = shimDirectory(chosen, environment);
  return { directory, shims: removeShims(directory, names) };
}

export function shimStatesIn(
  names: readonly ShimName[],
  chosen: string | undefined,
  environment: Environment,
): ShimStates {
  const directory = shimDirectory(chosen, environment);
  return { directory, shims: shimStatus(directory, names, ownProgram(), environment['PATH'] ?? '') };
}

function shimDirectory(chosen: string | undefined, environment: Environment): string {
  return chosen === undefined ? join(homeFrom(environment).path, 'shims') : resolve(chosen);
}
