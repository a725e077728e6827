/**
 * From where a run can be judged, and by whom it can be ended.
 *
 * Whoever cannot see the evidence does not judge. What is known of a run (its exit, its reports, its log) is in the
 * state directory that started it; of a run of another one, only whether its processes live can be seen, and that only
 * on the same machine. Whoever cannot signal leaves no intent: an end that was asked for and cannot be carried out
 * would be taken for the reason of whatever end comes later.
 */
import { isSameInstallation } from './installation.ts';
import type { ProcessIdentity } from './process-identity.ts';
import type { Run } from './run.ts';

export type Place =
  | { readonly is: 'here' }
  /** On this machine, so its processes can be seen. The directory is null where the record does not tell it. */
  | { readonly is: 'other_directory'; readonly directory: string | null }
  | { readonly is: 'other_host'; readonly host: string };

export interface Vantage extends Pick<ProcessIdentity, 'host' | 'boot' | 'pidNamespace'> {
  /** Whether this state directory has the run's own directory. */
  readonly hasRecords: boolean;
}

export function placeOf(run: Run, { hasRecords, ...here }: Vantage): Place {
  const { host, boot, pidNamespace } = run.keeper ?? run.launcher;
  if (isSameInstallation(host, here.host)) return { is: 'here' };
  if (boot !== here.boot || pidNamespace !== here.pidNamespace) return { is: 'other_host', host };
  // The identity of this directory was minted anew since the run began: what it recorded is here all the same.
  return hasRecords ? { is: 'here' } : { is: 'other_directory', directory: directoryOf(run) };
}

/** Why something cannot be done about a run from here; and where, or as whom, it can. Sentences without a full stop. */
export interface OutOfReach {
  readonly because: string;
  readonly wayOn: string;
  /** Whether there may be no other way to learn of its end than a person's word. */
  readonly needsWord: boolean;
  /** For programs. */
  readonly details: Readonly<Record<string, string>>;
}

/** Null when all that is known of it is here. */
export function whyNotJudged(place: Place): OutOfReach | null {
  switch (place.is) {
    case 'here':
      return null;
    case 'other_directory': {
      const { directory } = place;
      const [which, how] = directory === null ? ['', ''] : [`, ${directory}`, `: REEVE_HOME=${directory}`];
      return {
        because: `its records are in another state directory of this machine${which}`,
        wayOn: `Do it from that state directory${how}`,
        needsWord: directory === null,
        details: directory === null ? {} : { home: directory },
      };
    }
    case 'other_host': {
      const name = hostName(place.host);
      return {
        because: `it is on another host, ${name}`,
        wayOn: `Do it on ${name}`,
        needsWord: true,
        details: { host: place.host },
      };
    }
  }
}

/** `unsignallable`: those of its processes that live and may not be signalled by this user. */
export function whyNotEnded(run: Run, place: Place, unsignallable: readonly number[]): OutOfReach | null {
  const unjudged = whyNotJudged(place);
  const [pid] = unsignallable;
  if (pid === undefined) return unjudged;
  const owner = `the user who started it (${run.actor}), or root`;
  return unjudged === null
    ? {
        because: `it belongs to another user, and this one may not signal it (pid ${pid})`,
        wayOn: `Do it as ${owner}`,
        needsWord: false,
        details: { startedBy: run.actor },
      }
    : { ...unjudged, wayOn: unjudged.wayOn.replace(/^Do/, `As ${owner}, do`) };
}

/** The name of a host on record, for people. */
export function hostName(host: string): string {
  return host.split('/')[0] ?? host;
}

/** The state directory, as a log's path has it; a run in the foreground has none. */
export function directoryOf({ id, logPath }: Run): string | null {
  const end = `/runs/${id}/output.log`;
  return logPath?.endsWith(end) === true ? logPath.slice(0, -end.length) : null;
}
