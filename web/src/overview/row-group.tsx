import { useId, useRef } from 'preact/hooks';
import type { Group } from './groups.ts';
import { selectedId } from './groups.ts';
import { Row } from './row.tsx';
import { useRowWindow } from './row-window.ts';

/** A heading and its rows. Of a long group only the rows near the screen are in the document. */
export function RowGroup({ group: { name, title, rows } }: { readonly group: Group }) {
  const headingId = useId();
  const list = useRef<HTMLUListElement>(null);
  const selected = rows.findIndex(({ session }) => session.id === selectedId.value);
  const { indices, heightPx, topOf } = useRowWindow(list, rows.length, selected);
  return (
    <section class={`group group-${name}`} aria-labelledby={headingId}>
      <h2 id={headingId}>
        {title} <span class="number">{rows.length}</span>
      </h2>
      <ul role="list" ref={list} style={heightPx === null ? {} : { height: `${heightPx}px` }}>
        {indices.map((index) => {
          const placed = rows[index];
          if (placed === undefined) return null;
          const { session, depth } = placed;
          return (
            <Row
              key={session.id}
              row={session}
              place={{ index, of: rows.length, topPx: topOf(index), depth }}
            />
          );
        })}
      </ul>
    </section>
  );
}
