/**
 * Measures the figures that Reeve is held to, all or those named, one after another.
 *   npm run bench -- [--json] [start] [claim] [history] [contention] [takeover] [memory] [hook] [scan] [harness] [daemon]
 *     [ledger] [review] [stop] [postgres-ls] [postgres-claims] [postgres-daemon]
 * Every figure is a count, or a ratio against a baseline that was measured in turns with it: it means the same on a
 * fast machine and on a slow one. Each is printed on stderr when it is known, and all on stdout at the end, as a table
 * or as JSON. What needs a program that is not here is skipped by name, and a bench that throws leaves the others alone.
 * Exits 0 when every figure is within its bar, 1 when one is not, 2 when there is no bench of a name, and 3 when nothing
 * is over its bar and something was skipped or failed.
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
import { lineOf, tableOf } from './render.ts';
import { collect, EXIT, exitCodeOf } from './report.ts';
import type { Result } from './report.ts';
import { withPackage } from './support.ts';
import type { Built, Measure } from './support.ts';
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

const args = process.argv.slice(2);
const isJson = args.includes('--json');
const named = args.filter((arg) => arg !== '--json');
const unknown = named.filter((name) => !Object.hasOwn(BENCHES, name));
if (unknown.length > 0) {
  console.error(`There is no figure ${unknown.join(', ')}; there are ${Object.keys(BENCHES).join(', ')}.`);
  process.exitCode = EXIT.usage;
} else {
  try {
    const results = await withPackage((built) => measure(built, named));
    console.log(isJson ? JSON.stringify(results, null, 2) : tableOf(results));
    process.exitCode = exitCodeOf(results);
  } catch (error) {
    console.error('The package that is measured could not be built.', error);
    process.exitCode = EXIT.notMeasured;
  }
}

function measure(built: Built, names: readonly string[]): Promise<readonly Result[]> {
  const chosen = Object.entries(BENCHES).filter(([name]) => names.length === 0 || names.includes(name));
  return collect(
    chosen.map(([name, take]) => [name, (telling) => take(built, telling)]),
    (result) => console.error(lineOf(result)),
  );
}
