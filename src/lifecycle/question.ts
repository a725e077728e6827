/**
 * Which question a harness asks a person, and whether it is another one than before.
 *
 * A harness reports a question once when it asks (a permission request), and may remind of it later (a notification).
 * Only the first kind has a digest, which stands for what exactly is asked. Once a harness has reported a question
 * itself, its reminders say nothing new; of one that only ever reminds, another tool is all that tells questions apart.
 */
export interface Question {
  readonly tool: string | null;
  readonly digest: string | null;
}

/** Only the name of a tool is taken from what the harness said: the rest may quote a prompt. */
const TOOL = /permission to use ([\w.:-]{1,80})$/;

export function questionOf(waitingFor: unknown, digest: unknown): Question {
  const tool = typeof waitingFor === 'string' ? TOOL.exec(waitingFor)?.[1] : undefined;
  return { tool: tool ?? null, digest: typeof digest === 'string' ? digest : null };
}

export function isAnotherQuestion(before: Question, after: Question): boolean {
  if (before.digest !== null) return after.digest !== null && after.digest !== before.digest;
  const haveTools = before.tool !== null && after.tool !== null;
  if (after.digest === null) return haveTools && before.tool !== after.tool;
  // The first that was asked in so many words: the reminder before it was of the same only if it named the same tool.
  return !haveTools || before.tool !== after.tool;
}
