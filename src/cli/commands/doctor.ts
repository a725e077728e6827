/** `reeve doctor`: what Reeve finds of itself and around it. Apart from the other looks, for it loads far more than they do. */
import { ERRORS } from '../../api/errors.ts';
import { doctor as examine } from '../../supervisor/doctor.ts';
import type { Check } from '../../supervisor/doctor.ts';
import { printLines } from '../output.ts';
import type { OutputOptions } from '../output.ts';
import { green, red, yellow } from '../render/style.ts';

const CHECK_MARKS: Readonly<Record<Check['is'], string>> = {
  good: green('✓'),
  poor: yellow('!'),
  bad: red('✗'),
};

export async function doctor(options: OutputOptions): Promise<number> {
  const checks = await examine();
  const lines = checks.map(({ name, is, says }) => `${CHECK_MARKS[is]} ${name.padEnd(12)} ${says}`);
  printLines(options, checks, lines);
  const bad = checks.filter(({ is }) => is === 'bad');
  // What a person wrote is to be written otherwise, as every other command says.
  const isUsage = bad.some(({ code }) => code !== undefined && ERRORS[code].exitCode === 2);
  return isUsage ? 2 : bad.length > 0 ? 1 : 0;
}
