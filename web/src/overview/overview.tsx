import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { RequestFailure } from '../api/request.ts';
import { loadOverview } from '../live/feed.ts';
import { earlierCount, overviewState, sessions } from '../live/sessions.ts';
import { takeRowKeys } from '../keys.ts';
import { FailureMessage, FailureText, Message } from '../parts/message.tsx';
import { hasNavigated } from '../route.ts';
import { count } from '../words/short.ts';
import { focusId, groups, harnessFilter, query, selectedId, shownIds } from './groups.ts';
import { RowGroup } from './row-group.tsx';
import { Toolbar } from './toolbar.tsx';

export function Overview() {
  const state = overviewState.value;
  switch (state.is) {
    case 'loading':
      return <LoadingRows />;
    case 'failed':
      return (
        <FailureMessage
          title="The sessions could not be loaded"
          failure={state.failure}
          retry={() => void loadOverview()}
        />
      );
    case 'ready':
      return sessions.value.size === 0 && earlierCount.value === 0 ? <NoSessions /> : <Sessions />;
  }
}

function Sessions() {
  const search = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => takeRowKeys({ move, ...searchKeys(search) }), []);
  useEffect(() => {
    // Somebody who came by slash, or was faster than the paint, is in the search already.
    if (document.activeElement !== search.current) returnFocus();
  }, []);
  useEffect(() => {
    // What a person waits for when opening the page; `test/web` measures it.
    requestAnimationFrame(() => performance.mark('reeve:rows'));
  }, []);
  const shown = groups.value;
  return (
    <div class="overview">
      <h1 class="unseen">Sessions</h1>
      <Toolbar search={search} />
      {shown.length === 0 ? <NothingFound /> : <ColumnHeads />}
      {shown.map((group) => (
        <RowGroup key={group.name} group={group} />
      ))}
      {earlierCount.value > 0 && <Earlier />}
    </div>
  );
}

function Earlier() {
  const [failure, setFailure] = useState<RequestFailure | null>(null);
  return (
    <div class="earlier">
      <button type="button" onClick={() => void loadOverview('all').then(setFailure)}>
        Show {count(earlierCount.value, 'earlier session')}
      </button>
      {failure !== null && <FailureText failure={failure} />}
    </div>
  );
}

/** Back from a session's page, one is where one left. */
function returnFocus(): void {
  if (!hasNavigated.value) return;
  if (selectedId.value !== null && shownIds.value.includes(selectedId.value))
    focusId.value = selectedId.value;
  else document.querySelector<HTMLElement>('#main')?.focus();
}

function move(by: 1 | -1): void {
  const ids = shownIds.value;
  const at = selectedId.value === null ? -1 : ids.indexOf(selectedId.value);
  const next = at === -1 ? (by === 1 ? 0 : ids.length - 1) : Math.min(Math.max(at + by, 0), ids.length - 1);
  const id = ids[next];
  if (id === undefined) return;
  selectedId.value = id;
  focusId.value = id;
}

function searchKeys(search: { readonly current: HTMLInputElement | null }) {
  return {
    focusSearch: () => search.current?.select(),
    leaveSearch: () => {
      if (document.activeElement === search.current) {
        search.current?.blur();
        return true;
      }
      const wasSearching = query.value !== '' || harnessFilter.value !== null;
      clearSearch();
      return wasSearching;
    },
  };
}

function clearSearch(): void {
  query.value = '';
  harnessFilter.value = null;
}

/** Seen by eyes only: each row names its own parts. */
function ColumnHeads() {
  return (
    <div class="column-heads" aria-hidden="true">
      <span class="head-who">Session</span>
      <span>Status and evidence</span>
      <span>Directory and branch</span>
      <span class="head-memory">Memory, tokens</span>
      <span>Owner</span>
    </div>
  );
}

function NothingFound() {
  return (
    <div class="message small-message">
      <p>No session matches.</p>
      <button type="button" onClick={clearSearch}>
        Show all {sessions.value.size}
      </button>
    </div>
  );
}

function NoSessions() {
  return (
    <Message title="No sessions yet">
      <p>Start one in a terminal; it appears here by itself.</p>
      <pre class="command">
        <code>reeve run --tmux -- claude</code>
      </pre>
      <p class="dim">
        Any command can be one: <code>reeve run --detach -- COMMAND</code>. Harnesses that run already are
        found by <code>reeve scan</code>.
      </p>
    </Message>
  );
}

function LoadingRows() {
  return (
    <div class="overview loading" aria-busy="true">
      <h1 class="unseen">Sessions</h1>
      <p class="unseen" role="status">
        Loading the sessions
      </p>
      {Array.from({ length: 6 }, (_, index) => (
        <div class="skeleton" key={index} aria-hidden="true" />
      ))}
    </div>
  );
}
