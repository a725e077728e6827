import type { ComponentChildren } from 'preact';
import type { SessionDetailView } from '../../../src/api/http-views.ts';
import { PROOF_WORDS } from '../../../src/lifecycle/proof.ts';
import { bytes, commandLine, hostName } from '../words/short.ts';
import { isLive } from '../words/status.ts';
import { clock } from '../words/time.ts';
import { Panel } from './panel.tsx';

const CONTAINMENT: Readonly<Record<string, string>> = {
  cgroup: 'a cgroup of its own',
  subreaper: 'its keeper as subreaper',
  marks: 'process group, session and marks',
};

export function Facts({ session }: { readonly session: SessionDetailView }) {
  const { run } = session;
  return (
    <Panel title="Details" class="facts">
      <dl>
        <Fact name="Command" mono>
          {commandLine(session.argv)}
        </Fact>
        <Fact name="Directory" mono>
          {session.cwd}
        </Fact>
        <Fact name="Branch" mono>
          {session.branch}
        </Fact>
        <Fact name="Harness">
          {session.harness === 'command' ? 'none: a plain command' : session.harness}
        </Fact>
        <Fact name="Conversation" mono>
          {session.nativeId}
        </Fact>
        <Fact name={isLive(session) ? 'Owner' : 'Last owner'}>
          {run.actor}, run {run.epoch} (<span class="mono">{run.id}</span>), {run.mode}
        </Fact>
        <Fact name="Process">{isLive(session) ? processOf(session) : null}</Fact>
        <Fact name="Started">{clock(Date.parse(run.startedAt))}</Fact>
        <Fact name="Ended">{endOf(session)}</Fact>
        <Fact name="Tree held by">
          {run.containment === null ? null : (CONTAINMENT[run.containment] ?? run.containment)}
        </Fact>
        <Fact name="Memory">{session.memoryBytes === null ? null : bytes(session.memoryBytes)}</Fact>
        <Fact name="Tokens">
          {session.tokens === null ? null : `${session.tokens.toLocaleString('en')} by all its runs`}
        </Fact>
        <Fact name="Session id" mono>
          {session.id}
        </Fact>
      </dl>
    </Panel>
  );
}

/** What is not known is left out. */
function Fact({
  name,
  mono = false,
  children,
}: {
  readonly name: string;
  readonly mono?: boolean;
  readonly children: ComponentChildren;
}) {
  if (children === null) return null;
  return (
    <div>
      <dt>{name}</dt>
      <dd class={mono ? 'mono' : ''}>{children}</dd>
    </div>
  );
}

function processOf({ run }: SessionDetailView): string {
  const own = run.pid === null ? 'not executing yet' : `pid ${run.pid}`;
  const keeper = run.keeperPid === null ? '' : `, keeper ${run.keeperPid}`;
  return `${own}${keeper}, on ${hostName(run.host)}`;
}

function endOf({ run }: SessionDetailView): string | null {
  if (run.endedAt === null) return null;
  const exit = run.signal === null ? (run.exitCode === null ? null : `exit ${run.exitCode}`) : run.signal;
  const known = run.proof === null ? '' : `; ${PROOF_WORDS[run.proof]}`;
  return `${clock(Date.parse(run.endedAt))}${exit === null ? '' : `, ${exit}`}${known}`;
}
