/** Is the process on record alive? Alive and dead are proven; everything else is unknown. */
import { isSameInstallation } from '../lifecycle/installation.ts';
import { mayBeOneBoot, sharePids } from '../lifecycle/process-identity.ts';
import type { Liveness, ProcessIdentity } from '../lifecycle/process-identity.ts';
import type { ProcessTable } from './process-table.ts';

export function probe(table: ProcessTable, identity: ProcessIdentity): Liveness {
  const here = table.host;
  if (identity.boot !== here.boot) {
    // Only what this very installation recorded can be said to have been before a restart of this machine.
    if (!isSameInstallation(identity.host, here.host))
      return unknown(`it is on host ${identity.host}, and this is ${here.host}`);
    // Whose processes are seen from here all the same is judged by what is seen.
    if (sharePids(identity, here)) return probeHere(table, identity);
    if (mayBeOneBoot(identity, here))
      return unknown('a container with a boot id of its own stands between it and this command');
    return { is: 'dead', proof: 'rebooted', because: 'the machine has been restarted since' };
  }
  // The same boot is the same machine, whatever it is called by now: laptops change their names with the network.
  if (identity.pidNamespace !== here.pidNamespace) return probeNamespace(table, identity);
  return probeHere(table, identity);
}

function probeNamespace(table: ProcessTable, identity: ProcessIdentity): Liveness {
  const seen = table.seekNamespace?.(identity);
  if (seen?.is === 'gone') return { is: 'dead', proof: 'namespace', because: seen.because };
  return unknown(seen?.because ?? 'it is in another pid namespace (a container)');
}

function probeHere(table: ProcessTable, identity: ProcessIdentity): Liveness {
  const { pid, startTime } = identity;
  const reading = table.read(pid);
  if (reading.is === 'gone') return { is: 'dead', proof: 'gone', because: `process ${pid} is gone` };
  if (reading.is === 'unreadable') return unknown(`process ${pid} cannot be read: ${reading.because}`);
  if (startTime === null) return unknown(`process ${pid} was recorded without its start time`);
  if (reading.fact.startTime !== startTime) {
    return { is: 'dead', proof: 'reused', because: `pid ${pid} now belongs to another process` };
  }
  if (reading.fact.isZombie)
    return { is: 'dead', proof: 'zombie', because: `process ${pid} has exited (zombie)` };
  return reading.fact.isStopped ? { is: 'alive', isStopped: true } : { is: 'alive' };
}

function unknown(because: string): Liveness {
  return { is: 'unknown', because };
}
