import { ReeveError } from '../api/errors.ts';

/** The number of steps in migrations.ts, which are read only when a database has not taken them all. */
export const SCHEMA_VERSION = 10;

export function newer(place: string, version: number): ReeveError {
  return new ReeveError(
    'store_newer',
    `The store at ${place} was upgraded by a newer Reeve (schema ${version}, this one knows ${SCHEMA_VERSION}), so nothing was changed.`,
    { hint: 'Use the newer Reeve. A daemon of this one is replaced by it: reeve serve --replace' },
  );
}

export function upgraded(place: string, from: number, more: string): string {
  return `The store at ${place} was upgraded from schema ${from} to ${SCHEMA_VERSION}. ${more}`;
}
