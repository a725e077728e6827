/** What opens the whole store: an agent gets none of it, and whoever records the end of its run needs all of it. */
import { parseAddress } from './postgres-address.ts';

type Environment = Readonly<Record<string, string | undefined>>;

const PASSWORD_VARIABLES = ['PGPASSWORD', 'PGPASSFILE'] as const;

/** In any way in which libpq takes one. What cannot be read may hold one. */
export function hasPassword(address: string): boolean {
  try {
    const { password = '', passfile = '', sslpassword = '' } = parseAddress(address);
    return password !== '' || passfile !== '' || sslpassword !== '';
  } catch {
    return true;
  }
}

/** The variables that hold the password of the store which this environment names, or lead to it; none for SQLite. */
export function storeSecretsIn(environment: Environment): readonly string[] {
  const address = environment['REEVE_STORE'] ?? '';
  if (address === '') return [];
  return [
    ...(hasPassword(address) ? ['REEVE_STORE'] : []),
    ...PASSWORD_VARIABLES.filter((name) => (environment[name] ?? '') !== ''),
  ];
}
