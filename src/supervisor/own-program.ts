/**
 * The program that this process is of, as it was started and as it is on disk now. An update replaces the files below a
 * process that runs: what that would load late is gone, and what it would start is of another build than itself.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { ReeveError } from '../api/errors.ts';
import { SCHEMA_VERSION } from '../store/schema-version.ts';

export interface Build {
  readonly version: string;
  /** Tells apart what has the same version: a hash of all it was built from. */
  readonly build: string;
  /** Of the store. */
  readonly schema: number;
}

/** Put in by scripts/build.mjs; not there in the sources, which the tests run too. */
declare const REEVE_BUILD: Omit<Build, 'schema'> | undefined;

const SOURCES = { version: '0.0.0', build: 'sources' };

export function ownBuild(): Build {
  return { ...(typeof REEVE_BUILD === 'undefined' ? SOURCES : REEVE_BUILD), schema: SCHEMA_VERSION };
}

/** The command line of this very installation, run by this very Node. */
export function ownProgram(): readonly string[] {
  const candidates = ['reeve.cjs', '../../dist/reeve.cjs'].map((path) => join(import.meta.dirname, path));
  const program = candidates.find((path) => existsSync(path));
  if (program === undefined) throw new ReeveError('failed', 'The program of this installation is missing.');
  return [process.execPath, program];
}

/** A hash of eight, as the bundler gives it. */
const PART = /^.+-[\w-]{8}\.cjs$/;

/** Of whoever runs for long: afterwards nothing is loaded any more, so it goes on as it was when it is replaced. */
export function loadWholeProgram(): void {
  if (!import.meta.filename.endsWith('.cjs')) return;
  const load = createRequire(import.meta.filename);
  // Those without a hash in their name are programs, which would begin. By the words by which the others ask for it: only
  // for these Node then knows the answer without a look at the disk.
  for (const name of readdirSync(import.meta.dirname).filter((each) => PART.test(each))) load(`./${name}`);
}

/** What an update has put in this program's place, once it is there; null while this one is. */
export function replacedBy(): string | null {
  const onDisk = buildOnDisk();
  return onDisk === ownBuild().build ? null : onDisk;
}

/** The keeper and the hooks on disk are of the other build: they may not understand what this one tells them. */
export function requireSameProgram(): void {
  const other = replacedBy();
  if (other === null) return;
  throw new ReeveError(
    'program_replaced',
    `Reeve was updated on disk to build ${other} while this process, of build ${ownBuild().build}, was running, so it starts nothing more.`,
    { hint: 'Try again in a moment; a program that uses the library has to be started again.' },
  );
}

/** Null where it cannot be told: of the sources, in the middle of an update, or when the file cannot be read right now. */
function buildOnDisk(): string | null {
  try {
    const text = readFileSync(join(import.meta.dirname, 'build.json'), 'utf8');
    // Written by scripts/build.mjs.
    return (JSON.parse(text) as Partial<Build>).build ?? null;
  } catch {
    return null;
  }
}
