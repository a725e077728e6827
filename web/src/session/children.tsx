import { amount } from '../../../src/api/amount.ts';
import type { SessionDetailView } from '../../../src/api/http-views.ts';
import type { ChildView } from '../../../src/api/session-view.ts';
import { now } from '../live/now.ts';
import { Age } from '../parts/age.tsx';
import { StatusMark } from '../parts/status-mark.tsx';
import { sessionHref } from '../route.ts';
import { count, shortCommand } from '../words/short.ts';
import { outcomeWord } from '../words/status.ts';
import { clock, longLength } from '../words/time.ts';
import { aboutWords, branchesOf, childStatus, POLICY_WORDS } from './child-words.ts';
import type { Branch } from './child-words.ts';
import { Panel } from './panel.tsx';

/** What the runs of a session started themselves, and what those started: reviews in the background, subagents. */
export function Children({ session: { children, runs } }: { readonly session: SessionDetailView }) {
  if (children.length === 0) return null;
  // With one run only, there is nothing to say about which of them it was.
  const epochs = new Map(runs.length < 2 ? [] : runs.map(({ id, epoch }) => [id, epoch]));
  return (
    <Panel title="Children" note={sumOf(children)}>
      <Branches branches={branchesOf(children)} epochs={epochs} />
    </Panel>
  );
}

type Epochs = ReadonlyMap<string, number>;

function Branches({ branches, epochs }: { readonly branches: readonly Branch[]; readonly epochs: Epochs }) {
  if (branches.length === 0) return null;
  return (
    <ul class="children" role="list">
      {branches.map(({ child, below }) => (
        <li key={child.run.id}>
          <Child child={child} epoch={epochs.get(child.parent)} />
          <Branches branches={below} epochs={epochs} />
        </li>
      ))}
    </ul>
  );
}

function Child({ child, epoch }: { readonly child: ChildView; readonly epoch: number | undefined }) {
  const { session, sessionId, run, tokens, waitsUntil, onParentEnd, argv } = child;
  const status = childStatus(child);
  const about = aboutWords(child);
  return (
    <div class={`child is-${status}`}>
      <span class="child-head">
        <StatusMark status={status} /> <a href={sessionHref(sessionId)}>{session}</a>{' '}
        <span class="word">{run.outcome === null ? status : outcomeWord(run.outcome)}</span>{' '}
        <Age sinceMs={Date.parse(run.endedAt ?? run.startedAt)} />
        {about !== '' && <span class="mono about">{about}</span>}
        {tokens !== null && (
          <span class="spent" title={`${tokens.toLocaleString('en')} tokens`}>
            {amount(tokens)} tokens
          </span>
        )}
      </span>
      <span class="dim terms">
        {epoch !== undefined && `in run ${epoch}, `}
        {POLICY_WORDS[onParentEnd]} <span aria-hidden="true">· </span>
        <span class="mono" title={shortCommand(argv)}>
          {shortCommand(argv)}
        </span>
      </span>
      {waitsUntil !== null && run.outcome === null && <Waiting untilMs={Date.parse(waitsUntil)} />}
    </div>
  );
}

function Waiting({ untilMs }: { readonly untilMs: number }) {
  const leftMs = untilMs - now.value;
  return (
    <span class="waits" title={`until ${clock(untilMs)}`}>
      waits for a successor of its parent
      {leftMs > 0 ? `, ${longLength(leftMs)} longer` : ', and its time is up'}
    </span>
  );
}

function sumOf(children: readonly ChildView[]): string {
  const known = children.flatMap(({ tokens }) => tokens ?? []);
  const runs = count(children.length, 'run');
  if (known.length === 0) return runs;
  return `${runs}, ${amount(known.reduce((sum, tokens) => sum + tokens, 0))} tokens in all`;
}
