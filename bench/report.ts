/**
 * What became of each figure. One that is known is told at once; a bench that throws loses only what it had not told yet.
 * A figure is `measured`, and then within its bar or not; `skipped`, because this machine lacks a program; or `failed`.
 */
import { MissingProgram } from '../test/support/missing-program.ts';
import type { Figure, Measure } from './support.ts';

export interface Measured extends Figure {
  readonly is: 'measured';
  readonly bench: string;
  readonly ok: boolean;
}

export interface NotMeasured {
  readonly is: 'skipped' | 'failed';
  readonly bench: string;
  /** Null: whatever of the bench was not told before. */
  readonly figure: string | null;
  readonly reason: string;
}

export type Result = Measured | NotMeasured;

/** For a bench: how it hands out a figure before it is done. */
export interface Telling {
  figure(figure: Figure): void;
  /** A figure that may be missing without the others of its bench. */
  part(name: string, work: () => Promise<Figure>): Promise<void>;
}

/** A bench with what it measures. */
type Bench = readonly [name: string, take: (telling: Telling) => ReturnType<Measure>];

/** All of them, one after another, whatever becomes of the one before. */
export async function collect(
  benches: readonly Bench[],
  told: (result: Result) => void,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  for (const [bench, take] of benches) {
    const before = results.length;
    const tell = (result: Result) => {
      results.push(result);
      told(result);
    };
    const figure = (each: Figure) => tell({ is: 'measured', bench, ...each, ok: isWithinBar(each) });
    const part: Telling['part'] = async (name, work) => {
      try {
        figure(await work());
      } catch (error) {
        tell({ ...notMeasured(error), bench, figure: name });
      }
    };
    try {
      for (const each of await take({ figure, part })) figure(each);
      if (results.length === before) throw new Error('It measured nothing.');
    } catch (error) {
      tell({ ...notMeasured(error), bench, figure: null });
    }
  }
  return results;
}

/** Every figure within its bar, one outside of it, a name that is no bench's, and something that was not measured. */
export const EXIT = { allOk: 0, overBar: 1, usage: 2, notMeasured: 3 } as const;

/** A bar that is broken says more than a figure that is missing. */
export function exitCodeOf(results: readonly Result[]): number {
  if (results.some((each) => each.is === 'measured' && !each.ok)) return EXIT.overBar;
  return results.some((each) => each.is !== 'measured') ? EXIT.notMeasured : EXIT.allOk;
}

function isWithinBar({ measured, bar }: Figure): boolean {
  // Written so that a figure which is not a number is never ok.
  if ('atMost' in bar) return measured <= bar.atMost;
  return 'atLeast' in bar ? measured >= bar.atLeast : measured === bar.exactly;
}

function notMeasured(error: unknown): Pick<NotMeasured, 'is' | 'reason'> {
  if (error instanceof MissingProgram) return { is: 'skipped', reason: error.message };
  const program = programNotFound(error);
  if (program !== null) return { is: 'skipped', reason: `${program} is not here` };
  return { is: 'failed', reason: error instanceof Error ? error.message : String(error) };
}

/** What Node says when the path has no program of a name. */
function programNotFound(error: unknown): string | null {
  if (!(error instanceof Error && 'code' in error && 'syscall' in error && 'path' in error)) return null;
  const { code, syscall, path } = error;
  const isBareName = typeof path === 'string' && !path.includes('/');
  // With a directory on the path that this user may not search, it is the other one.
  const isNotFound = code === 'ENOENT' || code === 'EACCES';
  return isNotFound && String(syscall).startsWith('spawn') && isBareName ? path : null;
}
