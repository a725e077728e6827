import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { costOf } from '../../src/lifecycle/price.ts';
import type { Price, SpentOnDay } from '../../src/lifecycle/price.ts';

const MILLION = 1_000_000;

const price = (model: string, from: string, changes: Partial<Price> = {}): Price => ({
  model,
  from,
  input: 3,
  output: 15,
  cacheRead: 0.3,
  cacheWrite: 3.75,
  ...changes,
});

const spent = (changes: Partial<SpentOnDay> = {}): SpentOnDay => ({
  model: 'claude-sonnet-5',
  day: '2026-05-04',
  input: 0,
  output: 0,
  cacheRead: 0,
  cacheWrite: 0,
  reasoning: 0,
  ...changes,
});

const costs = (sums: readonly SpentOnDay[], ...models: readonly Price[]) => costOf(sums, { models });
/** What a million tokens of input cost, in the currency. */
const inputPrice = (model: string, day: string, models: readonly Price[]) => {
  const { micros } = costs([spent({ model, day, input: MILLION })], ...models);
  return micros === null ? null : micros / MILLION;
};

describe('what tokens cost', () => {
  it('is each kind by its own price; reasoning is output, and not paid for again', () => {
    const all = spent({
      input: MILLION,
      output: MILLION,
      cacheRead: MILLION,
      cacheWrite: MILLION,
      reasoning: MILLION,
    });
    expect(costs([all], price('claude-sonnet-5', '2026-01-01'))).toEqual({
      micros: 22_050_000,
      unpricedTokens: 0,
    });
  });

  it('is not known without a price, and nothing of nothing', () => {
    expect(costs([spent({ input: 5, output: 7, reasoning: 7 })])).toEqual({
      micros: null,
      unpricedTokens: 12,
    });
    expect(costs([], price('*', '2026-01-01'))).toEqual({ micros: null, unpricedTokens: 0 });
    expect(costs([spent()], price('*', '2026-01-01'))).toEqual({ micros: null, unpricedTokens: 0 });
  });

  it('is partly known when a model has no price, or a kind of tokens has none', () => {
    const known = price('claude-*', '2026-01-01', { cacheWrite: null });
    const sums = [
      spent({ input: MILLION, cacheWrite: 40 }),
      spent({ model: 'other', input: 2, output: 3, reasoning: 1 }),
    ];
    expect(costs(sums, known)).toEqual({ micros: 3 * MILLION, unpricedTokens: 45 });
  });

  it('is nothing where the price is nought, which is not the same as unknown', () => {
    const free = price('*', '2026-01-01', { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 });
    expect(costs([spent({ input: 5 })], free)).toEqual({ micros: 0, unpricedTokens: 0 });
  });

  it.each([
    ['claude-sonnet-5', 5],
    ['claude-sonnet-5-2', 4],
    ['claude-sonnet', null],
    ['claude-sonnet-4', 3],
    ['claude-opus', 2],
    ['gpt', 1],
    ['', 1],
    ['Claude-opus', 1],
  ])('of %j is by the price that says most of the name', (model, wanted) => {
    const models = [
      price('*', '2026-01-01', { input: 1 }),
      price('claude-sonnet-5', '2026-01-01', { input: 5 }),
      price('claude-*', '2026-01-01', { input: 2 }),
      price('claude-sonnet-5*', '2026-01-01', { input: 4 }),
      price('claude-sonnet-*', '2026-01-01', { input: 3 }),
      price('claude-sonnet', '2026-01-01', { input: null }),
    ];
    expect([
      inputPrice(model, '2026-05-04', models),
      inputPrice(model, '2026-05-04', models.toReversed()),
    ]).toEqual([wanted, wanted]);
  });

  it.each([
    ['2025-12-31', null],
    ['2026-01-01', 1],
    ['2026-05-31', 1],
    ['2026-06-01', 2],
    ['2026-12-31', 2],
    ['2027-01-01', 3],
    ['+275760-09-13', 3],
  ])('on %s is by the latest price that had begun', (day, wanted) => {
    const models = [
      price('m', '2026-06-01', { input: 2 }),
      price('m', '2027-01-01', { input: 3 }),
      price('m', '2026-01-01', { input: 1 }),
    ];
    expect([inputPrice('m', day, models), inputPrice('m', day, models.toReversed())]).toEqual([
      wanted,
      wanted,
    ]);
  });

  it('is by a price that says less for as long as the one that says more has not begun', () => {
    const models = [price('m*', '2026-01-01', { input: 1 }), price('m-1', '2026-06-01', { input: 2 })];
    expect([inputPrice('m-1', '2026-05-31', models), inputPrice('m-1', '2026-06-01', models)]).toEqual([
      1, 2,
    ]);
  });

  it('does not drift: the same however often it is divided, and rounded once', () => {
    const cents = price('m', '2026-01-01', { input: 0.1, output: 0.2, cacheRead: 0.3, cacheWrite: 0.7 });
    const one = spent({ model: 'm', input: 1, output: 1, cacheRead: 1, cacheWrite: 1 });
    const many = Array.from({ length: 100_000 }, () => one);
    const whole = spent({ model: 'm', input: 1e5, output: 1e5, cacheRead: 1e5, cacheWrite: 1e5 });
    expect(costs(many, cents)).toEqual({ micros: 130_000, unpricedTokens: 0 });
    expect(costs([whole], cents)).toEqual({ micros: 130_000, unpricedTokens: 0 });
    const count = fc.integer({ min: 0, max: 1e9 });
    const tokens = fc.record({ input: count, output: count, cacheRead: count, cacheWrite: count });
    fc.assert(
      fc.property(fc.array(tokens, { maxLength: 20 }), (each) => {
        const parts = each.map((tokensOf) => spent({ model: 'm', ...tokensOf }));
        const sumOf = (kind: 'input' | 'output' | 'cacheRead' | 'cacheWrite') =>
          each.reduce((all, tokensOf) => all + tokensOf[kind], 0);
        const joined = spent({
          model: 'm',
          input: sumOf('input'),
          output: sumOf('output'),
          cacheRead: sumOf('cacheRead'),
          cacheWrite: sumOf('cacheWrite'),
        });
        expect(costs(parts, cents)).toEqual(costs([joined], cents));
        expect(costs(parts.toReversed(), cents)).toEqual(costs(parts, cents));
      }),
    );
  });

  it('is rounded to the nearest millionth', () => {
    const micros = (input: number) =>
      costs([spent({ input })], price('*', '2026-01-01', { input: 0.1 })).micros;
    expect([micros(4), micros(5), micros(14), micros(15)]).toEqual([0, 1, 1, 2]);
  });

  it('counts every token either as paid for or as unpriced, whatever the prices are', () => {
    const names = fc.constantFrom('a', 'ab', 'abc', 'a*', 'ab*', '*', 'b');
    const days = fc.constantFrom('2026-01-01', '2026-06-01', '2027-01-01');
    const rate = fc.option(fc.constant(1));
    const entry = fc.record({
      model: names,
      from: days,
      input: rate,
      output: rate,
      cacheRead: rate,
      cacheWrite: rate,
    });
    const count = fc.integer({ min: 0, max: 1000 });
    const sums = fc.array(
      fc.record({
        model: fc.constantFrom('a', 'ab', 'abc', 'c'),
        day: fc.constantFrom('2025-12-31', '2026-01-01', '2026-07-01'),
        input: count,
        output: count,
        cacheRead: count,
        cacheWrite: count,
        reasoning: count,
      }),
    );
    fc.assert(
      fc.property(sums, fc.array(entry), (each, models) => {
        const { micros, unpricedTokens } = costs(each, ...models);
        const total = each.reduce(
          (all, one) => all + one.input + one.output + one.cacheRead + one.cacheWrite,
          0,
        );
        // Each costs one unit for a million: a millionth for a token.
        expect((micros ?? 0) + unpricedTokens).toBe(total);
      }),
    );
  });
});
