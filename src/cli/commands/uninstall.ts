/** `uninstall`: what is removed, line by line, and what is left. */
import { uninstall as takeAway } from '../../supervisor/uninstall.ts';
import type { Uninstalled, UninstallRequest } from '../../supervisor/uninstall.ts';
import { printLines } from '../output.ts';
import type { OutputOptions } from '../output.ts';
import { inLine } from '../printable.ts';
import { bold, dim, yellow } from '../render/style.ts';

export async function uninstall(options: OutputOptions & UninstallRequest): Promise<number> {
  const done = await takeAway(options);
  printLines(options, done, render(done));
  return done.left.length === 0 || done.dryRun ? 0 : 1;
}

function render(done: Uninstalled): string[] {
  const { dryRun, stopped, hooks, shims, backups, daemon, tmux, state, sharedStore, left, refusal } = done;
  const isKept = left.some(({ what }) => what === state);
  const rows: [what: string, which: string][] = [
    ...(refusal === null ? stopped : []).map((name): [string, string] => ['run', name]),
    ...(daemon === null ? [] : [['daemon', `pid ${daemon.pid}`] satisfies [string, string]]),
    ...hooks.map(({ harness, path }): [string, string] => ['hooks', `of ${harness} in ${path}`]),
    ...shims.map((path): [string, string] => ['shim', path]),
    ...backups.map((path): [string, string] => ['backup', path]),
    ...(tmux === null ? [] : [['tmux', `server, pid ${tmux.pid}`] satisfies [string, string]]),
    ...(state === null
      ? []
      : [['state', isKept ? `what Reeve had in ${state}` : state] satisfies [string, string]]),
  ];
  const head = rows.length === 0 ? 'There is nothing to remove.' : dryRun ? 'Would be removed:' : 'Removed:';
  return [
    bold(head),
    ...rows.map(([what, which]) => `  ${dim(what.padEnd(8))}${inLine(which)}`),
    ...left.map(({ what, because }) => `${yellow('!')} ${inLine(what)} stays: ${inLine(because)}.`),
    ...(refusal === null
      ? []
      : [
          `${yellow('!')} Without --dry-run this is refused now, because ${inLine(refusal)}.`,
          ...wayOn(done),
        ]),
    ...(sharedStore === null
      ? []
      : [`The store at ${inLine(sharedStore)} stays, for others may use it too.`]),
    dim('The program itself: npm uninstall -g reeve'),
  ];
}

function wayOn({ stopped }: Uninstalled): string[] {
  return stopped.length === 0
    ? []
    : [dim('  End them first (reeve stop SESSION), or have it done: add --stop')];
}
