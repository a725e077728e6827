import { useEffect } from 'preact/hooks';
import { connection } from './live/connection.ts';
import { HelpDialog } from './parts/help-dialog.tsx';
import { ConnectionBar } from './parts/connection-bar.tsx';
import { Foot } from './parts/foot.tsx';
import { Message } from './parts/message.tsx';
import { TopBar } from './parts/top-bar.tsx';
import { Unauthorised } from './parts/unauthorised.tsx';
import { Overview } from './overview/overview.tsx';
import { needingCount } from './overview/groups.ts';
import { overviewState } from './live/sessions.ts';
import { route } from './route.ts';
import type { Route } from './route.ts';
import { ReviewBoard } from './reviews/review-board.tsx';
import { SessionPage } from './session/session-page.tsx';

export function App() {
  return (
    <>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <TopBar />
      <ConnectionBar />
      <main id="main" tabIndex={-1}>
        <Page />
      </main>
      <Foot />
      <HelpDialog />
    </>
  );
}

function Page() {
  const shown = route.value;
  // Without any rows there is nothing to keep on the screen; otherwise the bar alone tells.
  if (connection.value.is === 'refused' && overviewState.value.is !== 'ready') return <Unauthorised />;
  return <PageOf shown={shown} />;
}

function PageOf({ shown }: { readonly shown: Route }) {
  const needing = needingCount.value;
  useEffect(() => {
    if (shown.page === 'overview' || shown.page === 'nowhere')
      document.title = needing === 0 ? 'Reeve' : `(${needing}) Reeve`;
  }, [shown.page, needing]);
  switch (shown.page) {
    case 'overview':
      return <Overview />;
    case 'session':
      return <SessionPage key={shown.reference} reference={shown.reference} />;
    case 'reviews':
      return <ReviewBoard />;
    case 'nowhere':
      return (
        <Message title="There is no such page">
          <a href="/">All sessions</a>
        </Message>
      );
  }
}
