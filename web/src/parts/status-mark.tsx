import type { Status } from '../../../src/lifecycle/status.ts';
import { MARKS } from '../../../src/api/status-words.ts';

/** The mark says nothing that the word beside it does not say. */
export function StatusMark({ status }: { readonly status: Status }) {
  return (
    <span class={`mark is-${status}`} aria-hidden="true">
      {MARKS[status]}
    </span>
  );
}

export function StatusWord({ status }: { readonly status: Status }) {
  return <span class={`word is-${status}`}>{status}</span>;
}
