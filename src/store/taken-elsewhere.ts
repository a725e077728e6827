/**
 * A write that a run left in its spool, and that somebody else took in before this one came to it. Nothing was changed.
 *
 * The file is looked for with the run locked. Whoever ends the run takes in what it left, removes the files, and only then
 * writes the end: so one that is still there belongs to a run that has not ended, and one that is gone has been counted.
 * Without this look, a slow reader would come after the end, and its copy be told as a late write of the run.
 */
export class TakenElsewhere extends Error {}

export interface LeftInSpool {
  /** Only for what was left in a spool: whether it is still there. */
  readonly isStillLeft?: (() => boolean) | undefined;
}

export function requireLeft({ isStillLeft }: LeftInSpool): void {
  if (isStillLeft?.() === false) throw new TakenElsewhere('Somebody else has taken it in.');
}
