/** What the operations work with. */
import type { Context } from '../../supervisor/context.ts';
import type { Reeve } from '../../supervisor/reeve.ts';
import type { DaemonRecord } from '../../supervisor/daemon-place.ts';
import type { Changes } from '../changes.ts';
import type { Health } from '../health.ts';
import type { Metrics } from '../metrics.ts';
import type { Access } from './access.ts';

export interface Parts {
  readonly context: Context;
  /** The use cases, done in the name of the user. */
  readonly reeve: Reeve;
  readonly changes: Changes;
  readonly health: Health;
  readonly metrics: Metrics;
  readonly access: Access;
  /** Known once it listens. */
  readonly record: () => DaemonRecord;
  /** For what nobody is told; never with what a request contained. */
  readonly log: (text: string) => void;
  /** Ends with the daemon, and with it whatever goes on for ever. */
  readonly closing: AbortSignal;
}
