/** What opens the whole store: an agent gets none of it, and whoever records the end of its run needs all of it. */
import { hasSecret, targetFrom } from './postgres-target.ts';
import type { Environment } from './postgres-target.ts';

/** Each may hold the password, or lead to it. */
const LEADING = ['REEVE_STORE', 'PGPASSWORD', 'PGPASSFILE', 'PGSERVICE', 'PGSERVICEFILE'] as const;

/** The variables that open the store which this environment names, where that takes a password; none otherwise. */
export function storeSecretsIn(environment: Environment): readonly string[] {
  const address = environment['REEVE_STORE'] ?? '';
  if (address === '' || !takesPassword(address, environment)) return [];
  return LEADING.filter((name) => (environment[name] ?? '') !== '');
}

/** What cannot be read may hold one. */
function takesPassword(address: string, environment: Environment): boolean {
  try {
    return hasSecret(targetFrom(address, environment));
  } catch {
    return true;
  }
}
