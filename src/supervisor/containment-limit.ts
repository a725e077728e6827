/** The best containment that a start may use, as REEVE_CONTAINMENT has it. */
import { ReeveError } from '../api/errors.ts';
import type { Containment } from '../lifecycle/run.ts';
import type { Context } from './context.ts';

const CHOICES: readonly Containment['by'][] = ['cgroup', 'subreaper', 'marks'];

export function containmentLimit({ environment }: Pick<Context, 'environment'>): Containment['by'] {
  const wanted = environment['REEVE_CONTAINMENT'] ?? '';
  const found = wanted === '' ? 'cgroup' : CHOICES.find((choice) => choice === wanted);
  if (found !== undefined) return found;
  const given = JSON.stringify(wanted.slice(0, 40));
  throw new ReeveError(
    'usage',
    `REEVE_CONTAINMENT cannot be ${given}; it is one of cgroup, subreaper and marks.`,
    { hint: 'Nothing was changed. Leave it out for the best that there is.' },
  );
}
