/** How much later a harness executes when Reeve starts it: claim, record, keeper, hooks and all. */
import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from '../test/support/processes.ts';
import { compare, inPlace, settled } from './support.ts';
import type { Built, Figure, Place } from './support.ts';

const SAMPLES = 30;

/** A program of that name is enough, for what it does once it executes is its own affair: it says when it did. */
const CLAUDE = '#!/bin/sh\ndate +%s%N > executed.new && mv executed.new executed\n';

export function measureHarnessStart(built: Built): Promise<readonly Figure[]> {
  return inPlace(built, async (place) => {
    const bin = join(place.root, 'bin');
    mkdirSync(bin);
    writeFileSync(join(bin, 'claude'), CLAUDE);
    chmodSync(join(bin, 'claude'), 0o755);
    const env = { ...place.env, PATH: `${bin}:${place.env['PATH'] ?? ''}` };
    const args = ['-p', 'say hello', '--output-format', 'json'];
    const direct = () => executedAfterMs(place, env, ['claude', ...args]);
    const supervised = async () => {
      const tookMs = await executedAfterMs(place, env, [
        process.execPath,
        built.cli,
        'run',
        '--detach',
        '--',
        'claude',
        ...args,
      ]);
      await settled(place.home);
      return tookMs;
    };
    await supervised();
    const { subject, baseline } = await compare(SAMPLES, supervised, direct);
    return [
      {
        figure: '`run --detach -- claude -p …` until it executes, over starting claude directly',
        measured: subject - baseline,
        bar: { atMost: 250 },
        unit: 'ms',
        from: `medians of ${SAMPLES}: ${subject.toFixed(1)} ms to ${baseline.toFixed(1)} ms`,
      },
    ];
  });
}

async function executedAfterMs(
  place: Place,
  env: Record<string, string>,
  [program = '', ...args]: readonly string[],
): Promise<number> {
  const cwd = mkdtempSync(join(place.root, 'project-'));
  const begunAtMs = performance.timeOrigin + performance.now();
  const child = spawn(program, args, { cwd, env, stdio: 'ignore' });
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const mark = join(cwd, 'executed');
  await eventually('the program has executed', () => existsSync(mark));
  await exited;
  return Number(readFileSync(mark, 'utf8')) / 1e6 - begunAtMs;
}
