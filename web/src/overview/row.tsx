import { useLayoutEffect, useRef } from 'preact/hooks';
import type { SessionRow } from '../../../src/api/http-views.ts';
import { amount } from '../../../src/api/amount.ts';
import { tightest } from '../../../src/api/budget-words.ts';
import { hasSeveralHosts, ownerOf } from '../live/sessions.ts';
import { Age } from '../parts/age.tsx';
import { BudgetBar } from '../parts/budget-bar.tsx';
import { StatusMark, StatusWord } from '../parts/status-mark.tsx';
import { sessionHref } from '../route.ts';
import { bytes, hostName, shortCommand, shortPath } from '../words/short.ts';
import { isLive, sinceMs, whyOf } from '../words/status.ts';
import { focusId, selectedId } from './groups.ts';

/** Longer paths lose their middle; what is still too long for a narrow window is cut by the style. */
const MAX_PATH_LENGTH = 38;

/** Deeper ones stand no further in, or their names would have no room. */
const MAX_INDENT = 4;

interface Place {
  readonly index: number;
  readonly of: number;
  /** Null in the usual flow. */
  readonly topPx: number | null;
  /** 0 for one that stands by itself. */
  readonly depth: number;
}

export function Row({ row, place }: { readonly row: SessionRow; readonly place: Place }) {
  const isSelected = selectedId.value === row.id;
  return (
    <li
      class={`row${isSelected ? ' selected' : ''}${place.topPx === null ? '' : ' placed'}`}
      data-session={row.name}
      aria-setsize={place.of}
      aria-posinset={place.index + 1}
      aria-level={place.depth + 1}
      style={place.topPx === null ? {} : { top: `${place.topPx}px` }}
    >
      <StatusMark status={row.status} />
      <Name row={row} depth={place.depth} />
      <State row={row} />
      <Where row={row} />
      <Cost row={row} />
      <Owner row={row} />
    </li>
  );
}

function Name({ row, depth }: { readonly row: SessionRow; readonly depth: number }) {
  const link = useRef<HTMLAnchorElement>(null);
  const shallFocus = focusId.value === row.id;
  useLayoutEffect(() => {
    if (!shallFocus) return;
    link.current?.focus();
    focusId.value = null;
  }, [shallFocus]);
  useLayoutEffect(
    () => () => {
      // Its session went to another group: the row there is another element, and the focus goes along.
      if (document.activeElement === link.current) focusId.value = row.id;
    },
    [],
  );
  return (
    <span class={depth === 0 ? 'who' : `who below below-${Math.min(depth, MAX_INDENT)}`}>
      <a
        ref={link}
        href={sessionHref(row.id)}
        onFocus={() => {
          selectedId.value = row.id;
        }}
      >
        {row.name}
      </a>
      <span class="dim" title={shortCommand(row.argv)}>
        <ChildOf row={row} depth={depth} />
        {row.harness === 'command' ? shortCommand(row.argv) : `${row.harness} · ${row.run.mode}`}
      </span>
    </span>
  );
}

/** Of one that stands elsewhere than below its parent; to those who do not see where it stands, of every child. */
function ChildOf({ row, depth }: { readonly row: SessionRow; readonly depth: number }) {
  const owner = ownerOf(row);
  if (owner === null) return null;
  return <span class={depth === 0 ? 'child-of' : 'unseen'}>child of {owner.name} · </span>;
}

function State({ row }: { readonly row: SessionRow }) {
  const why = whyOf(row);
  return (
    <span class="state">
      <span class="status-line">
        <StatusWord status={row.status} /> <Age sinceMs={sinceMs(row)} />
        {row.run.state === 'ended' && ' ago'}
      </span>
      <span class={row.status === 'needs-input' ? 'why wanted' : 'why dim'} title={why}>
        {why}
      </span>
    </span>
  );
}

function Where({ row: { cwd, branch } }: { readonly row: SessionRow }) {
  return (
    <span class="where">
      <span class="path" title={cwd}>
        <span class="unseen">in </span>
        {/* Where the beginning of a line is cut, the text still runs from left to right. */}
        <bdi dir="ltr">{shortPath(cwd, MAX_PATH_LENGTH)}</bdi>
      </span>
      {branch !== null && (
        <span class="branch dim" title={`branch ${branch}`}>
          <span class="unseen">branch </span>
          <span aria-hidden="true">⎇ </span>
          {branch}
        </span>
      )}
    </span>
  );
}

function Cost({ row: { memoryBytes, tokens, budgets } }: { readonly row: SessionRow }) {
  const tight = tightest(budgets);
  if (memoryBytes === null && tokens === null && tight === undefined) {
    return (
      <span class="memory">
        <span class="none" aria-hidden="true">
          –
        </span>
      </span>
    );
  }
  return (
    <span class="memory">
      {memoryBytes !== null && (
        <span>
          <span class="unseen">memory </span>
          {bytes(memoryBytes)}
        </span>
      )}
      {tokens !== null && (
        <span class="dim" title={`${tokens.toLocaleString('en')} tokens`}>
          {amount(tokens)} tokens
        </span>
      )}
      {tight !== undefined && <BudgetBar budget={tight} all={budgets} />}
    </span>
  );
}

function Owner({ row }: { readonly row: SessionRow }) {
  const { actor, pid, host, epoch } = row.run;
  const process = isLive(row) && pid !== null ? `pid ${pid}` : null;
  return (
    <span class="owner">
      <span title={`run ${epoch}, started by ${actor} on ${host}`}>
        <span class="unseen">{isLive(row) ? 'owned by ' : 'last owned by '}</span>
        {actor}
      </span>
      <span class="dim">
        {process}
        {hasSeveralHosts.value && (
          <span class="host">
            {process !== null && ' · '}
            {hostName(host)}
          </span>
        )}
      </span>
    </span>
  );
}
