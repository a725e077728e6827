/** How a command that retires a run hears Ctrl-C, the end of its terminal, and being told to end. */
import type { Interrupt, Interruption } from '../supervisor/context.ts';

const INTERRUPTS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const satisfies readonly Interrupt[];

export const interruption: Interruption = {
  listen: (heard) => {
    let isHeard = false;
    const handler = (given: NodeJS.Signals) => {
      if (isHeard) return insist(given);
      isHeard = true;
      heard(given as Interrupt); // It is only called for those that it was given to.
    };
    for (const signal of INTERRUPTS) process.on(signal, handler);
    return () => {
      for (const signal of INTERRUPTS) process.off(signal, handler);
    };
  },
};

/** A second Ctrl-C ends the command where it is. Others come in twos: a terminal that closes tells by kernel and by shell. */
function insist(signal: NodeJS.Signals): void {
  if (signal !== 'SIGINT') return;
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
}
