import type { Deliver, Terminal } from './channel.ts';

const BELL = '\u0007';

export function bell(terminal: Terminal): Deliver {
  return async () => {
    // In a file or a pipe the character would only be dirt.
    if (terminal.isTTY !== true) return { is: 'refused', because: 'there is no terminal to ring it on' };
    terminal.write(BELL);
    return { is: 'delivered' };
  };
}
