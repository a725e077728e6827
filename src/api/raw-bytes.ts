/**
 * Words that are not UTF-8. The system's arguments and variables are bytes, and Node's are texts, in which everything that
 * is not UTF-8 becomes the same replacement character. Where the bytes matter, a text carries each stray byte as a lone
 * surrogate, U+DC80 to U+DCFF, which no UTF-8 can mean. JSON keeps these, and so does the store.
 */

/** What Node puts in the place of whatever it cannot read; a text may also have it as its own. */
export const REPLACEMENT = '\uFFFD';

/** Alone: those that come in pairs are characters. */
const STRAY = /([\uD800-\uDFFF]+)/u;

/** So many characters at a time, for a regular expression that repeats remembers each of them. */
const WELL_FORMED =
  /((?:[^\x80-\xFF]|[\xC2-\xDF][\x80-\xBF]|\xE0[\xA0-\xBF][\x80-\xBF]|[\xE1-\xEC\xEE\xEF][\x80-\xBF]{2}|\xED[\x80-\x9F][\x80-\xBF]|\xF0[\x90-\xBF][\x80-\xBF]{2}|[\xF1-\xF3][\x80-\xBF]{3}|\xF4[\x80-\x8F][\x80-\xBF]{2}){1,1000})|[\x80-\xFF]/g;

/** Whether there is anything in it that Node may have lost. */
export function isReplaced(environment: Readonly<Record<string, string | undefined>>): boolean {
  return Reflect.ownKeys(environment).some(
    (name) => String(name).includes(REPLACEMENT) || environment[String(name)]?.includes(REPLACEMENT) === true,
  );
}

export function hasStrayBytes(text: string): boolean {
  return STRAY.test(text);
}

export function bytesOf(text: string): Buffer {
  if (!hasStrayBytes(text)) return Buffer.from(text);
  const parts = text.split(STRAY);
  return Buffer.concat(
    parts.map((part, index) =>
      index % 2 === 0
        ? Buffer.from(part)
        : Buffer.from(Array.from({ length: part.length }, (_, at) => part.charCodeAt(at) & 0xff)),
    ),
  );
}

export function textOf(bytes: Buffer): string {
  return bytes
    .toString('latin1')
    .replaceAll(WELL_FORMED, (found, characters?: string) =>
      characters === undefined
        ? String.fromCharCode(0xdc00 + found.charCodeAt(0))
        : Buffer.from(characters, 'latin1').toString('utf8'),
    );
}
