/** Completion scripts made from the verbs and flags themselves; names of sessions are asked for when completing. */
import type { Verb as KnownVerb } from '../parse.ts';
import { print } from '../output.ts';
import type { OutputOptions } from '../output.ts';

export function completion(known: readonly KnownVerb[], shell: string, options: OutputOptions): number {
  const verbs = [...new Set(known.map(({ name }) => firstWordOf(name)))].map((name): Verb => {
    const alike = known.filter((verb) => firstWordOf(verb.name) === name);
    return {
      name,
      description: alike.map(({ says }) => says).join('; or '),
      // The second words of those that have two stand among the flags.
      words: [
        ...alike.flatMap((verb) => verb.name.split(' ').slice(1)),
        ...new Set(alike.flatMap((verb) => verb.flags.map((flag) => `--${flag.name}`))),
      ],
      takesSession: alike.some((verb) => verb.arguments.some((argument) => argument.name === 'session')),
    };
  });
  const script = SCRIPTS[shell as keyof typeof SCRIPTS](verbs); // The table of verbs allows no other.
  print(options, { shell, script }, script);
  return 0;
}

function firstWordOf(name: string): string {
  return name.split(' ')[0] ?? name;
}

interface Verb {
  readonly name: string;
  readonly description: string;
  /** What may stand behind it, flags with their dashes. */
  readonly words: readonly string[];
  readonly takesSession: boolean;
}

/** The second column of the plain list, without its heading: no JSON parser is needed in a shell. */
const NAMES = `reeve ls --all 2>/dev/null | awk 'NR > 1 { print $2 }'`;

const SCRIPTS: Readonly<Record<'bash' | 'zsh' | 'fish', (verbs: readonly Verb[]) => string>> = {
  bash: (verbs) => `# reeve completion: add to ~/.bashrc: eval "$(reeve completion bash)"
_reeve() {
  local word="\${COMP_WORDS[COMP_CWORD]}" words=""
  if [ "$COMP_CWORD" -eq 1 ]; then
    words="${verbs.map(({ name }) => name).join(' ')}"
  else
    case "\${COMP_WORDS[1]}" in
${verbs.map((verb) => `      ${verb.name}) words="${verb.words.join(' ')}${verb.takesSession ? ` $(${NAMES})` : ''}" ;;`).join('\n')}
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -F _reeve reeve`,

  zsh: (verbs) => `#compdef reeve
# reeve completion: add to ~/.zshrc: eval "$(reeve completion zsh)"
_reeve() {
  if (( CURRENT == 2 )); then
    local -a verbs=(${verbs.map(({ name, description }) => `'${name}:${description.replaceAll(/[':]/g, '')}'`).join(' ')})
    _describe verb verbs
    return
  fi
  case "\${words[2]}" in
${verbs.map((verb) => `    ${verb.name}) compadd -- ${verb.words.join(' ')}${verb.takesSession ? ` \${(f)"$(${NAMES})"}` : ''}; _files ;;`).join('\n')}
  esac
}
compdef _reeve reeve`,

  fish: (verbs) => `# reeve completion: reeve completion fish > ~/.config/fish/completions/reeve.fish
${verbs
  .flatMap(({ name, description, words, takesSession }) => [
    `complete -c reeve -n __fish_use_subcommand -f -a ${name} -d '${description.replaceAll("'", '')}'`,
    ...words.map((word) =>
      word.startsWith('--')
        ? `complete -c reeve -n '__fish_seen_subcommand_from ${name}' -l ${word.slice(2)}`
        : `complete -c reeve -n '__fish_seen_subcommand_from ${name}' -f -a ${word}`,
    ),
    ...(takesSession
      ? [
          `complete -c reeve -n '__fish_seen_subcommand_from ${name}' -f -a "(${NAMES.replaceAll('$2', String.raw`\$2`)})"`,
        ]
      : []),
  ])
  .join('\n')}`,
};
