/** Looks at the sessions: one look at a time, soon after something changed, and at least every so often. */
import type { ReviewView } from '../../api/http-views.ts';
import type { ListedSession } from '../render/sessions.ts';
import type { Reeve } from '../../supervisor/reeve.ts';

/** For what is written nowhere: a process that died, an age. */
const EVERY_MS = 2_000;
/** Many changes at once, as when a dozen sessions start, are one look. */
const GAP_MS = 100;

export interface Looks {
  asked(): void;
  listed(sessions: readonly ListedSession[]): void;
  reviewsListed?(reviews: readonly ReviewView[]): void;
  failed(error: unknown): void;
}

/** Whoever knows the reviews. */
export interface ReviewSource {
  list(): Promise<readonly ReviewView[]>;
}

export class Looking {
  /** They are asked for while somebody looks at them. */
  reviewSource: ReviewSource | null = null;
  readonly #reeve: Reeve;
  readonly #looks: Looks;
  #timer: NodeJS.Timeout | undefined;
  #current: Promise<void> | null = null;
  #isWanted = false;
  #isOver = false;
  #stopWatching: () => void = () => {};

  constructor(reeve: Reeve, looks: Looks) {
    this.#reeve = reeve;
    this.#looks = looks;
  }

  /** Where changes cannot be watched, the looks of every so often still come. */
  async start(): Promise<void> {
    this.now();
    const stopWatching = await this.#reeve.watch(() => this.now()).catch(() => () => {});
    if (this.#isOver) stopWatching();
    else this.#stopWatching = stopWatching;
  }

  /** A look that is under way may have missed what one wants to see, so another follows it. */
  now(): void {
    if (this.#isOver) return;
    if (this.#current !== null) {
      this.#isWanted = true;
      return;
    }
    clearTimeout(this.#timer);
    this.#current = this.#look().finally(() => {
      this.#current = null;
      if (!this.#isOver) this.#timer = setTimeout(() => this.now(), this.#isWanted ? GAP_MS : EVERY_MS);
      this.#isWanted = false;
    });
  }

  stop(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#stopWatching();
  }

  async #look(): Promise<void> {
    this.#looks.asked();
    try {
      const sessions = await this.#reeve.listWithCosts('recent');
      if (!this.#isOver) this.#looks.listed(sessions);
      const reviews = await this.reviewSource?.list();
      if (!this.#isOver && reviews !== undefined) this.#looks.reviewsListed?.(reviews);
    } catch (error) {
      if (!this.#isOver) this.#looks.failed(error);
    }
  }
}
