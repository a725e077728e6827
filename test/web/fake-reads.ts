/** What the fake daemon answers to those who look. */
import type {
  DaemonView,
  EventsView,
  OverviewView,
  ReviewsView,
  SessionRow,
} from '../../src/api/http-views.ts';
import { notFound } from './fake-errors.ts';
import type { FakeSession, FakeWorld } from './fake-world.ts';

export interface Answer {
  readonly status: number;
  readonly value: unknown;
}

export function answerRead(world: FakeWorld, url: URL): Answer {
  const [, , kind, reference, part] = url.pathname.split('/');
  if (kind === 'daemon') return ok(DAEMON);
  if (kind === 'reviews') return world.reviews === null ? missing() : ok(reviewsView(world.reviews, url));
  if (reference === undefined) return ok(overview(world, url));
  const session = world.find(decodeURIComponent(reference));
  return session === undefined ? missing() : ok(partOf(session, part, url));
}

function overview(world: FakeWorld, url: URL): OverviewView {
  const range = url.searchParams.get('range') ?? 'recent';
  const ids = url.searchParams.get('ids')?.split(',') ?? null;
  const rows = [...world.sessions.values()].map(({ detail }) => rowOf(detail));
  return {
    sessions: rows.filter((row) =>
      ids !== null ? ids.includes(row.id) : range !== 'live' || row.run.state !== 'ended',
    ),
    earlier: range === 'recent' ? world.earlier : 0,
    seq: world.seq,
  };
}

/** Without `all`, what is so now of each pull request. */
function reviewsView(reviews: NonNullable<FakeWorld['reviews']>, url: URL): ReviewsView {
  const isAll = url.searchParams.get('all') === 'true';
  return { reviews: reviews.filter(({ isCurrent }) => isAll || isCurrent) };
}

function rowOf({
  runs: _runs,
  children: _children,
  doubt: _doubt,
  ...row
}: FakeSession['detail']): SessionRow {
  return row;
}

function partOf(
  { detail, events, log, screen, processes }: FakeSession,
  part: string | undefined,
  url: URL,
): unknown {
  const { run } = detail;
  switch (part ?? 'itself') {
    case 'why':
      return {
        session: detail.name,
        sentences: events.map(({ at, run: of, text }) => ({ at, run: of, text })),
        doubt: detail.doubt,
      };
    case 'tree':
      return { run: run.id, processes };
    case 'events':
      return eventsView(events, url);
    case 'logs':
      return { run: run.id, logPath: run.logPath, text: log, isCut: false };
    case 'screen':
      return { run: run.id, screen, columns: 80, rows: 24 };
    default:
      return detail;
  }
}

/** Without `after`, the latest; `next` then is where to go on backwards. */
function eventsView(events: FakeSession['events'], url: URL): EventsView {
  const asked = (name: string) => Number(url.searchParams.get(name) ?? Number.NaN);
  const limit = asked('limit') || 100;
  const isForwards = url.searchParams.has('after');
  const found = isForwards
    ? events.filter(({ seq }) => seq > asked('after')).slice(0, limit)
    : events.filter(({ seq }) => !(seq >= asked('before'))).slice(-limit);
  const next = isForwards ? found.at(-1)?.seq : found[0]?.seq;
  return { events: found, next: found.length === limit ? (next ?? null) : null };
}

const DAEMON: DaemonView = {
  version: '0.1.0',
  pid: 4242,
  host: 'laptop',
  user: 'alice',
  home: '/home/alice/.local/state/reeve',
  store: '/home/alice/.local/state/reeve/reeve.db',
  startedAt: '2026-11-15T20:00:00.000Z',
};

function ok(value: unknown): Answer {
  return { status: 200, value };
}

function missing(): Answer {
  return { status: 404, value: { error: notFound() } };
}
