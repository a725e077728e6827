import { bold, dim } from './render/style.ts';
import type { Verb } from './parse.ts';

export function renderHelp(verbs: readonly Verb[]): string {
  const width = Math.max(...verbs.map(({ name }) => name.length)) + 2;
  const groups = [...new Set(verbs.map(({ group }) => group))].map((group) => {
    const lines = verbs
      .filter((verb) => verb.group === group)
      .map(({ name, says }) => `  ${name.padEnd(width)}${says}`);
    return `${bold(group)}\n${lines.join('\n')}`;
  });
  return [
    'One live, provable owner for every coding-agent session, and whatever it started ends with it.',
    `${bold('Usage')}  reeve VERB [flags]      reeve VERB --help      reeve --version`,
    ...groups,
    dim('First time? Play `reeve demo`.'),
  ].join('\n\n');
}

export function renderVerbHelp(verb: Verb): string {
  const words = verb.arguments.map(({ name, many, optional }) => {
    const word = `${name.toUpperCase()}${many === true ? '…' : ''}`;
    return optional === true ? `[${word}]` : word;
  });
  const command =
    verb.takesCommand !== true
      ? []
      : verb.name.endsWith('run')
        ? ['-- COMMAND ARGS…']
        : ['[-- COMMAND ARGS…]'];
  const flags = verb.flags.map(({ name, short, value, says }) => {
    const spelled = `${short === undefined ? '    ' : `-${short}, `}--${name}${value === undefined ? '' : ` ${value}`}`;
    return `  ${spelled.padEnd(28)}${says}`;
  });
  const described = verb.arguments.map(({ name, says }) => `  ${name.toUpperCase().padEnd(28)}${says}`);
  return [
    `${verb.says.charAt(0).toUpperCase()}${verb.says.slice(1)}.`,
    `${bold('Usage')}  reeve ${[verb.name, ...words, '[flags]', ...command].join(' ')}`,
    [...described, ...flags].join('\n'),
    ...exitLines(verb),
  ].join('\n\n');
}

function exitLines({ exits = [] }: Verb): string[] {
  if (exits.length === 0) return [];
  const lines = exits.map(
    ({ code, action, when }) => `  ${code}  ${action === undefined ? '' : `${action}: `}${when}`,
  );
  return [[bold('Exit codes besides 0 and those of errors'), ...lines].join('\n')];
}
