/** What every figure needs: the built package, a state directory of its own, and honest samples. */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { copyFileSync, cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type * as Library from '../src/index.ts';
import { finished } from '../test/support/sandbox.ts';
import type { Finished } from '../test/support/sandbox.ts';
import type { Telling } from './report.ts';
import { eventually, signalSeen, startedWith } from '../test/support/processes.ts';

export interface Figure {
  readonly figure: string;
  readonly measured: number;
  readonly bar: { readonly atMost: number } | { readonly atLeast: number } | { readonly exactly: number };
  readonly unit: 'ratio' | 'count' | 'MB' | 'ms' | '%';
  /** What the figure was made of, in absolute terms of this machine. */
  readonly from: string;
}

/** What it knows before it is done it tells; what it returns is told then. */
export type Measure = (built: Built, telling: Telling) => Promise<readonly Figure[]>;

export interface Built {
  readonly cli: string;
  readonly library: typeof Library;
}

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** Another developer's build may empty dist at the moment it is copied; that seldom happens twice in a row. */
const BUILD_ATTEMPTS = 3;
/** Longer than an exec takes. */
const EXEC_MS = 5;

/** Builds, and keeps a copy, so that a build by somebody else in the middle of a measurement changes nothing. */
export async function withPackage<T>(work: (built: Built) => Promise<T>): Promise<T> {
  const copy = mkdtempSync(join(tmpdir(), 'reeve-bench-package-'));
  try {
    const cli = buildInto(copy);
    // The built library has the types of its source.
    const library = (await import(join(copy, 'dist', 'index.js'))) as typeof Library;
    return await work({ cli, library });
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

function buildInto(copy: string): string {
  const cli = join(copy, 'dist', 'reeve.cjs');
  copyFileSync(join(ROOT, 'package.json'), join(copy, 'package.json'));
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  for (let attempt = 1; ; attempt += 1) {
    try {
      execFileSync(process.execPath, [join(ROOT, 'scripts', 'build.mjs')], { stdio: ['ignore', 2, 2] });
      cpSync(join(ROOT, 'dist'), join(copy, 'dist'), { recursive: true });
      execFileSync(process.execPath, [cli, 'paths', '--json']);
      return cli;
    } catch (error) {
      if (attempt === BUILD_ATTEMPTS) throw error;
      rmSync(join(copy, 'dist'), { recursive: true, force: true });
    }
  }
}

export interface Place {
  readonly root: string;
  readonly home: string;
  readonly env: Record<string, string>;
  /** Runs the built CLI to its end. */
  reeve(args: readonly string[]): Promise<Finished>;
  /** The same, which must succeed, with the JSON value that it prints. */
  json<T>(args: readonly string[]): Promise<T>;
  /** In this process: many starts and ends without a Node start for each. */
  open(): Promise<Library.Reeve>;
}

/** A state directory for one measurement. Whatever was started in it is ended, and proven gone, before this returns. */
export async function inPlace<T>(
  built: Built,
  work: (place: Place) => Promise<T>,
  extra: Record<string, string> = {},
): Promise<T> {
  const root = mkdtempSync(join(tmpdir(), 'reeve-bench-'));
  const home = join(root, 'state');
  const env = { PATH: process.env['PATH'] ?? '', HOME: root, REEVE_HOME: home, ...extra };
  const reeve: Place['reeve'] = (args) =>
    finished(
      spawn(process.execPath, [built.cli, ...args], { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] }),
    );
  const place: Place = {
    root,
    home,
    env,
    reeve,
    json: async <V>([verb = '', ...rest]: readonly string[]) => {
      const result = await reeve([verb, '--json', ...rest]);
      if (result.code !== 0) throw new Error(`reeve ${verb} exited ${result.code}: ${result.stdout}`);
      return JSON.parse(result.stdout) as V; // The caller names the shape.
    },
    open: () => built.library.openReeve({ home, environment: env, actor: 'bench' }),
  };
  try {
    return await work(place);
  } finally {
    await endAll(place);
    rmSync(root, { recursive: true, force: true });
  }
}

/** Keepers become finalisers for a moment: a sample taken meanwhile would be charged with them. */
export async function settled(home: string): Promise<void> {
  await eventually('the keepers of the bench to be gone', async () => {
    if (ownProcesses(home).length > 0) return false;
    // A process in the middle of an exec shows no environment: a single look may miss it.
    await sleep(EXEC_MS);
    return ownProcesses(home).length === 0;
  });
}

async function endAll(place: Place): Promise<void> {
  const reeve = await place.open();
  try {
    for (const { id } of await reeve.list('live')) await reeve.stop(id, { graceMs: 0 });
  } finally {
    await reeve.close();
    await settled(place.home).catch(() => {
      for (const left of ownProcesses(place.home)) signalSeen(left, 'SIGKILL');
    });
  }
}

function ownProcesses(home: string) {
  return startedWith(`REEVE_HOME=${home}`).filter(({ pid }) => pid !== process.pid);
}

/** The wall time of a whole command, from before the fork until it was collected. */
export function commandMs(args: readonly string[], place: Place): number {
  const begunAt = performance.now();
  const { status, stderr } = spawnSync(process.execPath, args, {
    cwd: place.root,
    env: place.env,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const tookMs = performance.now() - begunAt;
  if (status !== 0) throw new Error(`${args.join(' ')} exited ${status}: ${String(stderr)}`);
  return tookMs;
}

interface Comparison {
  readonly subject: number;
  readonly baseline: number;
  readonly ratio: number;
  /** Of the fastest tenth: what a machine that does nothing else would say, where a busy disk hides the difference. */
  readonly quietRatio: number;
}

/** Takes turns, so that whatever else the machine does hits both alike, and compares the medians. */
export async function compare(
  samples: number,
  subject: () => number | Promise<number>,
  baseline: () => number | Promise<number>,
): Promise<Comparison> {
  const taken = { subject: [] as number[], baseline: [] as number[] };
  for (let round = 0; round < samples; round += 1) {
    taken.baseline.push(await baseline());
    taken.subject.push(await subject());
  }
  const medians = { subject: median(taken.subject), baseline: median(taken.baseline) };
  return {
    ...medians,
    ratio: medians.subject / medians.baseline,
    quietRatio: tenth(taken.subject) / tenth(taken.baseline),
  };
}

/** A tenth of the samples are faster. */
function tenth(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 10)] ?? Number.NaN;
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}
