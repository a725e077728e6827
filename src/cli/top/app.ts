/** `top` on a screen: what happens becomes events, and what state.ts makes of them is drawn and carried out. */
import type { SessionView } from '../../api/session-view.ts';
import type { Reeve } from '../../supervisor/reeve.ts';
import { say } from '../output.ts';
import { joinPane } from '../pane.ts';
import { act, good, noticeOf } from './act.ts';
import { followOnScreen } from './follow-screen.ts';
import type { Key } from './keys.ts';
import { Looking } from './look.ts';
import type { ReviewSource } from './look.ts';
import { startState } from './model.ts';
import type { Action, Effect, Notice, TopEvent, TopState } from './model.ts';
import { HANGUP_CODE, listenToSignals } from './signals.ts';
import type { Signals } from './signals.ts';
import { step } from './state.ts';
import { Terminal } from './terminal.ts';
import { view } from './view.ts';

/** Ages below a minute are shown in seconds. */
const TICK_MS = 1_000;

/** Resolves with the exit code when it is over. */
export function topOnScreen(reeve: Reeve, reviews: ReviewSource | null = null): Promise<number> {
  return new App(reeve, reviews).run();
}

class App {
  readonly #reeve: Reeve;
  readonly #looking: Looking;
  readonly #terminal: Terminal;
  readonly #signals: Signals;
  /** Aborted when it is over, so that whoever has the terminal gives it back. */
  readonly #over = new AbortController();
  #exitCode = 0;
  #state: TopState;
  readonly #reviews: ReviewSource | null;
  /** While a session has the screen. */
  #away: Promise<void> | null = null;
  /** While tmux has the whole terminal. */
  #isLent = false;
  #action: Promise<Notice> | null = null;

  constructor(reeve: Reeve, reviews: ReviewSource | null) {
    this.#reeve = reeve;
    this.#reviews = reviews;
    this.#state = startState(Date.now(), { is: reviews === null ? 'absent' : 'unasked' });
    const user = { pressed: (keys: readonly Key[]) => this.#pressed(keys), stale: () => this.#drawAnew() };
    this.#terminal = new Terminal(user, () => this.#end(HANGUP_CODE));
    this.#looking = new Looking(reeve, {
      asked: () => this.#happened({ kind: 'asked', nowMs: Date.now() }),
      listed: (sessions) => this.#happened({ kind: 'listed', sessions, nowMs: Date.now() }),
      reviewsListed: (found) => this.#happened({ kind: 'reviews-listed', reviews: found }),
      failed: (error) => this.#happened({ kind: 'list-failed', problem: noticeOf(error), nowMs: Date.now() }),
    });
    this.#signals = listenToSignals({
      end: (code) => this.#end(code),
      suspended: () => this.#terminal.giveBack(),
      continued: () => {
        if (!this.#isLent && !this.#over.signal.aborted) this.#terminal.takeAgain();
      },
    });
  }

  async run(): Promise<number> {
    const over = new Promise((resolve) => {
      this.#over.signal.addEventListener('abort', resolve, { once: true });
    });
    const ticking = setInterval(() => this.#happened({ kind: 'tick', nowMs: Date.now() }), TICK_MS);
    try {
      this.#terminal.take();
      this.#drawAnew();
      await this.#looking.start();
      await over;
      await this.#away;
    } finally {
      clearInterval(ticking);
      this.#looking.stop();
      this.#terminal.giveBack();
      this.#signals.stop();
    }
    if (this.#exitCode === 0) await this.#finishAction();
    return this.#exitCode;
  }

  /** Whoever has the terminal is given the time to restore it; whoever is told twice ends at once. */
  #end(code: number): void {
    if (this.#over.signal.aborted) process.exit(code);
    this.#exitCode = code;
    this.#over.abort();
  }

  /** A stop that was begun is not left half done without a word. */
  async #finishAction(): Promise<void> {
    if (this.#action === null) return;
    say(`still ${this.#state.underWay ?? 'at it'}; Ctrl-C leaves at once.`);
    const { text, hint } = await this.#action;
    say(hint === null ? text : `${text} ${hint}`);
  }

  #happened(event: TopEvent): void {
    if (this.#over.signal.aborted) return;
    const { state, effect } = step(this.#state, event);
    this.#state = state;
    this.#looking.reviewSource = state.mode.is === 'reviews' ? this.#reviews : null;
    this.#carryOut(effect);
    this.#draw();
  }

  #pressed(keys: readonly Key[]): void {
    for (const key of keys) {
      const wasAsking = this.#state.mode.is === 'confirm';
      this.#happened({ kind: 'key', key });
      // A question is answered after it was seen: what came together with the key that asked it, is no answer.
      if (this.#away !== null || (!wasAsking && this.#state.mode.is === 'confirm')) break;
    }
  }

  #draw(): void {
    if (this.#away === null) this.#terminal.draw(view(this.#state, this.#terminal.size));
  }

  #drawAnew(): void {
    this.#terminal.wipe();
    this.#happened({ kind: 'resized', rows: this.#terminal.size.rows });
  }

  #carryOut(effect: Effect): void {
    switch (effect.do) {
      case 'nothing':
        return;
      case 'quit':
        return this.#end(0);
      case 'suspend':
        return this.#signals.suspend();
      case 'look':
        return this.#looking.now();
      case 'redraw':
        return this.#terminal.wipe();
      case 'join':
        return this.#goTo(() => this.#join(effect.session));
      case 'follow':
        return this.#goTo(() => this.#follow(effect.session));
      case 'stop':
      case 'resume':
        return this.#act(effect.do, effect.session);
    }
  }

  #act(action: Action, session: SessionView): void {
    this.#action = act(this.#reeve, action, session);
    void this.#action.then((notice) => {
      this.#action = null;
      this.#happened({ kind: 'acted', notice });
      this.#looking.now();
    });
  }

  #goTo(visit: () => Promise<Notice | null>): void {
    this.#away = visit()
      .catch(noticeOf)
      .then((notice) => {
        this.#away = null;
        this.#happened({ kind: 'came-back', notice, nowMs: Date.now() });
        this.#looking.now();
      });
  }

  async #join({ name }: SessionView): Promise<Notice> {
    const { signal } = this.#over;
    let said = '';
    this.#terminal.giveBack();
    this.#isLent = true;
    try {
      const code = await joinPane(this.#reeve, name, { tell: (text) => (said = text), signal });
      return { ...good(said), tone: code === 0 ? 'good' : 'bad' };
    } finally {
      this.#isLent = false;
      if (!signal.aborted) this.#terminal.take();
    }
  }

  async #follow(session: SessionView): Promise<null> {
    await followOnScreen(this.#reeve, session, this.#terminal, this.#over.signal);
    return null;
  }
}
