/**
 * npm run chaos -- [--kills N] [--seconds N] [--seed N] [--seeds N] [--containment cgroup,subreaper] [--actors 4]
 * Starts sessions whose commands misbehave, kills what supervises them at crash points and at random, takes over,
 * stops, and samples the process table throughout. One round for each seed (the given one, and as many after it as
 * `--seeds` says) and containment (`cgroup`, `subreaper`, `marks`), one after another; kills and seconds are shared out
 * among them, and whichever is reached first ends a round. Without either: 30 seconds.
 * Ends with `violations: 0`, or with the seed and the history of the round that had one.
 */
import { parseArgs } from 'node:util';
import { runRound, sumOf } from './round.ts';
import type { RoundOrder, RoundReport } from './round.ts';

const DEFAULT_SECONDS = 30;
const HISTORY_SHOWN = 80;
/** Each actor of a round has a seed of its own, counted from the round's. */
const SEED_STEP = 100;

const { values } = parseArgs({
  options: {
    kills: { type: 'string' },
    seconds: { type: 'string' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    seeds: { type: 'string', default: '1' },
    containment: { type: 'string', default: 'cgroup' },
    actors: { type: 'string', default: '4' },
  },
});
const rounds = roundsOf();
console.log(
  `chaos: seed ${values.seed}, ${rounds.length} rounds (${values.seeds} seeds, ${values.containment}), ` +
    `${values.kills ?? 'any number of'} kills, ${values.seconds ?? (values.kills === undefined ? DEFAULT_SECONDS : 'any number of')} s`,
);
let [kills, runs, violations] = [0, 0, 0];
for (const order of rounds) {
  const report = await runRound(order);
  tell(order, report);
  kills += sumOf(report.kills);
  runs += sumOf(report.outcomes);
  violations += report.violations.length;
  if (violations > 0) break;
}
console.log(`kills: ${kills}; runs: ${runs}`);
console.log(`violations: ${violations}`);
process.exitCode = violations === 0 ? 0 : 1;

function roundsOf(): readonly RoundOrder[] {
  const seeds = Array.from({ length: number('seeds') }, (_, index) => number('seed') + index * SEED_STEP);
  const containments = values.containment.split(',');
  const pairs = seeds.flatMap((seed) => containments.map((containment) => ({ seed, containment })));
  const seconds =
    values.seconds === undefined && values.kills === undefined
      ? DEFAULT_SECONDS
      : number('seconds', Number.POSITIVE_INFINITY);
  return pairs.map((pair) => ({
    ...pair,
    actors: number('actors'),
    kills: Math.ceil(number('kills', Number.POSITIVE_INFINITY) / pairs.length),
    seconds: seconds / pairs.length,
  }));
}

function number(name: keyof typeof values, otherwise = Number.NaN): number {
  const given = values[name];
  const value = given === undefined ? otherwise : Number(given);
  if (value >= 0) return value;
  throw new Error(`--${name} takes a number.`);
}

function tell({ seed, containment }: RoundOrder, report: RoundReport): void {
  console.log(
    `\nseed ${seed}, ${containment}: kills: ${sumOf(report.kills)} (${listed(report.kills)}); ` +
      `samples of the process table: ${report.samples}; most runs live at once: ${report.mostLiveRuns}`,
  );
  console.log(`actions: ${listed(report.actions)}`);
  console.log(`runs: ${sumOf(report.outcomes)} (${listed(report.outcomes)})`);
  if (report.violations.length === 0) return;
  console.log(
    `seed ${seed}; what was done, latest last:\n${report.history.slice(-HISTORY_SHOWN).join('\n')}`,
  );
  for (const violation of report.violations) console.log(`VIOLATION ${violation}`);
}

function listed(numbers: ReadonlyMap<string, number>): string {
  return [...numbers].map(([name, count]) => `${name} ${count}`).join(', ');
}
