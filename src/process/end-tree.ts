/**
 * The ladder that ends a tree: ask, wait for the grace, freeze, look again, kill, prove.
 * Freezing comes before killing, because a tree that forks while it is being killed one by one grows back.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Member } from './tree.ts';
import type { RunTree } from './run-tree.ts';

export interface EndReport {
  /** Everything that was found, and told to end at whichever rung. */
  readonly found: readonly Member[];
  /** Those of it whom no signal reached, for this user may not signal them; left out when there are none. */
  readonly unsignalled?: readonly Member[];
  /** Those that had to be killed. */
  readonly killed: readonly Member[];
  /**
   * `unseen`: nobody was found any more, but the kernel's word does not cover every way out. `called_off`: it was asked at
   * most, and nobody was frozen or killed.
   */
  readonly end: 'proven' | 'unseen' | 'survived' | 'called_off';
  /** Seen alive after everything was tried. */
  readonly survivors: readonly Member[];
  /** Why it counts as alive although nobody was seen, as a sentence without a full stop. */
  readonly because?: string;
}

const FIRST_POLL_MS = 5;
const LAST_POLL_MS = 80;
/** A tree that forks faster than it can be frozen in this time is killed as far as it was seen, over and over. */
const FREEZE_LIMIT_MS = 2_000;
/** SIGKILL takes effect at once, except for a process that the kernel holds in uninterruptible sleep. */
const PROOF_LIMIT_MS = 5_000;
/** Somebody whom only the kernel still counts is about to be gone: on a busy machine it takes as long as it takes. */
const COUNT_LIMIT_MS = 10_000;
/** Whoever is doubted may be about to be gone, or about to be accounted for by a keeper that saw the harness end. */
const DOUBT_LIMIT_MS = 1_000;

export async function endTree(
  tree: RunTree,
  graceMs: number,
  askWith: (member: Member) => NodeJS.Signals = () => 'SIGTERM',
  isCalledOff: () => boolean = () => false,
): Promise<EndReport> {
  const found = new Map<string, Member>();
  const { heard, whoHeardNothing } = hearers(tree);
  const conclude = concluding(tree);
  const look = () => {
    const members = tree.find();
    for (const member of members) found.set(keyOf(member), member);
    return members;
  };
  const report = (killed: readonly Member[], end: End): EndReport => {
    const all = [...found.values()];
    const unsignalled = whoHeardNothing(all);
    const reached = killed.filter((member) => !unsignalled.includes(member));
    return { found: all, killed: reached, ...(unsignalled.length === 0 ? {} : { unsignalled }), ...end };
  };
  if (graceMs > 0) {
    const end = await asked(heard, look, { askWith, graceMs, isCalledOff, conclude });
    if (end !== null) return report([], end);
  }
  const killed = look();
  heard.killAtOnce();
  await freeze(heard, look);
  const end = await kill(heard, look, conclude);
  return report(killed, end);
}

/** The same tree, and who of it was refused every signal. */
function hearers(tree: RunTree): {
  readonly heard: RunTree;
  readonly whoHeardNothing: (members: readonly Member[]) => readonly Member[];
} {
  const [sent, refused] = [new Set<string>(), new Set<string>()];
  let isCgroupKilled = false;
  const heard: RunTree = {
    ...tree,
    signal: (member, signal) => {
      const signalled = tree.signal(member, signal);
      if (signalled === 'sent') sent.add(keyOf(member));
      if (signalled === 'refused') refused.add(keyOf(member));
      return signalled;
    },
    killAtOnce: () => {
      const isKilled = tree.killAtOnce();
      isCgroupKilled ||= isKilled;
      return isKilled;
    },
  };
  const whoHeardNothing = (members: readonly Member[]) =>
    members.filter((member) => {
      if (isCgroupKilled && member.signs.includes('cgroup')) return false;
      return refused.has(keyOf(member)) && !sent.has(keyOf(member));
    });
  return { heard, whoHeardNothing };
}

type End = Pick<EndReport, 'end' | 'survivors' | 'because'>;

