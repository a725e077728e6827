import { Fragment } from 'preact';
import { useState } from 'preact/hooks';
import { endOfFamily, FATE_WORDS } from '../../../src/api/family-end.ts';
import type { SessionDetailView, TreeView } from '../../../src/api/http-views.ts';
import type { SessionView } from '../../../src/api/session-view.ts';
import { CHILD_POLICIES } from '../../../src/lifecycle/child.ts';
import { treePath, verbPath } from '../api/paths.ts';
import { post } from '../api/request.ts';
import { useLoaded, valueOf } from '../live/loaded.ts';
import { now } from '../live/now.ts';
import { overviewState, sessions } from '../live/sessions.ts';
import { FailureText } from '../parts/message.tsx';
import { ownerWords } from '../session/run-words.ts';
import { ProcessTable } from '../session/process-table.tsx';
import { count } from '../words/short.ts';
import { clock, longLength } from '../words/time.ts';
import { DeedDialog } from './deed-dialog.tsx';

/** What the daemon gives by itself, too. */
const GRACE_SECONDS = 10;

type Manner = 'ask' | 'kill';

const WORDS = {
  stop: { verb: 'Stop it', as: 'stopped', title: (name: string) => `Stop ${name}?` },
  retire: { verb: 'Retire it', as: 'superseded', title: (name: string) => `Retire ${name}?` },
} as const;

export function EndDialog({
  kind,
  session,
  close,
  changed,
}: {
  readonly kind: 'stop' | 'retire';
  readonly session: SessionDetailView;
  readonly close: () => void;
  readonly changed: () => void;
}) {
  const [manner, setManner] = useState<Manner>('ask');
  const words = WORDS[kind];
  const { run } = session;
  const end = async () => {
    // By the run's own id: if another one has taken the session over meanwhile, the daemon refuses.
    const ended =
      kind === 'stop' && manner === 'kill'
        ? await post<SessionView>(verbPath(run.id, 'kill'), {})
        : await post<SessionView>(verbPath(run.id, kind), { graceSeconds: GRACE_SECONDS });
    changed();
    return `${session.name} has ended: ${ended.status}${ended.run.reason === null ? '' : `, ${ended.run.reason}`}.`;
  };
  return (
    <DeedDialog
      title={words.title(session.name)}
      verb={words.verb}
      doing="Ending it, and proving that nothing of it is left…"
      act={end}
      kind="danger"
      close={close}
    >
      <p>
        It will be on record as <b>{words.as}</b>.{' '}
        {kind === 'retire' && 'That is for a run whose work another one goes on with. '}
        These end with it:
      </p>
      <WhatEnds session={session} />
      {kind === 'stop' && <Manners manner={manner} choose={setManner} />}
    </DeedDialog>
  );
}

function WhatEnds({ session: { run, name } }: { readonly session: SessionDetailView }) {
  const loaded = useLoaded<TreeView>(treePath(run.id), run.id, 0);
  const tree = valueOf(loaded);
  const startedMs = Date.parse(run.startedAt);
  return (
    <>
      <dl class="what-ends">
        <dt>Session</dt>
        <dd>{name}</dd>
        <dt>Run</dt>
        <dd>
          {run.epoch} (<span class="mono">{run.id}</span>)
        </dd>
        <dt>Owner</dt>
        <dd>{ownerWords(run)}</dd>
        <dt>Since</dt>
        <dd>
          {clock(startedMs)}, {longLength(now.value - startedMs)} ago
        </dd>
        <dt>Processes</dt>
        <dd>{tree === null ? 'looking' : count(tree.processes.length, 'process', 'processes')}</dd>
      </dl>
      {loaded.is === 'failed' && <FailureText failure={loaded.failure} />}
      {tree !== null && <ProcessTable processes={tree.processes} />}
      <WhatBecomesOfChildren runId={run.id} />
    </>
  );
}

/** As the overview knows them now, while the dialog is open: a child may start, or end, under one's eyes. */
function WhatBecomesOfChildren({ runId }: { readonly runId: string }) {
  if (overviewState.value.is !== 'ready') return <p class="dim">Its child sessions are not loaded yet.</p>;
  const fates = endOfFamily([...sessions.value.values()], runId);
  const told = CHILD_POLICIES.filter((policy) => fates[policy].length > 0);
  if (told.length === 0) return null;
  return (
    <ul class="fates" role="list" aria-label="Child sessions">
      {told.map((policy) => (
        <li key={policy} class={`fate-${policy}`}>
          {fates[policy].map(({ id, name }, index) => (
            <Fragment key={id}>
              {index > 0 && ', '}
              <b>{name}</b>
            </Fragment>
          ))}{' '}
          {FATE_WORDS[policy][fates[policy].length === 1 ? 'one' : 'several']}.
        </li>
      ))}
    </ul>
  );
}

function Manners({ manner, choose }: { readonly manner: Manner; readonly choose: (to: Manner) => void }) {
  const radio = (value: Manner, label: string) => (
    <label>
      <input type="radio" name="manner" checked={manner === value} onChange={() => choose(value)} /> {label}
    </label>
  );
  return (
    <div class="manners" role="radiogroup" aria-label="How">
      {radio('ask', `Ask it to end, and kill what is left after ${GRACE_SECONDS} seconds`)}
      {radio('kill', 'Kill it at once')}
    </div>
  );
}
