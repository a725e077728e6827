/** What Claude takes for a conversation besides its id: the title that a person gave it, or the file of a transcript. */
import { basename, resolve } from 'node:path';
import { isUuid } from './conversation.ts';
import { filesAt, firstText, headOf, objectsWith, textField } from './transcript.ts';

/** In a project's directory; a file wherever it is. */
export function conversationsCalled(project: string, cwd: string, reference: string): readonly string[] {
  if (reference.endsWith('.jsonl')) {
    const id = conversationIn(resolve(cwd, reference));
    return id === null ? [] : [id];
  }
  const wanted = titleOf(reference);
  return filesAt(project, 0, (name) => name.endsWith('.jsonl'))
    .filter((path) => lastTitle(path) === wanted)
    .flatMap((path) => conversationIn(path) ?? []);
}

/** Claude goes on with the conversation that the lines are of, whatever the file is called. */
function conversationIn(path: string): string | null {
  const nativeId = firstText(headOf(path), 'sessionId') ?? basename(path, '.jsonl');
  return isUuid(nativeId) ? nativeId : null;
}

/** It may be given anew at any time; the last one counts. */
function lastTitle(path: string): string | null {
  const last = objectsWith(path, 'customTitle').at(-1);
  const title = textField(last, 'customTitle');
  return title === null ? null : titleOf(title);
}

function titleOf(text: string): string {
  return text.trim().toLowerCase();
}
