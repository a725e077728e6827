/** Money, as it is written in the currency that the prices are in. */
const SIGNS: Readonly<Record<string, string>> = { USD: '$', EUR: '€', GBP: '£', JPY: '¥' };

/** Whole cents; less than one with as many digits as it takes. */
export function money(amount: number, currency: string): string {
  const isSmall = amount > 0 && amount < 0.01;
  const text = isSmall ? amount.toFixed(6).replace(/0+$/, '') : amount.toFixed(2);
  const [whole = '', part] = text.split('.');
  const number = `${whole.replaceAll(/\B(?=(\d{3})+$)/g, ',')}.${part}`;
  const sign = SIGNS[currency];
  return sign === undefined ? `${number} ${currency}`.trimEnd() : `${sign}${number}`;
}
