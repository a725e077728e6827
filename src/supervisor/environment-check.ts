/** Variables that a command depends on, looked at before anything is done: what cannot be meant is an error, not ignored. */
import { homeFrom } from './home.ts';
import { containmentLimit } from './containment-limit.ts';
import { isStoreWithheld } from './withheld.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Throws `usage` for a REEVE_CONTAINMENT or a REEVE_STORE that Reeve does not know. */
export async function checkEnvironment(environment: Environment): Promise<void> {
  containmentLimit({ environment });
  await checkStoreAddress(environment);
}

export async function checkStoreAddress(environment: Environment): Promise<void> {
  const address = environment['REEVE_STORE'] ?? '';
  if (address === '' || isStoreWithheld(homeFrom(environment), environment)) return;
  // Loaded only where there is one.
  (await import('../store/postgres-parameters.ts')).planFrom(address, environment);
}
