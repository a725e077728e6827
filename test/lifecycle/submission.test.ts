import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  isPlain,
  MAX_ACCEPTED_A_RUN,
  MAX_ACCEPTED_BYTES_A_RUN,
  MAX_KEPT_A_RUN,
  MAX_KEY_LENGTH,
  objectToKey,
  planSubmission,
} from '../../src/lifecycle/submission.ts';
import type { SubmissionFacts } from '../../src/lifecycle/submission.ts';

const OVER = { is: 'over', because: 'it has ended' } as const;
const STRANGER = { is: 'stranger', because: 'the token is not its own' } as const;

const facts = (changes: Partial<SubmissionFacts> = {}): SubmissionFacts => ({
  refusal: null,
  digest: 'd1',
  bytes: 10,
  underKey: null,
  acceptedAs: null,
  keptAs: null,
  accepted: { count: 0, bytes: 0 },
  keptCount: 0,
  ...changes,
});
const plan = (changes: Partial<SubmissionFacts>) => planSubmission(facts(changes));

describe('a submission of the current run', () => {
  it('is accepted, also when the same content was accepted under another key', () => {
    expect(plan({})).toEqual({ do: 'accept' });
    expect(plan({ acceptedAs: 'sub-1' })).toEqual({ do: 'accept' });
  });

  it('of the same key and content is said to be there, and of other content is objected to', () => {
    expect(plan({ underKey: { id: 'sub-1', digest: 'd1' } })).toEqual({ do: 'repeat', id: 'sub-1' });
    expect(plan({ underKey: { id: 'sub-1', digest: 'd2' } })).toEqual({ do: 'object', id: 'sub-1' });
  });

  it('is declined beyond what one run may submit, but not its repetition', () => {
    const last = { count: MAX_ACCEPTED_A_RUN - 1, bytes: MAX_ACCEPTED_BYTES_A_RUN - 10 };
    expect(plan({ accepted: last })).toEqual({ do: 'accept' });
    for (const accepted of [
      { ...last, count: MAX_ACCEPTED_A_RUN },
      { ...last, bytes: last.bytes + 1 },
    ]) {
      expect(plan({ accepted })).toEqual({ do: 'decline', because: expect.any(String) });
      expect(plan({ accepted, underKey: { id: 'sub-1', digest: 'd1' } })).toEqual({
        do: 'repeat',
        id: 'sub-1',
      });
    }
  });
});

describe('a submission of a run that is over', () => {
  it('is kept, once for each content', () => {
    expect(plan({ refusal: OVER })).toEqual({ do: 'keep', refusal: OVER });
    expect(plan({ refusal: OVER, keptAs: 'sub-1' })).toEqual({
      do: 'refuse',
      refusal: OVER,
      known: { id: 'sub-1', as: 'kept' },
      why: expect.any(String),
    });
  });

  it('that was accepted in time is refused, and told to be there', () => {
    expect(plan({ refusal: OVER, acceptedAs: 'sub-1', keptAs: 'sub-2' })).toMatchObject({
      do: 'refuse',
      known: { id: 'sub-1', as: 'accepted' },
    });
  });

  it('is kept although its key stands for another content that was accepted', () => {
    expect(plan({ refusal: OVER, underKey: { id: 'sub-1', digest: 'd2' } })).toMatchObject({ do: 'keep' });
  });

  it('is not kept beyond a number of them', () => {
    expect(plan({ refusal: OVER, keptCount: MAX_KEPT_A_RUN - 1 })).toMatchObject({ do: 'keep' });
    expect(plan({ refusal: OVER, keptCount: MAX_KEPT_A_RUN })).toMatchObject({ do: 'refuse', known: null });
  });
});

it('whatever the facts: only the current run’s is accepted, and nothing of a stranger is kept or told', () => {
  const id = fc.constantFrom('sub-1', 'sub-2');
  const any = fc.record<SubmissionFacts>({
    refusal: fc.constantFrom(null, OVER, STRANGER),
    digest: fc.constantFrom('d1', 'd2'),
    bytes: fc.nat(MAX_ACCEPTED_BYTES_A_RUN),
    underKey: fc.option(fc.record({ id, digest: fc.constantFrom('d1', 'd2') })),
    acceptedAs: fc.option(id),
    keptAs: fc.option(id),
    accepted: fc.record({
      count: fc.nat(2 * MAX_ACCEPTED_A_RUN),
      bytes: fc.nat(2 * MAX_ACCEPTED_BYTES_A_RUN),
    }),
    keptCount: fc.nat(2 * MAX_KEPT_A_RUN),
  });
  fc.assert(
    fc.property(any, (given) => {
      const planned = planSubmission(given);
      const isForCurrent = ['accept', 'repeat', 'object', 'decline'].includes(planned.do);
      expect(isForCurrent).toBe(given.refusal === null);
      if (given.refusal === STRANGER) {
        expect(planned).toEqual({ do: 'refuse', refusal: STRANGER, known: null, why: expect.any(String) });
      }
    }),
    { numRuns: 2_000 },
  );
});

describe('a key', () => {
  it('is a plain text of some length', () => {
    for (const key of ['k', 'größe 日本 😀', 'x'.repeat(MAX_KEY_LENGTH)]) expect(objectToKey(key)).toBeNull();
    for (const key of ['', 'x'.repeat(MAX_KEY_LENGTH + 1), 'a\0b', 'a\nb', 'a\u001Bb', '\u0085', '\uD800']) {
      expect(objectToKey(key)).toEqual(expect.any(String));
    }
  });

  it('is plain exactly when it survives being stored as UTF-8 and printed on one line', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const isStored = Buffer.from(text).toString('utf8') === text;
        expect(isPlain(text)).toBe(isStored && !/\p{Cc}/u.test(text));
      }),
    );
  });
});
