import type { SessionDetailView, WhyView } from '../../../src/api/http-views.ts';
import { whyPath } from '../api/paths.ts';
import { useLoaded, valueOf } from '../live/loaded.ts';
import { now } from '../live/now.ts';
import { FailureText } from '../parts/message.tsx';
import { count } from '../words/short.ts';
import { outcomeWord } from '../words/status.ts';
import { clock, shortClock } from '../words/time.ts';
import { Panel } from './panel.tsx';

type Sentence = WhyView['sentences'][number];

/** The story as `reeve why` tells it, a chapter a run, the latest first and open. */
export function Why({
  session,
  revision,
}: {
  readonly session: SessionDetailView;
  readonly revision: number;
}) {
  const loaded = useLoaded<WhyView>(whyPath(session.id), session.id, revision);
  const why = valueOf(loaded);
  return (
    <Panel title="Why" class="why-panel" note="from the record">
      {loaded.is === 'failed' && <FailureText failure={loaded.failure} />}
      {loaded.is === 'loading' && <p class="dim">Loading</p>}
      {why !== null && why.doubt !== null && <p class="doubt">Not proven: {why.doubt}.</p>}
      {why !== null && <Chapters session={session} all={chapters(why.sentences)} />}
    </Panel>
  );
}

type ChapterOfRun = readonly [run: string, sentences: readonly Sentence[]];

/** A long history stays within reach without pushing everything else away. */
const SHOWN_CHAPTERS = 4;

function Chapters({
  session,
  all,
}: {
  readonly session: SessionDetailView;
  readonly all: readonly ChapterOfRun[];
}) {
  const chapter = ([run, sentences]: ChapterOfRun) => (
    <Chapter key={run} title={titleOf(session, run)} sentences={sentences} isLatest={run === all[0]?.[0]} />
  );
  const earlier = all.slice(SHOWN_CHAPTERS);
  return (
    <>
      {all.slice(0, SHOWN_CHAPTERS).map(chapter)}
      {earlier.length > 0 && (
        <details>
          <summary>{count(earlier.length, 'earlier run')}</summary>
          <div class="earlier-chapters">{earlier.map(chapter)}</div>
        </details>
      )}
    </>
  );
}

function Chapter({
  title,
  sentences,
  isLatest,
}: {
  readonly title: string;
  readonly sentences: readonly Sentence[];
  readonly isLatest: boolean;
}) {
  return (
    <details open={isLatest}>
      <summary>{title}</summary>
      <ol class="story" role="list">
        {sentences.map(({ at, text }, index) => (
          <li key={`${at} ${index}`}>
            <time dateTime={at} title={clock(Date.parse(at))}>
              {shortClock(Date.parse(at), now.peek())}
            </time>
            <span>{text}</span>
          </li>
        ))}
      </ol>
    </details>
  );
}

/** Sentences of one run together. What is about no run belongs to what was told before it. */
function chapters(sentences: readonly Sentence[]): readonly ChapterOfRun[] {
  const byRun = new Map<string, Sentence[]>();
  let current = '';
  for (const sentence of sentences) {
    current = sentence.run ?? current;
    byRun.set(current, [...(byRun.get(current) ?? []), sentence]);
  }
  return [...byRun].toReversed();
}

function titleOf({ runs }: SessionDetailView, runId: string): string {
  const run = runs.find(({ id }) => id === runId);
  if (run === undefined) return runId;
  return `Run ${run.epoch}, ${run.outcome === null ? 'the owner' : outcomeWord(run.outcome)}`;
}
