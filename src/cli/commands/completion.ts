/** Completion: a script for each shell, and the words that those scripts ask for. */
import { openReeve } from '../../supervisor/reeve.ts';
import type { Reeve } from '../../supervisor/reeve.ts';
import { offeredWords } from '../offered-words.ts';
import type { Stored } from '../offered-words.ts';
import type { Verb } from '../parse.ts';
import { linesOf, printLines } from '../output.ts';
import type { OutputOptions } from '../output.ts';

export async function completion(
  verbs: readonly Verb[],
  [what = '', ...words]: readonly string[],
  options: OutputOptions,
): Promise<number> {
  if (what === 'words') {
    const found = await wordsFor(verbs, words);
    printLines(options, { words: found }, found);
    return 0;
  }
  const script = SCRIPTS[what as keyof typeof SCRIPTS]; // The table of verbs allows no other.
  printLines(options, { shell: what, script }, linesOf(script));
  return 0;
}

async function wordsFor(verbs: readonly Verb[], words: readonly string[]): Promise<readonly string[]> {
  const { words: known, stored, before } = offeredWords(verbs, words);
  const last = (words.at(-1) ?? '').slice(before.length);
  const all = stored === null ? known : [...known, ...(await fromStore(stored, last, words))];
  return all.filter((word) => word.startsWith(last)).map((word) => `${before}${word}`);
}

/** Somebody waits with a finger on a key: a store that does not answer at once offers nothing. */
const PATIENCE = { forMs: 1_000 };

async function fromStore(stored: Stored, last: string, words: readonly string[]): Promise<readonly string[]> {
  try {
    const reeve = await openReeve({ patience: PATIENCE });
    try {
      const found = await READERS[stored](reeve, last);
      // What was given already is not meant again.
      return found.filter((word) => !words.slice(1, -1).includes(word));
    } finally {
      await reeve.close();
    }
  } catch {
    return [];
  }
}

const READERS: Readonly<Record<Stored, (reeve: Reeve, last: string) => Promise<readonly string[]>>> = {
  /** By name; ids are offered to whoever begins to type one. */
  sessions: async (reeve, last) => {
    const sessions = await reeve.list('all');
    if (last.startsWith('r-')) return sessions.map(({ run }) => run.id);
    return sessions.map(last.startsWith('s-') ? ({ id }) => id : ({ name }) => name);
  },
  reviews: async (reeve) => (await reeve.reviews.list({ all: true })).map(({ id }) => id),
  submissions: async (reeve) => (await reeve.submissions({})).submissions.map(({ id }) => id),
};

const SCRIPTS = {
  bash: String.raw`# reeve completion: add to ~/.bashrc: eval "$(reeve completion bash)"
_reeve() {
  local line="${'$'}{COMP_LINE:0:COMP_POINT}" words=() word
  read -ra words <<<"$line"
  case $line in *[[:space:]]) words+=('') ;; esac
  # Bash breaks words at = and :, and replaces what is behind that only.
  local whole="${'$'}{words[${'$'}{#words[@]} - 1]}" part="${'$'}{COMP_WORDS[COMP_CWORD]}"
  case $part in = | :) part='' ;; esac
  case $whole in *"$part") ;; *) part=$whole ;; esac
  local before="${'$'}{whole%"$part"}"
  COMPREPLY=()
  while IFS= read -r word; do COMPREPLY+=("${'$'}{word#"$before"}"); done < <(
    "${'$'}{words[0]}" completion words -- "${'$'}{words[@]:1}" 2>/dev/null
  )
}
complete -o default -F _reeve reeve`,

  zsh: String.raw`#compdef reeve
# reeve completion: add to ~/.zshrc, behind compinit: eval "$(reeve completion zsh)"
_reeve() {
  local -a offered
  offered=(${'$'}{(f)"$(reeve completion words -- "${'$'}{(@)words[2,CURRENT]}" 2>/dev/null)"})
  if (( ${'$'}{#offered} )); then compadd -- "${'$'}{offered[@]}"; else _files; fi
}
compdef _reeve reeve`,

  fish: `# reeve completion: reeve completion fish > ~/.config/fish/completions/reeve.fish
function __reeve_offers
  set -l typed (commandline -opc)
  set -e typed[1]
  set -l current (commandline -ct)
  set -g __reeve_words (reeve completion words -- $typed "$current" 2>/dev/null)
  test (count $__reeve_words) -gt 0
end
complete -c reeve -n __reeve_offers -f -a '$__reeve_words'`,
} as const;
