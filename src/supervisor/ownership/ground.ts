/** What ownership stands on beside the store: this user's files of owners, and which state directory and store are meant. */
import { realpathSync } from 'node:fs';
import type { Announcement } from '../../lifecycle/announcement.ts';
import { installationIn } from '../../lifecycle/installation.ts';
import { installedFile, ownersDirectory, sessionFile, sharedFile } from '../../process/owner-files.ts';
import { isThere } from '../../process/reading.ts';
import type { Host } from '../../store/store.ts';
import type { Context } from '../context.ts';

export interface Ground extends Pick<Announcement, 'home' | 'store'> {
  /** Where keepers hold their files. */
  readonly owners: string;
  /** The identity that the state directory keeps when it is moved. */
  readonly installation: string;
}

/** Of a state directory of its own, which says which one. */
const SQLITE = 'sqlite';

export function groundOf(context: Context): Ground {
  const { environment, home, store } = context;
  return {
    owners: ownersDirectory(environment),
    installation: hostOf(context).id,
    home: realpathSync(home.path),
    // The same state directory may be used with its own database and with a shared one; their sessions are different ones.
    store: store.engine === 'sqlite' ? SQLITE : store.place,
  };
}

/** Of this store, in this state directory or where it was before it was moved. */
export function isOf(ground: Ground, { home, store, run }: Announcement): boolean {
  if (store !== ground.store || home === ground.home) return store === ground.store;
  return installationIn(run.keeper.host) === ground.installation && !isThere(home);
}

/** The files that stand for a session by its name. */
export function namedFiles(ground: Ground, name: string): readonly string[] {
  const { owners, store } = ground;
  return [
    sessionFile(owners, ground, name),
    installedFile(owners, ground, name),
    ...(store === SQLITE ? [] : [sharedFile(owners, ground, name)]),
  ];
}

/** With other hosts. */
export function isShared({ store }: Context): boolean {
  return store.engine === 'postgres';
}

export function hostOf({ table }: Context): Host {
  const { host } = table.host;
  return { id: installationIn(host), name: host.split('/')[0] ?? host };
}
