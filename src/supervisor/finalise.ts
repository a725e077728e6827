/**
 * The one way in which a run becomes terminal: its children dealt with, its tree swept and proven gone, then the
 * outcome, once.
 * The keeper does it at the end of its life; if it could not, whoever looks next does. Both at once is harmless.
 */
import { awakeAtEnd, clockOf } from '../lifecycle/awake.ts';
import { decideOutcome } from '../lifecycle/exit.ts';
import type { ExitEvidence } from '../lifecycle/exit.ts';
import { PROOF_WORDS } from '../lifecycle/proof.ts';
import type { Proof } from '../lifecycle/proof.ts';
import { isPersonal } from '../lifecycle/run.ts';
import type { EndedRun, LiveRun } from '../lifecycle/run.ts';
import { checkpoint } from '../process/checkpoint.ts';
import { endTree } from '../process/end-tree.ts';
import type { EndReport } from '../process/end-tree.ts';
import type { Context } from './context.ts';
import { isForsaken } from './continue-keeper.ts';
import { describeSwept } from './describe-members.ts';
import type { Survivors } from './describe-members.ts';
import { CHILD_GRACE_MS, notesUnread, proveSpared, settleChildren } from './lineage.ts';
import { takeReports } from './reports.ts';
import { takeLastWrites } from './take-writes.ts';
import { treeOf } from './tree-of.ts';

/** What a harness leaves behind gets this long after it has ended; it was told nothing before. */
export const SWEEP_GRACE_MS = 2_000;

/** Each time a leftover was faster in starting a child than in being ended. */
const MAX_ROUNDS = 10;

export type FinaliseResult =
  | { readonly is: 'ended'; readonly run: EndedRun }
  | ({ readonly is: 'survivors' } & Survivors)
  /** What it started, or left to be written, could not be dealt with, so it is not over. */
  | { readonly is: 'children'; readonly because: string };

export interface FinaliseOrder {
  readonly exit: ExitEvidence;
  readonly actor: string;
  /** What was seen, as sentences without a full stop. */
  readonly evidence: readonly string[];
  readonly graceMs: number;
  /** The kernel has said already that nothing is left: before its keeper was ended, or by a restart of the machine. */
  readonly known?: 'kernel' | undefined;
}

const PROVEN_GONE: EndReport = { found: [], killed: [], end: 'proven', survivors: [] };

export async function finaliseRun(
  context: Context,
  run: LiveRun,
  order: FinaliseOrder,
): Promise<FinaliseResult> {
  await checkpoint('finalise.begun');
  const tree = await treeOf(context, run);
  // What is left of it may start a child until it is gone; the store then refuses the end, and all is done again.
  for (let round = 1; round <= MAX_ROUNDS; round += 1) {
    const problem = await settleChildren(context, run, CHILD_GRACE_MS);
    if (problem !== null) return { is: 'children', because: problem };
    await checkpoint('finalise.children');
    await proveSpared(context, run);
    // Said of this boot by a keeper that was then ended, it is the last word: another look could only cost time.
    const isKnown = order.known === 'kernel' && run.keeper?.boot === context.table.host.boot;
    const report = isKnown ? PROVEN_GONE : await endTree(tree, order.graceMs);
    if (report.end === 'survived') return { is: 'survivors', ...(await noteSurvivors(context, run, report)) };
    tree.dissolve();
    await checkpoint('finalise.swept');
    const unread = await takeLastWrites(context, run);
    if (unread !== null) return { is: 'children', because: unread };
    const doubt = notesUnread(context, run);
    const known = doubt === null ? order : { ...order, evidence: [...order.evidence, doubt] };
    const ended = await writeEnding(context, run, known, report);
    if (ended === null) continue;
    await checkpoint('finalise.ended');
    return { is: 'ended', run: ended };
  }
  return { is: 'children', because: 'it goes on starting children' };
}

async function noteSurvivors(
  context: Context,
  run: LiveRun,
  { survivors, because, unsignalled }: Survivors,
): Promise<Survivors> {
  const data: Survivors = {
    survivors,
    ...(because === undefined ? {} : { because }),
    ...(unsignalled === undefined ? {} : { unsignalled }),
  };
  await context.store.note(
    {
      sessionId: run.sessionId,
      runId: run.id,
      kind: 'run.survivors',
      actor: context.actor,
      data: { ...data },
    },
    'once',
  );
  return data;
}

/** Null when a child of it has come to be. */
async function writeEnding(
  context: Context,
  run: LiveRun,
  order: FinaliseOrder,
  report: EndReport,
): Promise<EndedRun | null> {
  const stored = await context.store.run(run.id);
  if (stored === null) throw new Error(`Run ${run.id} is not in the store.`);
  if (stored.state === 'ended') return stored;
  // The last that its harness said; afterwards it would be fenced.
  const latest = await takeReports(context, stored);
  const decision = decideOutcome(latest.intent, order.exit, {
    native: latest.native,
    // Whoever holds a run to its limits is a process of that run, and dies with it by design.
    isForsaken:
      latest.intent !== null && isPersonal(latest.intent.outcome) && isForsaken(context, latest.intent),
  });
  const isIntended = decision.outcome === latest.intent?.outcome;
  const endedAtMs = 'atMs' in order.exit ? order.exit.atMs : Date.now();
  const { host } = context.table;
  const proof = proofOf(order, report);
  await checkpoint('finalise.decided');
  const awakeMs = awakeAtEnd(latest, { clock: clockOf(host), nowMs: context.table.awakeMs() }, endedAtMs);
  const result = await context.store.step(run.id, {
    kind: 'end',
    ending: {
      ...decision,
      actor: isIntended && latest.intent !== null ? latest.intent.actor : order.actor,
      evidence: [...order.evidence, ...describeSwept(report), PROOF_WORDS[proof]],
      proof,
      endedAtMs,
    },
    ...(awakeMs === undefined ? {} : { awakeMs }),
    decidedOn: latest.intent,
  });
  if (!result.taken && result.because === 'intent_changed') return writeEnding(context, run, order, report);
  if (!result.taken && result.because === 'has_children') return null;
  const ended = result.taken ? result.run : await context.store.run(run.id);
  if (ended?.state !== 'ended') throw new Error(`Run ${run.id} did not end.`);
  return ended;
}

/** Whoever is found although the kernel had said that nobody is left shows that it was not the last word. */
function proofOf({ known }: FinaliseOrder, { end, found }: EndReport): Proof {
  if (end === 'proven') return 'kernel';
  return found.length === 0 ? (known ?? 'not_seen') : 'not_seen';
}
