/** Results for a person: a line when one is known, and a table of all at the end. */
import type { Measured, NotMeasured, Result } from './report.ts';
import type { Figure } from './support.ts';

const COLUMNS = ['figure', 'measured', 'bar', '', 'from'] as const;

export function lineOf(result: Result): string {
  const { bench } = result;
  if (result.is !== 'measured')
    return `${bench}: ${result.is}: ${result.figure ?? 'the rest of it'}: ${result.reason}`;
  return `${bench}: ${judgement(result)}: ${result.figure}: ${amountOf(result)} (${barOf(result)}), ${result.from}`;
}

export function tableOf(results: readonly Result[]): string {
  const rows = [[...COLUMNS], ...results.map((each) => rowOf(each))];
  const widths = COLUMNS.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const lines = rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  return [...lines, '', summaryOf(results)].join('\n');
}

/** How many, and by name whatever is not as it should be. */
function summaryOf(results: readonly Result[]): string {
  const measured = results.filter((each) => each.is === 'measured');
  const missed = results.filter((each) => each.is !== 'measured');
  const over = measured.filter(({ ok }) => !ok);
  const named = (what: string, of: readonly string[]) =>
    of.length === 0 ? [] : [`${of.length} ${what}: ${of.join(', ')}`];
  return [
    `${measured.length - over.length} of ${results.length} ok`,
    ...named(
      'not ok',
      over.map(({ figure }) => figure),
    ),
    ...(['skipped', 'failed'] as const).flatMap((is) =>
      named(is, missed.filter((each) => each.is === is).map(nameOf)),
    ),
  ].join('; ');
}

function rowOf(result: Result): string[] {
  if (result.is !== 'measured') return [nameOf(result), '', '', result.is, result.reason];
  return [result.figure, amountOf(result), barOf(result), judgement(result), result.from];
}

function nameOf({ bench, figure }: NotMeasured): string {
  return figure ?? bench;
}

function judgement({ ok }: Measured): string {
  return ok ? 'ok' : 'not ok';
}

function barOf({ bar, unit }: Figure): string {
  if ('atMost' in bar) return `≤ ${amount(bar.atMost, unit)}`;
  return 'atLeast' in bar ? `≥ ${amount(bar.atLeast, unit)}` : `${bar.exactly}`;
}

function amountOf({ measured, unit }: Figure): string {
  return amount(measured, unit);
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