const CALLED_OFF: End = { end: 'called_off', survivors: [] };

/** Asked when nobody is in sight: how it has ended, or null while that is not known. */
type Conclude = () => End | null;

function concluding(tree: RunTree): Conclude {
  let doubtedSince: number | null = null;
  return () => {
    const emptiness = tree.emptiness();
    if (emptiness === 'proven' || emptiness === 'unseen') return { end: emptiness, survivors: [] };
    const because = emptiness === 'withheld' ? tree.unaccounted() : null;
    const now = performance.now();
    doubtedSince = because === null ? null : (doubtedSince ?? now);
    if (because === null || doubtedSince === null || now - doubtedSince < DOUBT_LIMIT_MS) return null;
    return { end: 'survived', survivors: [], because };
  };
}

/** Of what was there a moment ago, and is neither seen nor counted now. */
const NOBODY_IN_SIGHT = 'it starts processes faster than they can be looked at';

interface Asking {
  readonly askWith: (member: Member) => NodeJS.Signals;
  readonly graceMs: number;
  readonly isCalledOff: () => boolean;
  readonly conclude: Conclude;
}

/** Whoever comes to light when nobody was in sight any more is asked too: those outside of the tree are looked for last. */
async function asked(
  tree: RunTree,
  look: () => readonly Member[],
  { askWith, graceMs, isCalledOff, conclude }: Asking,
): Promise<End | null> {
  if (isCalledOff()) return CALLED_OFF;
  const deadline = performance.now() + graceMs;
  let isAnyoneInSight = false;
  tree.thaw();
  for (let pauseMs = FIRST_POLL_MS; ; pauseMs = Math.min(pauseMs * 2, LAST_POLL_MS)) {
    const members = look();
    if (!isAnyoneInSight) ask(tree, members, askWith);
    isAnyoneInSight = members.length > 0;
    const end = isAnyoneInSight ? null : conclude();
    if (end !== null) return end;
    if (isCalledOff()) return CALLED_OFF;
    const leftMs = deadline - performance.now();
    if (leftMs <= 0) return null;
    await sleep(Math.min(pauseMs, leftMs));
  }
}

/** A stopped process gets no signal but SIGKILL until it is continued. */
function ask(tree: RunTree, members: readonly Member[], askWith: (member: Member) => NodeJS.Signals): void {
  for (const member of members) {
    tree.signal(member, askWith(member));
    tree.signal(member, 'SIGCONT');
  }
}

/** Frozen when a look finds nobody who was not already stopped: then nothing is left that could fork. */
async function freeze(tree: RunTree, look: () => readonly Member[]): Promise<void> {
  const stopped = new Set<string>();
  const deadline = performance.now() + FREEZE_LIMIT_MS;
  while (performance.now() < deadline) {
    const moving = look().filter((member) => !stopped.has(keyOf(member)));
    if (moving.length === 0) return;
    for (const member of moving) {
      tree.signal(member, 'SIGSTOP');
      stopped.add(keyOf(member));
    }
    await sleep(0);
  }
}

async function kill(tree: RunTree, look: () => readonly Member[], conclude: Conclude): Promise<End> {
  const begun = performance.now();
  for (let pauseMs = 0; ; pauseMs = Math.min(pauseMs + FIRST_POLL_MS, LAST_POLL_MS)) {
    const living = look();
    const end = living.length > 0 ? null : conclude();
    if (end !== null) return end;
    const elapsedMs = performance.now() - begun;
    if (living.length > 0 && elapsedMs >= PROOF_LIMIT_MS) return { end: 'survived', survivors: living };
    if (elapsedMs >= COUNT_LIMIT_MS)
      return { end: 'survived', survivors: look(), because: tree.unaccounted() ?? NOBODY_IN_SIGHT };
    for (const member of living) tree.signal(member, 'SIGKILL');
    tree.killAtOnce();
    await sleep(pauseMs);
  }
}

function keyOf(member: Member): string {
  return `${member.pid}/${member.startTime}`;
}
