import type { SessionDetailView } from '../../../src/api/http-views.ts';
import type { ChildView, RunView } from '../../../src/api/session-view.ts';
import { sessionPath } from '../api/paths.ts';
import { useLoaded, valueOf } from '../live/loaded.ts';
import { sessionHref } from '../route.ts';
import { aboutWords, POLICY_WORDS } from './child-words.ts';

/** Of whom the session's run is a child, and on which terms. A run's id leads to its session, as a name does. */
export function ParentLine({ run, revision }: { readonly run: RunView; readonly revision: number }) {
  const { parent } = run;
  const loaded = useLoaded<SessionDetailView>(
    parent === null ? null : sessionPath(parent),
    parent ?? '',
    revision,
  );
  if (parent === null || loaded.is === 'loading') return null;
  const session = valueOf(loaded);
  if (session === null) {
    return (
      <p class="parent-line">
        <Hook /> A child of run <span class="mono">{parent}</span>, of which no more is known.
      </p>
    );
  }
  const epoch = session.runs.find(({ id }) => id === parent)?.epoch;
  return (
    <p class="parent-line">
      <Hook /> A child of <a href={sessionHref(session.id)}>{session.name}</a>
      {epoch !== undefined && `, started in its run ${epoch}`}
      {termsOf(session.children.find((child) => child.run.id === run.id))}.
    </p>
  );
}

function Hook() {
  return (
    <span class="dim" aria-hidden="true">
      ↳
    </span>
  );
}

function termsOf(child: ChildView | undefined): string {
  if (child === undefined) return '';
  const about = aboutWords(child);
  return `; ${POLICY_WORDS[child.onParentEnd]}${about === '' ? '' : `; about ${about}`}`;
}
