/** Inside a run whose store has a password, the store is out of reach; nothing else is opened in its place. */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ReeveError } from '../api/errors.ts';
import { WITHHELD_STORE } from '../process/environment.ts';
import { RUN_MARK } from '../process/tree.ts';
import { storeSecretsIn } from '../store/store-secrets.ts';
import type { Home } from './home.ts';
import { spoolIn } from './spool.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** In the spool of a run from which it is withheld, for what reaches a run's tools is not all that the run was given. */
const MARK = '.store-withheld';

export function noteWithheld(spool: string, environment: Environment): void {
  if (storeSecretsIn(environment).length > 0) writeFileSync(join(spool, MARK), '', { mode: 0o600 });
}

export function isStoreWithheld(home: Home, environment: Environment): boolean {
  const address = environment['REEVE_STORE'] ?? '';
  if (address !== '') return address === WITHHELD_STORE;
  const run = environment[RUN_MARK] ?? '';
  return run !== '' && existsSync(join(spoolIn(home, run), MARK));
}

/** `because` goes on from there. */
export function storeWithheld(because: string, hint: string): ReeveError {
  return new ReeveError(
    'store_withheld',
    `The store’s address has a password and is withheld from this run, so ${because}.`,
    { hint },
  );
}

/** For whatever needs the store itself. */
export function notFromInside(): ReeveError {
  return storeWithheld(
    'this cannot be done from inside it',
    'Do it from outside. Inside, a run can report (heartbeat, submit, usage add, review submit) and look at its own session.',
  );
}
