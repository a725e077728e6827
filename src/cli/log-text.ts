/**
 * The output of a program as it may be shown on a terminal: its text and its colours. All that moves the cursor, sets a
 * title, reads or writes the clipboard or draws pictures is left out.
 */
import { StringDecoder } from 'node:string_decoder';

// oxlint-disable no-control-regex -- they are what is looked for.

/** Control sequences; strings for the operating system, devices and programs, which end with BEL or ST; and all shorter ones. */
const SEQUENCE =
  /\u001B(?:(\[[\d;:]*m)|\[[\u0020-\u003F]*[\u0040-\u007E]|[\]PX^_][^\u0007\u001B]*(?:\u0007|\u001B\\)|[\u0020-\u002F]*[\u0030-\u007E])/g;
/** What may still become one: nothing of it is shown before it is known. */
const BEGUN = /\u001B(?:\[[\u0020-\u003F]*|[\]PX^_][^\u0007\u001B]*\u001B?|[\u0020-\u002F]*)$/;
/** A string that has not ended by now is none; what stands in it is text. */
const MAX_BEGUN = 4_096;
/** All but the colours that were kept, line breaks, tabs and the return to the beginning of a line. */
const CONTROL = /\u001B(?!\[[\d;:]*m)|[\u0000-\u0008\u000B\u000C\u000E-\u001A\u001C-\u001F\u007F-\u009F]/g;

/** For a text that is whole. */
export function logText(text: string): string {
  return withoutControl(text);
}

export class LogText {
  readonly #decoder = new StringDecoder('utf8');
  #begun = '';

  /** What can be shown now. A character or a sequence that is not whole waits for the rest of it. */
  take(chunk: Uint8Array): string {
    return this.#shown(this.#begun + this.#decoder.write(Buffer.from(chunk)));
  }

  /** What was held back, and will not become whole any more. */
  end(): string {
    const rest = this.#begun + this.#decoder.end();
    this.#begun = '';
    return withoutControl(rest);
  }

  #shown(text: string): string {
    const found = BEGUN.exec(text);
    const isHeld = found !== null && text.length - found.index <= MAX_BEGUN;
    this.#begun = isHeld ? text.slice(found.index) : '';
    return withoutControl(isHeld ? text.slice(0, found.index) : text);
  }
}

function withoutControl(text: string): string {
  return text
    .replaceAll(SEQUENCE, (_all, colour?: string) => (colour === undefined ? '' : `\u001B${colour}`))
    .replaceAll(CONTROL, '');
}
