/** What a person is asked before a run is ended or started: all that is needed to say yes or no. */
import { endOfFamily, fateSentence } from '../../api/family-end.ts';
import type { RunView, SessionView } from '../../api/session-view.ts';
import { CHILD_POLICIES } from '../../lifecycle/child.ts';
import { hostName } from '../../lifecycle/reach.ts';
import { span } from '../render/line.ts';
import type { Line } from '../render/line.ts';
import { bold, dim, yellow } from '../render/style.ts';
import { age, clock } from '../../api/time-words.ts';
import { displayWidth, plainCut } from '../render/width.ts';
import { wrappedLines } from '../render/wrap.ts';
import type { Action } from './model.ts';

type Fact = readonly [name: string, value: string];

const NAME_WIDTH = 9;
/** More of a command does not tell better which one it is, and would push the rest off the screen. */
const MAX_COMMAND_LINES = 3;
const MODES: Readonly<Record<RunView['mode'], string>> = {
  foreground: 'in a terminal',
  detached: 'detached',
  tmux: 'in tmux',
  adopted: 'adopted',
};

export function question(
  { action, session }: { readonly action: Action; readonly session: SessionView },
  { sessions, nowMs }: { readonly sessions: readonly SessionView[]; readonly nowMs: number },
  columns: number,
): Line[] {
  const title = `${action === 'stop' ? 'Stop' : 'Resume'} ${session.name}?`;
  const facts =
    action === 'stop' ? stopFacts(session, sessions, nowMs) : resumeFacts(session, nowMs, columns);
  return [
    [
      span('── ', dim),
      span(title, (text) => bold(yellow(text))),
      span(` ${'─'.repeat(Math.max(0, columns - displayWidth(title) - 4))}`, dim),
    ],
    ...facts.flatMap((fact) => factLines(fact, columns)),
  ];
}

function stopFacts({ run }: SessionView, sessions: readonly SessionView[], nowMs: number): Fact[] {
  const doubt = run.liveness === 'alive' ? '' : `, ${run.liveness}`;
  const host = hostName(run.host);
  return [
    ['run', `${run.id} (epoch ${run.epoch}, ${MODES[run.mode]})`],
    ['pid', `${run.pid ?? 'not known yet'} on ${host}${doubt}`],
    ['since', when(run.startedAt, nowMs)],
    ['owner', run.actor],
    ['ends', 'its whole tree: all that it started'],
    ...childFacts(sessions, run.id),
  ];
}

/** The sessions that it started: those that end with it first, then what becomes of the others. */
function childFacts(sessions: readonly SessionView[], runId: string): Fact[] {
  const fates = endOfFamily(sessions, runId);
  return CHILD_POLICIES.flatMap((policy): Fact[] => {
    const names = fates[policy].map(({ name }) => name);
    const sentence = fateSentence(policy, names);
    return sentence === null ? [] : [['child', sentence]];
  });
}

function resumeFacts(
  { run, argv, cwd, harness, nativeId }: SessionView,
  nowMs: number,
  columns: number,
): Fact[] {
  const ended = run.endedAt === null ? '' : `, ${when(run.endedAt, nowMs)}`;
  return [
    ['last', `${run.id} (epoch ${run.epoch}), ${run.outcome ?? run.state}${ended}`],
    ['next', run.mode === 'tmux' ? 'in tmux, as the last one' : 'detached, its output in a log'],
    [
      'starts',
      nativeId === null
        ? plainCut(argv.join(' '), columns * MAX_COMMAND_LINES)
        : `${harness}, with conversation ${nativeId}`,
    ],
    ['in', cwd],
  ];
}

function factLines([name, value]: Fact, columns: number): Line[] {
  const head = `  ${name}`.padEnd(NAME_WIDTH);
  return wrappedLines(value, Math.max(1, columns - NAME_WIDTH)).map((line, index) => [
    span(index === 0 ? head : ' '.repeat(NAME_WIDTH), dim),
    span(line),
  ]);
}

function when(time: string, nowMs: number): string {
  const atMs = Date.parse(time);
  return `${clock(atMs)} (${age(atMs, nowMs)} ago)`;
}
