/** `top` without a screen: the list again whenever it changed, each with its time, until Ctrl-C. */
import type { Reeve } from '../../supervisor/reeve.ts';
import { linesOf, outputWidth, printLines, say } from '../output.ts';
import { renderSessions } from '../render/sessions.ts';
import type { ListedSession } from '../render/sessions.ts';
import { clock } from '../../api/time-words.ts';
import { noticeOf } from './act.ts';
import { Looking } from './look.ts';

export async function topAsText(reeve: Reeve): Promise<number> {
  const list = new PlainList();
  const looking = new Looking(reeve, {
    asked: () => {},
    listed: (sessions) =>
      printLines({}, null, linesOf(list.listed(sessions, Date.now(), outputWidth()) ?? '')),
    failed: (error) => {
      const text = list.failed(error);
      if (text !== null) say(text);
    },
  });
  const over = new Promise((resolve) => {
    process.once('SIGINT', resolve);
    // Nobody sees it any more, which is said where it is noticed.
    process.stdout.once('error', resolve);
  });
  try {
    await looking.start();
    await over;
    return 0;
  } finally {
    looking.stop();
  }
}

/** Ages are not among what is compared, nor what is spent, or it would change all the time. */
function comparable({ tokens: _tokens, budgets = [], ...session }: ListedSession): unknown {
  return { ...session, budgets: budgets.map(({ scope, kind, state }) => [scope, kind, state]) };
}

/** What is to be printed; null when there is nothing new. */
export class PlainList {
  #facts = '';
  #listedAtMs: number | null = null;
  #problem = '';

  listed(sessions: readonly ListedSession[], nowMs: number, width: number): string | null {
    const facts = JSON.stringify(sessions.map(comparable));
    const isSame = facts === this.#facts && this.#problem === '';
    [this.#facts, this.#problem, this.#listedAtMs] = [facts, '', nowMs];
    return isSame ? null : `reeve top, ${clock(nowMs)}\n${renderSessions(sessions, nowMs, width)}\n`;
  }

  failed(error: unknown): string | null {
    const { text, hint } = noticeOf(error);
    if (text === this.#problem) return null;
    this.#problem = text;
    const asOf = this.#listedAtMs === null ? '' : ` The list above is as of ${clock(this.#listedAtMs)}.`;
    return `not refreshed: ${text}${asOf}${hint === null ? '' : ` ${hint}`}`;
  }
}
