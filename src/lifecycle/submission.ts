/**
 * What a run hands in: findings, a result, a report. Accepted once, while the run is its session's current one. What comes
 * later is not accepted, but kept aside with the reason, so that it is not lost. What a stranger sends is not kept:
 * anybody could fill the store.
 */
import type { Refusal } from './fence.ts';

/** A long report is a tenth of this. What is larger belongs into a file, whose name is submitted. */
export const MAX_SUBMISSION_BYTES = 1024 * 1024;
/** A program that submits in a loop must not fill the store: so many a run, and so many bytes of them together. */
export const MAX_ACCEPTED_A_RUN = 1_000;
export const MAX_ACCEPTED_BYTES_A_RUN = 64 * 1024 * 1024;
/** What a run hands in after its end is a last word or two; one that goes on and on is not heard for ever. */
export const MAX_KEPT_A_RUN = 20;
/** For a name that a program gives, not for content. */
export const MAX_KEY_LENGTH = 100;

export interface SubmissionFacts {
  readonly refusal: Refusal | null;
  readonly digest: string;
  readonly bytes: number;
  /** What was accepted of this run under the same key. */
  readonly underKey: { readonly id: string; readonly digest: string } | null;
  /** The same content of this run, under whatever key. */
  readonly acceptedAs: string | null;
  readonly keptAs: string | null;
  /** How much of this run there is. */
  readonly accepted: { readonly count: number; readonly bytes: number };
  readonly keptCount: number;
}

export type SubmissionPlan =
  | { readonly do: 'accept' }
  /** It was accepted before: nothing is written twice. */
  | { readonly do: 'repeat'; readonly id: string }
  /** The key stands for another content. */
  | { readonly do: 'object'; readonly id: string }
  | { readonly do: 'decline'; readonly because: string }
  /** Not accepted, but put aside. */
  | { readonly do: 'keep'; readonly refusal: Refusal }
  /** Not accepted, and not put aside: it is there already, under `id`, or will not be. */
  | {
      readonly do: 'refuse';
      readonly refusal: Refusal;
      readonly known: KnownAs | null;
      readonly why: string;
    };

export interface KnownAs {
  readonly id: string;
  readonly as: 'accepted' | 'kept';
}

export function planSubmission(facts: SubmissionFacts): SubmissionPlan {
  const { refusal, underKey, digest } = facts;
  if (refusal !== null) return planRefused(facts, refusal);
  if (underKey !== null) return { do: underKey.digest === digest ? 'repeat' : 'object', id: underKey.id };
  const { count, bytes } = facts.accepted;
  if (count >= MAX_ACCEPTED_A_RUN) return decline(`it has made ${MAX_ACCEPTED_A_RUN} submissions already`);
  if (bytes + facts.bytes > MAX_ACCEPTED_BYTES_A_RUN) {
    return decline(`its submissions together would have more than ${MAX_ACCEPTED_BYTES_A_RUN} bytes`);
  }
  return { do: 'accept' };
}

function planRefused(facts: SubmissionFacts, refusal: Refusal): SubmissionPlan {
  const { acceptedAs, keptAs, keptCount } = facts;
  const refuse = (known: KnownAs | null, why: string) => ({ do: 'refuse', refusal, known, why }) as const;
  if (refusal.is === 'stranger') return refuse(null, 'only what a run itself submits is kept');
  if (acceptedAs !== null) {
    return refuse({ id: acceptedAs, as: 'accepted' }, 'the same was accepted while the run was current');
  }
  if (keptAs !== null) return refuse({ id: keptAs, as: 'kept' }, 'the same was kept aside before');
  if (keptCount >= MAX_KEPT_A_RUN) {
    return refuse(null, `${MAX_KEPT_A_RUN} late submissions of this run are kept already`);
  }
  return { do: 'keep', refusal };
}

function decline(because: string): SubmissionPlan {
  return { do: 'decline', because };
}

/** What is the matter with a key; null when nothing is. */
export function objectToKey(key: string): string | null {
  if (key === '') return 'it is empty';
  if (key.length > MAX_KEY_LENGTH) return `it has more than ${MAX_KEY_LENGTH} characters`;
  return isPlain(key) ? null : 'it has control characters, or is no text';
}

/** A lone half of a character cannot be stored as what it is. */
export function isPlain(text: string): boolean {
  return !/[\p{Cc}\p{Cs}]/u.test(text);
}
