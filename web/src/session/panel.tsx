import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';

/** A titled part of the session's page; a landmark of its own for screen readers. */
export function Panel({
  title,
  note,
  class: className = '',
  children,
}: {
  readonly title: string;
  readonly note?: ComponentChildren;
  readonly class?: string;
  readonly children: ComponentChildren;
}) {
  const titleId = useId();
  return (
    <section class={`panel ${className}`} aria-labelledby={titleId}>
      <div class="panel-head">
        <h2 id={titleId}>{title}</h2>
        {note !== undefined && <span class="dim">{note}</span>}
      </div>
      {children}
    </section>
  );
}
