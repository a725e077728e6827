/** Hosts as people tell them apart. */
import { hostName } from '../lifecycle/reach.ts';

/** As many signs of the installation behind a name as tell two of one name apart, mostly. */
const SHORT_ID_LENGTH = 4;

/** A name for each host on record; empty where there is one only, and its name on every row would say nothing. */
export function hostNames(hosts: readonly string[]): ReadonlyMap<string, string> {
  const distinct = [...new Set(hosts)];
  if (distinct.length < 2) return new Map();
  const names = distinct.map(hostName);
  return new Map(
    distinct.map((host, index) => {
      const name = names[index] ?? host;
      // Two state directories of one machine, or copies of one image.
      const isShared = names.filter((each) => each === name).length > 1;
      return [host, isShared ? host.slice(0, name.length + 1 + SHORT_ID_LENGTH) : name];
    }),
  );
}
