import type { RefObject } from 'preact';
import type { SessionDetailView } from '../../../src/api/http-views.ts';
import { Age } from '../parts/age.tsx';
import { StatusMark, StatusWord } from '../parts/status-mark.tsx';
import { isLive, sinceMs, whyOf } from '../words/status.ts';

export function Heading({
  session,
  heading,
}: {
  readonly session: SessionDetailView;
  readonly heading: RefObject<HTMLHeadingElement | null>;
}) {
  return (
    <header class="heading">
      <h1 id="session-name" ref={heading} tabIndex={-1}>
        {session.name}
      </h1>
      <p class={`now is-${session.status}`} role="status">
        <StatusMark status={session.status} /> <StatusWord status={session.status} />{' '}
        <span aria-hidden="true">
          <Age sinceMs={sinceMs(session)} />
          {session.run.state === 'ended' && ' ago'}
        </span>
        <span class="because">{because(session)}</span>
      </p>
    </header>
  );
}

function because(session: SessionDetailView): string {
  const why = whyOf(session);
  if (session.status === 'needs-input') return `It waits for ${why}.`;
  if (session.doubt !== null) return `Nothing could be proven about it: ${session.doubt}.`;
  if (!isLive(session)) return why === '' ? '' : sentence(why);
  return why === '' ? '' : `Known from: ${why}.`;
}

function sentence(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}${text.endsWith('.') ? '' : '.'}`;
}
