import { fileURLToPath } from 'node:url';

export interface ReadFault {
  /** Of node:fs. */
  readonly call: 'readFileSync' | 'readdirSync' | 'statSync' | 'lstatSync' | 'openSync';
  /** How the path ends. */
  readonly path: string;
  readonly code: string;
  /** How often; for ever when it is not said. */
  readonly times?: number;
  /** How many of them succeed before. */
  readonly after?: number;
}

/** The environment in which a command of ours meets these faults. */
export function failing(...faults: readonly ReadFault[]): { env: Record<string, string> } {
  const fixture = fileURLToPath(new URL('../fixtures/failing-reads.cjs', import.meta.url));
  return { env: { NODE_OPTIONS: `--require=${fixture}`, FAILING_READS: JSON.stringify(faults) } };
}
