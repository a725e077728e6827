/** What a run says that it spent, for a program that leaves no transcript: the same tables, each report once. */
import { NO_TOKENS, difference, isNothing } from '../lifecycle/usage.ts';
import { noteFenced, REFUSED_UNKNOWN, weigh } from './fence.ts';
import type { FenceParts } from './fence.ts';
import type { Sql } from './sql.ts';
import type { AddUsageResult, ReportedUsage } from './store.ts';
import { answersOf, dayOf, putGrown } from './usage.ts';

export async function addUsage(
  sql: Sql,
  op: string,
  parts: FenceParts,
  report: ReportedUsage,
): Promise<AddUsageResult> {
  const weighed = await weigh(sql, parts, report);
  if (weighed === null) return { is: 'fenced', ...REFUSED_UNKNOWN };
  const { run, owner, refusal } = weighed;
  if (refusal !== null) {
    const { because } = refusal;
    await noteFenced(sql, op, parts, { run, current: owner.run, write: 'usage', because });
    return { is: 'fenced', because, current: owner.run };
  }
  const { harness } = owner.session;
  if (harness !== 'command') return { is: 'read_elsewhere', harness };
  // Another run of the session may use the same key, and means something else by it.
  const key = `self:${run.id}:${report.key}`;
  const { model, tokens } = report;
  const before = (await answersOf(sql, run.sessionId, [key])).get(key);
  if (before !== undefined) {
    const isSame = before.model === model && isNothing(difference(before, tokens));
    return isSame ? { is: 'accepted', again: true } : { is: 'conflict' };
  }
  const atMs = await sql.nowMs();
  const answer = { key, model, atMs, day: dayOf(atMs), runId: run.id, isLate: false, ...tokens };
  await putGrown(sql, { sessionId: run.sessionId, harness }, [{ answer, by: difference(tokens, NO_TOKENS) }]);
  return { is: 'accepted', again: false };
}
