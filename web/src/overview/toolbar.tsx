import type { RefObject } from 'preact';
import { sessions } from '../live/sessions.ts';
import { count } from '../words/short.ts';
import { harnesses, harnessFilter, query, shownIds } from './groups.ts';

export function Toolbar({ search }: { readonly search: RefObject<HTMLInputElement | null> }) {
  return (
    <div class="toolbar" role="search">
      <label class="search">
        <span class="unseen">Search sessions</span>
        <input
          ref={search}
          type="search"
          placeholder="Search name, directory, branch, harness, command, status"
          value={query.value}
          onInput={(event) => {
            query.value = event.currentTarget.value;
          }}
          spellcheck={false}
          autocomplete="off"
        />
        <kbd aria-hidden="true">/</kbd>
      </label>
      <Chips />
      <p class="unseen" role="status">
        {query.value === '' && harnessFilter.value === null
          ? ''
          : `${shownIds.value.length} of ${count(sessions.value.size, 'session')}`}
      </p>
    </div>
  );
}

/** One harness alone is nothing to choose from. */
function Chips() {
  if (harnesses.value.length < 2) return null;
  return (
    <div class="chips" role="group" aria-label="Harness">
      <Chip harness={null} label="all" number={sessions.value.size} />
      {harnesses.value.map(([harness, number]) => (
        <Chip key={harness} harness={harness} label={harness} number={number} />
      ))}
    </div>
  );
}

function Chip({
  harness,
  label,
  number,
}: {
  readonly harness: string | null;
  readonly label: string;
  readonly number: number;
}) {
  const isOn = harnessFilter.value === harness;
  return (
    <button
      type="button"
      class="chip"
      aria-pressed={isOn}
      onClick={() => {
        harnessFilter.value = isOn ? null : harness;
      }}
    >
      {label} <span class="number">{number}</span>
    </button>
  );
}
