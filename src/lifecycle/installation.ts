/**
 * Which installation a state directory is: an identity minted once, kept in the directory itself.
 *
 * It names the host of every process on record, so that "the machine was restarted since" is only concluded where the
 * record was made by this very installation. A host name and a machine id do not tell: images are cloned with both.
 */
export interface RecordedInstallation {
  readonly id: string;
  /** Where the directory was when this was written. */
  readonly path: string;
  /** What the hardware had to say for itself then: permanent network addresses and the like. May be empty. */
  readonly machine: readonly string[];
}

export interface InstallationFacts {
  readonly path: string;
  readonly machine: readonly string[];
  /** Whether another directory, at the path on record, has the same identity. */
  readonly isOriginalThere: boolean;
}

export type InstallationVerdict =
  | { readonly is: 'same' }
  /** The directory was moved, or the hardware changed in part: the same installation, to be written down anew. */
  | { readonly is: 'changed' }
  /** Two directories with one identity: either could give a session a second owner. */
  | { readonly is: 'copied' }
  /** The machine is another one, with a copy of the disk: it needs an identity of its own. */
  | { readonly is: 'cloned' };

export function judgeInstallation(
  recorded: RecordedInstallation,
  here: InstallationFacts,
): InstallationVerdict {
  if (recorded.path !== here.path && here.isOriginalThere) return { is: 'copied' };
  const common = recorded.machine.filter((mark) => here.machine.includes(mark));
  // Nothing in common counts only where both have something: a machine that says nothing of itself proves nothing.
  if (recorded.machine.length > 0 && here.machine.length > 0 && common.length === 0) return { is: 'cloned' };
  const isSame =
    recorded.path === here.path &&
    common.length === recorded.machine.length &&
    common.length === here.machine.length;
  return { is: isSame ? 'same' : 'changed' };
}

/** The host on record is `name/installation`; the name is for people, and changes with the network. */
export function hostOf(name: string, installation: string): string {
  return installation === '' ? name : `${name}/${installation}`;
}

export function isSameInstallation(one: string, other: string): boolean {
  return installationIn(one) === installationIn(other);
}

export function installationIn(host: string): string {
  return host.slice(host.lastIndexOf('/') + 1);
}
