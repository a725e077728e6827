/** libpq's password file: lines of host:port:database:user:password, of which the first that fits counts. */
import { readFileSync, statSync } from 'node:fs';

const OTHERS = 0o077;

export interface PassQuestion {
  readonly host: string;
  readonly port: string;
  readonly database: string;
  readonly user: string;
}

/** Undefined as well for a file that others may read: libpq does not use it either. */
export function passwordFrom(path: string, question: PassQuestion): string | undefined {
  return isForOwner(path) ? entryFor(path, question) : undefined;
}

/** The password in it, whoever may read the file. */
export function entryFor(path: string, { host, port, database, user }: PassQuestion): string | undefined {
  for (const line of readIfThere(path).split('\n')) {
    const fields = line.startsWith('#') ? [] : fieldsOf(line);
    const isOurs = [host, port, database, user].every((value, index) => isFor(value, fields[index]));
    if (isOurs) return fields[4];
  }
  return undefined;
}

function isFor(value: string, field: string | undefined): boolean {
  return field === value || field === '*';
}

const FIELD = String.raw`((?:[^:\\]|\\.)*)`;
const LINE = new RegExp(`^${FIELD}:${FIELD}:${FIELD}:${FIELD}:(.*?)\r?$`, 'su');

/** A backslash takes : and itself for what they are. */
function fieldsOf(line: string): readonly string[] {
  return (LINE.exec(line) ?? []).slice(1).map((field) => field.replaceAll(/\\(.)/gsu, '$1'));
}

function isForOwner(path: string): boolean {
  return ((statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & OTHERS) === 0;
}

function readIfThere(path: string): string {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true ? readFileSync(path, 'utf8') : '';
}
