/** A number that grows whenever something may have changed in a session. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { onSessionsChanged } from './feed.ts';

interface Revision {
  readonly revision: number;
  /** Something was done here, and its effect is to be seen. */
  readonly changed: () => void;
  /** Events name sessions by id; a page may be opened by a name, and learns the id with the first answer. */
  readonly identify: (sessionId: string) => void;
}

export function useRevision(): Revision {
  const [revision, setRevision] = useState(0);
  const id = useRef<string | null>(null);
  const changed = () => setRevision((number) => number + 1);
  useEffect(
    () =>
      onSessionsChanged((ids) => {
        if (ids === 'all' || id.current === null || ids.has(id.current)) changed();
      }),
    [],
  );
  return {
    revision,
    changed,
    identify: (sessionId) => {
      id.current = sessionId;
    },
  };
}
