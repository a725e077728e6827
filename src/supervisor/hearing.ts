/**
 * What becomes of a retirement whose command is interrupted. As long as the run was asked at most, and goes on, the
 * command takes its intent back. Once its children are being dealt with, it is being killed or has exited, that would
 * only blur the record: the retirement is finished first, which takes a moment, and nothing is begun after it.
 */
import { constants } from 'node:os';
import { Interrupted } from '../api/errors.ts';
import { isPersonal } from '../lifecycle/run.ts';
import type { EndedRun, Intent, Run } from '../lifecycle/run.ts';
import type { Context, Interrupt } from './context.ts';

export interface Hearing {
  /** For all that a retirement does in turn: only one listens at a time. */
  readonly context: Context;
  /** The signal that was heard; null while there was none. */
  readonly heard: () => Interrupt | null;
  /** From then on a signal does what it does to any process. */
  readonly close: () => void;
}

export function hear(context: Context, { outcome }: Intent): Hearing {
  const { interruption: given, ...deaf } = context;
  const interruption = isPersonal(outcome) ? given : undefined;
  let signal: Interrupt | null = null;
  const close = interruption?.listen((heard) => (signal = heard)) ?? (() => {});
  return { context: deaf, heard: () => signal, close };
}

/** Throws, unless the run ended meanwhile. */
export async function withdraw(
  context: Context,
  run: Run,
  intent: Intent,
  signal: Interrupt,
): Promise<EndedRun> {
  const result = await context.store.step(run.id, { kind: 'withdraw', intent });
  const now = result.taken ? result.run : ((await context.store.run(run.id)) ?? run);
  if (now.state === 'ended') return now;
  const still =
    now.intent === null
      ? 'It goes on, and may still obey'
      : `That ${now.intent.actor} wants it to end stays on record`;
  throw interrupted(signal, `Run ${run.id} was asked to end and has not ended. ${still}.`, now);
}

/**
 * The end of a retirement that fails: nobody is left with an intent that nobody carries out. Where somebody was signalled,
 * the run may still obey, so the intent stays, and says that it failed.
 */
export async function giveUp(
  context: Context,
  run: Run,
  intent: Intent,
  { reached, error }: { readonly reached: { readonly isAny: boolean }; readonly error: unknown },
): Promise<void> {
  const because = (error instanceof Error ? error.message : String(error)).replace(/\.$/, '');
  try {
    // Behind another one's, which goes on, it can be taken back whatever was signalled.
    const isFirst = (await context.store.run(run.id))?.intent?.id === intent.id;
    const step =
      reached.isAny && isFirst
        ? ({ kind: 'survive', because, survivors: [], actor: context.actor } as const)
        : ({ kind: 'withdraw', intent, because } as const);
    await context.store.step(run.id, step);
  } catch {
    // A store that fails keeps the intent; what is thrown is why the retirement failed.
  }
}

/** It was too late to take anything back. */
export function refuseMore({ heard }: Hearing, run: EndedRun): void {
  const signal = heard();
  if (signal === null) return;
  throw interrupted(
    signal,
    `Run ${run.id} ended as ${run.ending.outcome}. Nothing more was done, because this command was interrupted.`,
    run,
  );
}

function interrupted(signal: Interrupt, message: string, run: Run): Interrupted {
  return new Interrupted(128 + constants.signals[signal], message, {
    signal,
    run: run.id,
    state: run.state,
    outcome: run.ending?.outcome ?? null,
  });
}
