import { useEffect, useRef } from 'preact/hooks';
import type { SessionDetailView } from '../../../src/api/http-views.ts';
import { sessionPath } from '../api/paths.ts';
import type { RequestFailure } from '../api/request.ts';
import { useLoaded, valueOf } from '../live/loaded.ts';
import { useRevision } from '../live/revision.ts';
import { sessions } from '../live/sessions.ts';
import { FailureMessage, Message, withCode } from '../parts/message.tsx';
import { Unauthorised } from '../parts/unauthorised.tsx';
import { Actions } from '../actions/actions.tsx';
import { hasNavigated } from '../route.ts';
import { selectedId } from '../overview/groups.ts';
import { Events } from './events.tsx';
import { Facts } from './facts.tsx';
import { Heading } from './heading.tsx';
import { hasScreen, Output } from './output.tsx';
import { OwnershipStrip } from './ownership-strip.tsx';
import { Budgets } from './budgets.tsx';
import { Children } from './children.tsx';
import { ParentLine } from './parent-line.tsx';
import { Processes } from './processes.tsx';
import { Screen } from './screen.tsx';
import { Why } from './why.tsx';

export function SessionPage({ reference }: { readonly reference: string }) {
  const { revision, changed, identify } = useRevision();
  const loaded = useLoaded<SessionDetailView>(sessionPath(reference), reference, revision);
  const session = valueOf(loaded);
  if (session !== null) identify(session.id);
  const failure = loaded.is === 'failed' ? loaded.failure : null;
  if (failure?.isUnauthorised === true) return <Unauthorised />;
  // Forgotten while somebody looks, it is gone, whatever is still known of it.
  if (failure?.code === 'not_found') return <NotFound reference={reference} failure={failure} />;
  if (session === null) {
    return failure === null ? (
      <LoadingSession reference={reference} />
    ) : (
      <FailureMessage title="The session could not be loaded" failure={failure} retry={changed} />
    );
  }
  return <Session session={session} revision={revision} changed={changed} />;
}

function Session({
  session,
  revision,
  changed,
}: {
  readonly session: SessionDetailView;
  readonly revision: number;
  readonly changed: () => void;
}) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    selectedId.value = session.id;
    if (!hasNavigated.value) return;
    window.scrollTo(0, 0);
    heading.current?.focus({ preventScroll: true });
  }, []);
  useEffect(() => {
    document.title = `${session.name}: ${session.status} · Reeve`;
  }, [session.name, session.status]);
  return (
    <article class="session" aria-labelledby="session-name">
      <BackLink />
      <Heading session={session} heading={heading} />
      <ParentLine run={session.run} revision={revision} />
      <Actions session={session} changed={changed} />
      <OwnershipStrip session={session} />
      {hasScreen(session) && <Screen key={session.run.id} runId={session.run.id} />}
      <div class="halves">
        <div class="half">
          {!hasScreen(session) && <Output session={session} />}
          <Why session={session} revision={revision} />
        </div>
        <div class="half">
          <Facts session={session} />
          <Budgets session={session} />
          <Processes session={session} revision={revision} />
          <Children session={session} />
          <Events session={session} revision={revision} />
        </div>
      </div>
    </article>
  );
}

function BackLink() {
  return (
    <nav class="back" aria-label="Back">
      <a href="/">
        <span aria-hidden="true">← </span>All sessions
      </a>
    </nav>
  );
}

/** The overview may know it already: then it has a name while the rest is on its way. */
function LoadingSession({ reference }: { readonly reference: string }) {
  return (
    <div class="session" aria-busy="true">
      <BackLink />
      <h1>{sessions.value.get(reference)?.name ?? reference}</h1>
      <p class="dim" role="status">
        Loading
      </p>
      <div class="skeleton tall" aria-hidden="true" />
      <div class="skeleton taller" aria-hidden="true" />
    </div>
  );
}

function NotFound({ reference, failure }: { readonly reference: string; readonly failure: RequestFailure }) {
  useEffect(() => {
    document.title = 'No such session · Reeve';
  }, []);
  return (
    <Message title="No such session">
      <p>
        There is no session <code>{reference}</code> here. It was forgotten with <code>reeve rm</code>, or it
        is on another machine.
      </p>
      {failure.hint !== null && <p>{withCode(failure.hint)}</p>}
      <p>
        <a href="/">All sessions</a>
      </p>
    </Message>
  );
}
