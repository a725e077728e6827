/**
 * Measures the figures that Reeve is held to, all or those named, one after another.
 *   npm run bench -- [--json] [start] [claim] [history] [contention] [takeover] [memory] [hook] [scan] [harness] [daemon]
 *     [ledger] [review] [stop] [postgres-ls] [postgres-claims] [postgres-daemon]
 * Every figure is a count, or a ratio against a baseline that was measured in turns with it: it means the same on a
 * fast machine and on a slow one. Exits 1 when one is over its bar.
 */
import { measureClaim } from './claim.ts';
import { measureContention } from './contention.ts';
import { measureDaemon } from './daemon.ts';
import { measureHarnessStart } from './harness-start.ts';
import { measureHistory } from './history.ts';
import { measureHook } from './hook.ts';
import { measureLedger } from './ledger.ts';
import { measureLsAll } from './ls-all.ts';
import { measureMemory } from './memory.ts';
import { measurePostgresClaims } from './postgres-claims.ts';
import { measurePostgresDaemon } from './postgres-daemon.ts';
import { measurePostgresLs } from './postgres-ls.ts';
import { measureReview } from './review.ts';
import { measureScan } from './scan.ts';
import { measureStart } from './start.ts';
import { measureStop } from './stop.ts';
import { withPackage } from './support.ts';
import type { Built, Figure, Measure } from './support.ts';
import { measureTakeover } from './takeover.ts';

const BENCHES: Readonly<Record<string, Measure>> = {
  start: measureStart,
  claim: measureClaim,
  history: measureHistory,
  contention: measureContention,
  takeover: measureTakeover,
  memory: measureMemory,
  hook: measureHook,
  scan: measureScan,
  harness: measureHarnessStart,
  daemon: measureDaemon,
  ledger: measureLedger,
  'ls-all': measureLsAll,
  review: measureReview,
  stop: measureStop,
  'postgres-ls': measurePostgresLs,
  'postgres-claims': measurePostgresClaims,
  'postgres-daemon': measurePostgresDaemon,
};

interface Judged extends Figure {
  readonly bench: string;
  readonly ok: boolean;
}

const args = process.argv.slice(2);
const isJson = args.includes('--json');
const named = args.filter((arg) => arg !== '--json');
const unknown = named.filter((name) => !Object.hasOwn(BENCHES, name));
if (unknown.length > 0) {
  console.error(`There is no figure ${unknown.join(', ')}; there are ${Object.keys(BENCHES).join(', ')}.`);
  process.exitCode = 2;
} else {
  const judged = await withPackage((built) => measure(built, named));
  console.log(isJson ? JSON.stringify(judged, null, 2) : table(judged));
  if (judged.some(({ ok }) => !ok)) process.exitCode = 1;
}

async function measure(built: Built, names: readonly string[]): Promise<readonly Judged[]> {
  const judged: Judged[] = [];
  for (const [bench, take] of Object.entries(BENCHES)) {
    if (names.length > 0 && !names.includes(bench)) continue;
    const begunAt = performance.now();
    for (const figure of await take(built)) judged.push({ bench, ...figure, ok: isOk(figure) });
    console.error(`${bench}: measured in ${((performance.now() - begunAt) / 1000).toFixed(1)} s`);
  }
  return judged;
}

function isOk({ measured, bar }: Figure): boolean {
  // Written so that a figure which is not a number is never ok.
  if ('atMost' in bar) return measured <= bar.atMost;
  return 'atLeast' in bar ? measured >= bar.atLeast : measured === bar.exactly;
}

function table(judged: readonly Judged[]): string {
  const rows = [
    ['figure', 'measured', 'bar', '', 'from'],
    ...judged.map((each) => [
      each.figure,
      amount(each.measured, each.unit),
      barOf(each),
      each.ok ? 'ok' : 'not ok',
      each.from,
    ]),
  ];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')).join('\n');
}

function barOf({ bar, unit }: Figure): string {
  if ('atMost' in bar) return `≤ ${amount(bar.atMost, unit)}`;
  return 'atLeast' in bar ? `≥ ${amount(bar.atLeast, unit)}` : `${bar.exactly}`;
}

function amount(value: number, unit: Figure['unit']): string {
  switch (unit) {
    case 'count':
      return String(value);
    case 'ratio':
      return value.toFixed(2);
    case 'ms':
      return `${value.toFixed(0)} ms`;
    case '%':
      return `${value.toFixed(2)} %`;
    case 'MB':
      return `${value.toFixed(2)} MB`;
  }
}
