/**
 * What one session or run spent, for those who tell it beside something else: a ledger or a table of prices that cannot be
 * read must not keep them from telling the rest. They have looked at the session already.
 */
import type { SessionSpentView } from '../api/usage-view.ts';
import { spentWords, shortCount } from '../api/token-words.ts';
import type { Prices } from '../lifecycle/price.ts';
import type { Session } from '../lifecycle/session.ts';
import { readConfig } from './config.ts';
import type { Context } from './context.ts';
import { resolveSession } from './resolve.ts';
import { groupedByName, spendingOf } from './spending.ts';
import { readSessions } from './usage-reading.ts';

/** Less than `usage` reads, for here it is not what was asked for. Some hundredths of a second. */
const MAX_BYTES = 8 * 1024 * 1024;

/** Read first, as far as that is quick; null when nothing is known of it. */
export async function spent(context: Context, reference: string): Promise<SessionSpentView | null> {
  const { session } = await resolveSession(context, reference);
  await readQuickly(context, session);
  return spentOnRecord(context, session.id);
}

export async function spentOnRecord(context: Context, sessionId: string): Promise<SessionSpentView | null> {
  const parts = await context.store.usageParts({ by: 'session', sessionId });
  const prices = pricesOf(context);
  return parts.length === 0 ? null : { ...spendingOf(parts, prices), currency: prices.currency };
}

/** A sentence for each run that spent anything. */
export async function spentByRuns(context: Context, session: Session): Promise<ReadonlyMap<string, string>> {
  const isWhole = await readQuickly(context, session);
  const prices = pricesOf(context);
  const parts = await context.store.usageParts({ by: 'run', sessionId: session.id });
  return new Map(
    [...groupedByName(parts)].map(([runId, group]) => {
      const spending = spendingOf(group, prices);
      const late =
        spending.late === 0
          ? ''
          : `, ${shortCount(spending.late)} of that after it was superseded, or was over`;
      const said = `${spentWords(spending, prices.currency)}${late}`;
      return [runId, `Run ${runId} spent ${isWhole ? '' : 'at least '}${said}.`];
    }),
  );
}

/** Whether it is known to be all that there is. */
async function readQuickly(context: Context, session: Session): Promise<boolean> {
  // Plain commands have no conversations.
  if (session.harness === 'command') return true;
  try {
    return (await readSessions(context, { ids: [session.id], maxBytes: MAX_BYTES })).length === 0;
  } catch {
    // Whoever asks for the usage itself is told.
    return false;
  }
}

/** Without prices, tokens are told. That the configuration is wrong is told by those who need it. */
function pricesOf(context: Context): Prices {
  try {
    return readConfig(context.environment).prices;
  } catch {
    return { currency: 'USD', models: [] };
  }
}
