import type { SessionDetailView } from '../../../src/api/http-views.ts';
import type { ChildView } from '../../../src/api/session-view.ts';
import { STATUS_OF_OUTCOME } from '../../../src/lifecycle/status.ts';
import { Age } from '../parts/age.tsx';
import { StatusMark } from '../parts/status-mark.tsx';
import { sessionHref } from '../route.ts';
import { commandLine, count } from '../words/short.ts';
import { outcomeWord } from '../words/status.ts';
import { Panel } from './panel.tsx';

/** What the runs of a session started themselves: reviews in the background, subagents. */
export function Children({ session: { children } }: { readonly session: SessionDetailView }) {
  if (children.length === 0) return null;
  return (
    <Panel title="Children" note={count(children.length, 'run')}>
      <ul class="children">
        {children.map((child) => (
          <Child key={child.run.id} child={child} />
        ))}
      </ul>
    </Panel>
  );
}

function Child({ child: { session, sessionId, argv, run } }: { readonly child: ChildView }) {
  const status =
    run.outcome === null
      ? run.liveness === 'alive'
        ? 'working'
        : 'unknown'
      : STATUS_OF_OUTCOME[run.outcome];
  return (
    <li>
      <StatusMark status={status} /> <a href={sessionHref(sessionId)}>{session}</a>{' '}
      <span>{run.outcome === null ? status : outcomeWord(run.outcome)}</span>{' '}
      <Age sinceMs={Date.parse(run.endedAt ?? run.startedAt)} />
      <span class="dim" title={commandLine(argv)}>
        {commandLine(argv)}
      </span>
    </li>
  );
}
