/**
 * What a run wrote, made harmless for a screen that is ours: lines, tabs and colours stay; whatever else would move the
 * cursor, change the terminal or have it answer is left out. Characters and sequences may come in pieces.
 */
import { StringDecoder } from 'node:string_decoder';

/** A sequence that has not ended by then is none. */
const MAX_PENDING_LENGTH = 4096;

// CSI, then strings up to BEL or ESC \, then the short ones, then lone controls but for tab, line feed and return.
const SEQUENCES =
  // oxlint-disable-next-line no-control-regex -- these are what it is about
  /\u001B\[[\u0030-\u003F]*[\u0020-\u002F]*[\u0040-\u007E]|\u001B[\]PX^_][^\u0007\u001B]*(?:\u0007|\u001B\\)|\u001B[\u0020-\u002F]*[\u0030-\u007E]|[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F]/g;
// oxlint-disable-next-line no-control-regex -- as above
const COLOUR = /^\u001B\[[\d;:]*m$/;
// oxlint-disable-next-line no-control-regex -- as above
const UNFINISHED = /\u001B(?:\[[\u0020-\u003F]*|[\]PX^_][^\u0007\u001B]*\u001B?|[\u0020-\u002F]*)$/;

export class LogText {
  readonly #decoder = new StringDecoder('utf8');
  #pending = '';

  push(chunk: Uint8Array): string {
    const text = this.#pending + this.#decoder.write(chunk);
    const unfinished = UNFINISHED.exec(text);
    const isKept = unfinished !== null && unfinished[0].length <= MAX_PENDING_LENGTH;
    this.#pending = isKept ? unfinished[0] : '';
    const whole = unfinished === null ? text : text.slice(0, unfinished.index);
    return whole.replaceAll(SEQUENCES, (found) => (COLOUR.test(found) ? found : ''));
  }
}
