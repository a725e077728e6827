import { inLine } from './printable.ts';

/** As a POSIX shell reads it as this one word; null for what cannot be shown whole, and so neither pasted. */
export function shellWord(text: string): string | null {
  if (/^[\w@%+=:,./-]+$/.test(text)) return text;
  return inLine(text) === text ? `'${text.replaceAll("'", String.raw`'\''`)}'` : null;
}
