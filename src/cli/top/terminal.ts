/**
 * The terminal, while it is ours: raw keys in, an alternate screen out, of which only changed lines are written. It is
 * given back on every way out, also when this process ends by an error.
 */
import { KeyDecoder } from './keys.ts';
import { styled } from '../render/style.ts';
import type { Key } from './keys.ts';
import type { Size } from './model.ts';

/** Whoever has the screen at the moment. */
export interface ScreenUser {
  pressed(keys: readonly Key[]): void;
  /** The screen has another size, or was somebody else's for a while: all of it is to be drawn. */
  stale(): void;
}

const ESC = '\u001B';
/** Alternate screen, no cursor, no wrapping of what a terminal counts otherwise than we do, pastes marked as such. */
const TAKE = `${ESC}[?1049h${ESC}[?25l${ESC}[?7l${ESC}[?2004h`;
const GIVE_BACK = `${ESC}[r${ESC}[?2004l${ESC}[?7h${ESC}[0m${ESC}[?25h${ESC}[?1049l`;
const WIPE = `${ESC}[0m${ESC}[r${ESC}[2J${ESC}[H`;

/** What a terminal sends for one key comes at once; this is for a network in between. */
const SEQUENCE_WAIT_MS = 60;
/** Where a terminal does not say, as some serial lines. */
const FALLBACK: Size = { columns: 80, rows: 24 };

export class Terminal {
  user: ScreenUser;
  readonly #onLost: () => void;
  readonly #decoder = new KeyDecoder();
  #waiting: NodeJS.Timeout | undefined;
  #drawn: readonly string[] = [];
  #isTaken = false;

  /** `onLost`: nothing will ever be typed again. */
  constructor(user: ScreenUser, onLost: () => void) {
    this.user = user;
    this.#onLost = onLost;
  }

  get size(): Size {
    const { columns, rows } = process.stdout;
    return columns > 0 && rows > 0 ? { columns, rows } : FALLBACK;
  }

  take(): void {
    if (this.#isTaken) return;
    this.#isTaken = true;
    process.stdin.setEncoding('utf8');
    process.stdin.setRawMode(true);
    process.stdin.on('data', this.#read).on('end', this.#onLost).on('error', this.#onLost).resume();
    // Not the stream's own event, which is silent about a terminal that was made smaller and as large again at once.
    process.on('SIGWINCH', this.#resized);
    // Also when an error ends this process; that is printed after it, and so can be read.
    process.on('exit', this.giveBack);
    this.wipe(TAKE);
  }

  readonly giveBack = (): void => {
    if (!this.#isTaken) return;
    this.#isTaken = false;
    clearTimeout(this.#waiting);
    process.off('exit', this.giveBack).off('SIGWINCH', this.#resized);
    process.stdin.off('data', this.#read).off('end', this.#onLost).off('error', this.#onLost).pause();
    process.stdout.write(GIVE_BACK);
    try {
      process.stdin.setRawMode(false);
    } catch {
      // The terminal itself is gone, and its modes with it.
    }
  };

  /** For whoever was suspended or lent it away: takes the modes anew, whatever they were changed to. */
  takeAgain(): void {
    this.giveBack();
    this.take();
    this.user.stale();
  }

  draw(lines: readonly string[]): void {
    if (!this.#isTaken) return;
    const changed = lines.flatMap((line, index) =>
      line === this.#drawn[index] ? [] : [`${ESC}[${index + 1};1H${ESC}[2K${line}`],
    );
    this.#drawn = lines;
    if (changed.length > 0) this.write(changed.join(''));
  }

  /** What stands on the screen is not known any more; the next lines are all written. */
  wipe(before = ''): void {
    this.#drawn = [];
    this.write(before + WIPE);
  }

  write(text: string): void {
    if (this.#isTaken) process.stdout.write(styled(text));
  }

  readonly #resized = (): void => this.user.stale();

  readonly #read = (text: string): void => {
    clearTimeout(this.#waiting);
    this.#pressed(this.#decoder.push(text));
    if (this.#decoder.isWaiting) {
      this.#waiting = setTimeout(() => this.#pressed(this.#decoder.giveUp()), SEQUENCE_WAIT_MS);
    }
  };

  #pressed(keys: readonly Key[]): void {
    if (keys.length > 0) this.user.pressed(keys);
  }
}
