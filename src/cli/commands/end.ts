/** The commands that end or forget: `stop`, `kill`, `rm`, and the fenced `heartbeat`. */
import { Interrupted, ReeveError } from '../../api/errors.ts';
import { LEFT, printError, printLines, say } from '../output.ts';
import type { OutputOptions } from '../output.ts';
import { openPatiently } from '../with-reeve.ts';

export interface EndOptions extends OutputOptions {
  readonly grace?: number;
  readonly assumeGone?: boolean;
}

export async function stop(reference: string, options: EndOptions): Promise<number> {
  const reeve = await openPatiently();
  try {
    const { session, run, wasLive } =
      options.assumeGone === true
        ? await reeve.assumeGone(reference)
        : await reeve.stop(reference, options.grace === undefined ? {} : { graceMs: options.grace * 1000 });
    const outcome = run.ending?.outcome ?? run.state;
    const text = wasLive
      ? `${session.name}: run ${run.id} ended as ${outcome}; ${run.ending?.evidence.at(-1) ?? 'nothing more is known'}.`
      : `${session.name}: nothing to stop; run ${run.id} had already ended as ${outcome}.`;
    const isOnWord = options.assumeGone === true && wasLive;
    const said = isOnWord ? `${session.name}: run ${run.id} is recorded as lost, on your word.` : text;
    const now = await reeve.show(session.id);
    const ended = now.runs.find(({ id }) => id === run.id) ?? now.run;
    printLines(options, { ...now, run: ended, wasLive }, [said]);
    if (now.run.id === run.id || now.run.state === 'ended') return 0;
    // Somebody was faster: what was to be stopped has a successor, and the session goes on.
    say(`${session.name} has another owner by now: run ${now.run.id}.`);
    return 4;
  } finally {
    await reeve.close();
  }
}

/** One that cannot be removed does not keep the others; with --json the first error is told, with what was removed. */
export async function rm(references: readonly string[], options: OutputOptions): Promise<number> {
  const reeve = await openPatiently();
  try {
    const removed: string[] = [];
    const refusals: ReeveError[] = [];
    for (const reference of references) {
      try {
        removed.push((await reeve.remove(reference)).name);
      } catch (error) {
        if (!isOfOneSession(error)) throw error;
        refusals.push(error);
      }
    }
    const [first] = refusals;
    if (first !== undefined && options.json === true) {
      const { code, message, hint, details } = first;
      const more = { ...(hint === undefined ? {} : { hint }), details: { ...details, removed } };
      throw new ReeveError(code, message, { ...more, cause: first });
    }
    const lines = removed.map((name) => `${name}: removed.`);
    printLines(options, { removed }, lines);
    return refusals.map((refusal) => printError(options, refusal))[0] ?? 0;
  } finally {
    await reeve.close();
  }
}

/** What would befall the next one as well, such as a store that is away, is told once. */
function isOfOneSession(error: unknown): error is ReeveError {
  return error instanceof ReeveError && !(error instanceof Interrupted) && !error.code.startsWith('store_');
}

/** For a harness or its tools: the run and its token come from the environment that the run was given. */
export async function heartbeat(options: OutputOptions): Promise<number> {
  const reeve = await openPatiently();
  try {
    const beat = await reeve.heartbeat();
    printLines(options, beat, beat.accepted ? [] : [LEFT]);
    return 0;
  } finally {
    await reeve.close();
  }
}
