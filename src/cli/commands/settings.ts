/** `hooks` and `shim`: what a person puts into the harnesses' own settings, or in front of them on PATH. */
import {
  changeHooksFor,
  hookStatusFor,
  installShimsIn,
  removeShimsFrom,
  shimStatesIn,
} from '../../supervisor/harness-settings.ts';
import type {
  HookReport,
  HookStatus,
  HookTarget,
  ShimName,
  ShimStatus,
} from '../../supervisor/harness-settings.ts';
import { printLines } from '../output.ts';
import type { OutputOptions } from '../output.ts';
import { shellWord } from '../shell-word.ts';
import { bold, dim, green, yellow } from '../render/style.ts';

type Action = 'install' | 'remove' | 'status';

export function hooks(action: Action, targets: readonly HookTarget[], options: OutputOptions): number {
  if (action === 'status') {
    const states = targets.map((target) => hookStatusFor(target, process.env));
    printLines(options, states, states.map(renderStatus));
    return states.every(({ is }) => is === 'installed') ? 0 : 1;
  }
  const reports = changeHooksFor(action, targets, process.env);
  printLines(
    options,
    reports,
    reports.flatMap((report) => renderChanges(report, action)),
  );
  return 0;
}

function renderChanges({ target, changes, notes }: HookReport, action: Action): string[] {
  const done = action === 'install' ? 'has Reeve’s hooks' : 'has no hooks of Reeve';
  const lines = changes.map(
    ({ path, is, backup }) => `  ${is} ${path}${backup === null ? '' : dim(` (before: ${backup})`)}`,
  );
  const head = `${bold(target)} ${done}${changes.length === 0 ? dim(' already; nothing was changed') : ''}`;
  return [head, ...lines, ...notes.map((note) => `  ${note}`)];
}

function renderStatus(status: HookStatus): string {
  const name = bold(status.target.padEnd(10));
  switch (status.is) {
    case 'installed':
      return `${green('✓')} ${name} installed in ${status.path}${switchedOff(status.switchedOffBy)}`;
    case 'partly': {
      const { missing, outdated, untrusted } = status;
      const parts = [
        ['missing', missing] as const,
        ['of another version', outdated] as const,
        ['not trusted', untrusted] as const,
      ];
      const said = parts
        .filter(([, events]) => events.length > 0)
        .map(([what, events]) => `${what}: ${events.join(', ')}`);
      return `${yellow('!')} ${name} partly installed in ${status.path}; ${said.join('; ')}${switchedOff(status.switchedOffBy)}`;
    }
    case 'absent':
      return `${dim('-')} ${name} not installed`;
    case 'unreadable':
      return `${yellow('?')} ${name} ${status.because}`;
  }
}

function switchedOff(by: string | null): string {
  return by === null ? '' : yellow(`, but switched off by ${by}`);
}

export function shim(
  action: Action,
  names: readonly ShimName[],
  options: OutputOptions & { dir?: string },
): number {
  if (action === 'remove') {
    const removed = removeShimsFrom(names, options.dir, process.env);
    printLines(
      options,
      removed,
      removed.shims.map(({ name, is }) => `${bold(name)} ${is}`),
    );
    return 0;
  }
  const changes = action === 'install' ? installShimsIn(names, options.dir, process.env) : null;
  const states = shimStatesIn(names, options.dir, process.env);
  const lines = states.shims.map(renderShim);
  const isFirst = states.shims.every(({ first }) => first !== 'real');
  if (!isFirst || states.shims.every(({ first }) => first === 'nothing')) {
    lines.push(`Put it in front of your PATH${pathLine(states.directory)}`);
  }
  printLines(options, { ...states, ...(changes === null ? {} : { changes: changes.shims }) }, lines);
  return action === 'install' || states.shims.every(({ is, first }) => is === 'installed' && first === 'shim')
    ? 0
    : 1;
}

/** It is pasted into a shell, where a name may be a command. */
function pathLine(directory: string): string {
  const word = shellWord(directory);
  return word === null ? `: ${directory}` : `: export PATH=${word}:"$PATH"`;
}

function renderShim({ name, path, is, real, first }: ShimStatus): string {
  const leads = first === 'shim' ? green('first on PATH') : yellow('not first on PATH');
  return `${bold(name.padEnd(10))} ${is} ${dim(path)}  ${leads}, real program: ${real ?? 'not installed'}`;
}
