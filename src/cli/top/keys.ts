/**
 * What a terminal sends, as keys. A sequence may come in pieces, so what could still become one is kept until the rest
 * is there, or until `giveUp` says that nothing more came: then a lone ESC was the key.
 *
 * Pasted text is no keys: bracketed pastes are dropped whole, and only Ctrl-C gets through, so that a paste without an
 * end locks nobody in. Answers of the terminal to questions that others asked (ESC ] …, ESC P …) are dropped too.
 */
export type KeyName =
  | 'up'
  | 'down'
  | 'page-up'
  | 'page-down'
  | 'home'
  | 'end'
  | 'enter'
  | 'escape'
  | 'backspace'
  | 'ctrl-c'
  | 'ctrl-l'
  | 'ctrl-z';

export type Key =
  | { readonly is: 'named'; readonly name: KeyName }
  | { readonly is: 'text'; readonly text: string };

/** Longer is no key of any terminal; what comes is dropped, not kept for ever. */
const MAX_SEQUENCE_LENGTH = 64;
const MAX_ANSWER_LENGTH = 4096;

const PASTE_START = '\u001B[200~';
const PASTE_END = '\u001B[201~';

const SEQUENCES: Readonly<Record<string, KeyName>> = {
  '[A': 'up',
  '[B': 'down',
  '[H': 'home',
  '[F': 'end',
  '[1~': 'home',
  '[4~': 'end',
  '[5~': 'page-up',
  '[6~': 'page-down',
  '[7~': 'home',
  '[8~': 'end',
  OA: 'up',
  OB: 'down',
  OH: 'home',
  OF: 'end',
  OM: 'enter',
};

const CONTROLS: Readonly<Record<string, KeyName>> = {
  '\r': 'enter',
  '\n': 'enter',
  '\u0003': 'ctrl-c',
  '\u0008': 'backspace',
  '\u000C': 'ctrl-l',
  '\u001A': 'ctrl-z',
  '\u007F': 'backspace',
};

export class KeyDecoder {
  #pending = '';
  #isPasting = false;

  /** The text as it was read, in pieces of any size. */
  push(text: string): Key[] {
    this.#pending += text;
    const keys: Key[] = [];
    while (this.#pending !== '') {
      const length = this.#isPasting ? this.#pasted(keys) : this.#typed(keys);
      if (length === 0) break;
      this.#pending = this.#pending.slice(length);
    }
    return keys;
  }

  /** Whether it depends on what comes next what was typed. */
  get isWaiting(): boolean {
    return this.#pending !== '' && !this.#isPasting;
  }

  /** Nothing more came: an ESC was the key, and the beginning of anything longer is none. */
  giveUp(): Key[] {
    if (!this.isWaiting) return [];
    const isEscape = this.#pending === '\u001B';
    this.#pending = '';
    return isEscape ? [named('escape')] : [];
  }

  /** Each of these gives the length of what it took, 0 when more is needed. */
  #typed(keys: Key[]): number {
    const text = this.#pending;
    if (text.startsWith('\u001B')) return this.#escaped(keys);
    const character = String.fromCodePoint(text.codePointAt(0) ?? 0);
    const control = CONTROLS[character];
    if (control !== undefined) keys.push(named(control));
    else if (!/\p{Cc}/u.test(character)) keys.push({ is: 'text', text: character });
    return character.length;
  }

  #escaped(keys: Key[]): number {
    const text = this.#pending;
    if (text.startsWith(PASTE_START)) {
      this.#isPasting = true;
      return PASTE_START.length;
    }
    const next = text.charAt(1);
    if (next === '') return 0;
    if (next === '[' || next === 'O') return sequence(text, keys);
    if (']P^_X'.includes(next)) return answer(text);
    // Escape and another key that came together.
    keys.push(named('escape'));
    return 1;
  }

  #pasted(keys: Key[]): number {
    const text = this.#pending;
    const interrupt = text.indexOf('\u0003');
    const end = text.indexOf(PASTE_END);
    if (interrupt !== -1 && (end === -1 || interrupt < end)) {
      this.#isPasting = false;
      keys.push(named('ctrl-c'));
      return interrupt + 1;
    }
    if (end !== -1) {
      this.#isPasting = false;
      return end + PASTE_END.length;
    }
    // The end may have begun in what is here; all before it is dropped.
    const begun = text.lastIndexOf('\u001B');
    return begun !== -1 && PASTE_END.startsWith(text.slice(begun)) ? begun : text.length;
  }
}

function named(name: KeyName): Key {
  return { is: 'named', name };
}

function sequence(text: string, keys: Key[]): number {
  // oxlint-disable-next-line no-control-regex -- ESC is what it begins with
  const found = /^\u001B(O.|\[[\u0030-\u003F]*[\u0020-\u002F]*[\u0040-\u007E])/.exec(text);
  if (found === null) {
    // What cannot become a sequence any more is dropped up to where it went wrong.
    const [begun = ''] = /^.O?\[?[\u0020-\u003F]*/s.exec(text) ?? [];
    return begun.length < text.length || begun.length > MAX_SEQUENCE_LENGTH ? begun.length : 0;
  }
  // With a modifier (`[1;5A`) it is still that key.
  const name = SEQUENCES[(found[1] ?? '').replace(/\[1;\d+(?=[A-Z])/, '[')];
  if (name !== undefined) keys.push(named(name));
  return found[0].length;
}

/** Up to its end, BEL or ESC \; of one without an end nothing is kept. */
function answer(text: string): number {
  // oxlint-disable-next-line no-control-regex -- these end it
  const found = /\u0007|\u001B\\/.exec(text.slice(2));
  if (found !== null) return 2 + found.index + found[0].length;
  return text.length > MAX_ANSWER_LENGTH ? text.length : 0;
}
