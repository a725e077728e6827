/**
 * The program that this process is of, as it was started and as it is on disk now. An update replaces the files below a
 * process that runs: what that would load late is gone, and what it would start is of another build than itself.
 */
import { existsSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { ReeveError } from '../api/errors.ts';
import { readText } from '../process/reading.ts';
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

/** `gone`: nothing is there that says what it is, as in the middle of an update, or after this Reeve was removed. */
export type ProgramOnDisk =
  | { readonly is: 'own' }
  | { readonly is: 'other'; readonly build: string }
  | { readonly is: 'gone' };

/** What is in this program's place by now. */
export function programOnDisk(): ProgramOnDisk {
  // The sources are what they are; the build in `dist` is another matter.
  if (typeof REEVE_BUILD === 'undefined') return { is: 'own' };
  const onDisk = buildOnDisk();
  if (onDisk === null) return { is: 'gone' };
  return onDisk === 'unknown' || onDisk === REEVE_BUILD.build
    ? { is: 'own' }
    : { is: 'other', build: onDisk };
}

/** The keeper and the hooks on disk are of the other build: they may not understand what this one tells them. */
export function requireSameProgram(): void {
  const onDisk = programOnDisk();
  if (onDisk.is === 'own') return;
  const { build } = ownBuild();
  throw onDisk.is === 'other'
    ? new ReeveError(
        'program_replaced',
        `Reeve was updated on disk to build ${onDisk.build} while this process, of build ${build}, was running, so it starts nothing more.`,
        { hint: 'Try again in a moment; a program that uses the library has to be started again.' },
      )
    : new ReeveError(
        'program_replaced',
        `The program of this process, build ${build}, is not on disk any more, so it starts nothing more.`,
        { hint: 'Try again in a moment, when the update is done. If there is none, install Reeve again.' },
      );
}

/** Null where there is none. A file that cannot be read right now, as of too many open files, says nothing. */
function buildOnDisk(): string | null {
  const reading = readText(join(import.meta.dirname, 'build.json'));
  if (reading.is === 'failed') return 'unknown';
  if (reading.is === 'absent') return null;
  try {
    // Written by scripts/build.mjs.
    return (JSON.parse(reading.value) as Partial<Build>).build ?? null;
  } catch {
    return null;
  }
}
