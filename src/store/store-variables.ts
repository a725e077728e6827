import { resolve } from 'node:path';
import { isFile, KEYWORDS } from './postgres-address.ts';

/** Every variable by which a program in another directory reaches the store that this environment names. */
export function storeVariablesIn(
  environment: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  if ((environment['REEVE_STORE'] ?? '') === '') return {};
  const names = [
    ['REEVE_STORE', ''],
    ['PGSYSCONFDIR', 'servicefile'],
    ['SSL_CERT_FILE', 'sslrootcert'],
    ...[...KEYWORDS].map(([keyword, name]) => [name ?? '', keyword]),
  ] as const;
  return Object.fromEntries(
    names.flatMap(([name = '', keyword = '']) => {
      const value = environment[name] ?? '';
      return value === '' ? [] : [[name, isFile(keyword, value) ? resolve(value) : value] as const];
    }),
  );
}
