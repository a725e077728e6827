import { describe, expect, it } from 'vitest';
import { parseConfig } from '../../src/supervisor/parse-config.ts';

const models = (...entries: readonly string[]) => {
  const parsed = parseConfig(`[prices]\nmodels = [${entries.map((entry) => `{ ${entry} }`).join(', ')}]`);
  return parsed.is === 'wrong' ? parsed.problem : parsed.config.prices.models;
};
const GOOD = 'model = "m", from = "2026-01-01", input = 3, output = 15';
const without = (name: string) =>
  GOOD.split(', ')
    .filter((pair) => !pair.startsWith(name))
    .join(', ');
const PRICE = { model: 'm', from: '2026-01-01', input: 3, output: 15, cacheRead: null, cacheWrite: null };

describe('prices', () => {
  it('have what the file says, with and without the price of caches', () => {
    expect(models(GOOD, `${GOOD.replace('"m"', '"m-*"')}, cache_read = 0.3, cache_write = 0`)).toEqual([
      PRICE,
      { ...PRICE, model: 'm-*', cacheRead: 0.3, cacheWrite: 0 },
    ]);
  });

  it('may stand in tables of their own, and say their days as TOML does', () => {
    const text =
      '[prices]\ncurrency = "EUR"\n[[prices.models]]\nmodel = "m"\nfrom = 2026-01-01\ninput = 3\noutput = 15\n';
    expect(parseConfig(text)).toMatchObject({
      is: 'read',
      config: { prices: { currency: 'EUR', models: [PRICE] } },
    });
  });

  it.each([
    [
      `${GOOD}, cahce_read = 1`,
      'with a key that is none of model, from, input, output, cache_read, cache_write',
    ],
    [without('model'), 'whose model is not a name, whole or with * as its last letter'],
    [GOOD.replace('"m"', '""'), 'whose model is not a name, whole or with * as its last letter'],
    [
      GOOD.replace('"m"', `"${'m'.repeat(201)}"`),
      'whose model is not a name, whole or with * as its last letter',
    ],
    [GOOD.replace('"m"', '"a*b"'), 'whose model is not a name, whole or with * as its last letter'],
    [GOOD.replace('"m"', '"**"'), 'whose model is not a name, whole or with * as its last letter'],
    [without('from'), 'whose from is not a day like 2026-01-31'],
    [GOOD.replace('2026-01-01', '2026-02-30'), 'whose from is not a day like 2026-01-31'],
    [GOOD.replace('2026-01-01', 'January'), 'whose from is not a day like 2026-01-31'],
    [GOOD.replace('"2026-01-01"', '2026-01-01T10:00:00Z'), 'whose from is not a day like 2026-01-31'],
    [without('input'), 'whose input is not a number from 0 to 1000000'],
    [GOOD.replace('15', '-1'), 'whose output is not a number from 0 to 1000000'],
    [GOOD.replace('15', 'nan'), 'whose output is not a number from 0 to 1000000'],
    [GOOD.replace('15', 'inf'), 'whose output is not a number from 0 to 1000000'],
    [GOOD.replace('15', '"15"'), 'whose output is not a number from 0 to 1000000'],
    [`${GOOD}, cache_read = "free"`, 'whose cache_read is not a number from 0 to 1000000'],
    [`${GOOD}, cache_write = true`, 'whose cache_write is not a number from 0 to 1000000'],
  ])('of { %s } are refused with a sentence', (entry, problem) => {
    expect(models(GOOD.replace('"m"', '"*"'), entry)).toBe(`prices.models has a price, number 2, ${problem}`);
  });

  it('of one model from one day are one; of another day or model they are others', () => {
    expect(models(GOOD, without('output').concat(', output = 1'))).toBe(
      'prices.models has two prices, numbers 1 and 2, for the same model from the same day',
    );
    expect(models(GOOD, GOOD.replace('01-01', '01-02'), GOOD.replace('"m"', '"m*"'))).toHaveLength(3);
  });

  it('are a list of tables, of a length that a person writes', () => {
    const wants =
      'must be a list of prices for a million tokens, each with its model and the day from which it holds';
    const problem = (text: string) => {
      const parsed = parseConfig(`[prices]\n${text}`);
      return parsed.is === 'wrong' ? parsed.problem : 'none';
    };
    expect([
      problem('models = "cheap"'),
      problem('[prices.models]\nm = 1'),
      problem('models = [3]'),
      problem(`models = [${'1,'.repeat(1001)}]`),
      problem('currency = "$"'),
      problem('curency = "USD"'),
    ]).toEqual([
      `prices.models ${wants}, not this text`,
      `prices.models ${wants}, not this table`,
      'prices.models has a price, number 1, that is not a table',
      'prices.models has more than 1000 prices',
      'prices.currency must be the three letters of a currency, not this text',
      'prices.curency is not known; did you mean prices.currency?',
    ]);
  });
});
