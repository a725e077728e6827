import { now } from '../live/now.ts';
import { age, clock } from '../words/time.ts';

/** How long ago, growing. */
export function Age({ sinceMs }: { readonly sinceMs: number }) {
  return (
    <time dateTime={new Date(sinceMs).toISOString()} title={`since ${clock(sinceMs)}`}>
      {age(sinceMs, now.value)}
    </time>
  );
}
