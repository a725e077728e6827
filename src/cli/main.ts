import { ReeveError } from '../api/errors.ts';
import { REPLACEMENT } from '../api/raw-bytes.ts';
import { leaveClosedTerminal } from './closed-terminal.ts';
import { renderHelp, renderVerbHelp } from './help.ts';
import { watchOutput } from './lost-output.ts';
import { linesOf, printError, printLines } from './output.ts';
import { parse, suggesting } from './parse.ts';
import type { Parsed } from './parse.ts';
import { ownBuild } from '../supervisor/own-program.ts';
import { VERBS } from './verbs.ts';

watchOutput();
leaveClosedTerminal();

void main(process.argv.slice(2));

async function main(args: readonly string[]): Promise<void> {
  try {
    process.exitCode = await answer(args);
  } catch (error) {
    process.exitCode = printError({ json: wantsJson(args) }, error);
  }
  // It is left to end by itself: only then does SQLite let go of its statements, and put its log into the database.
}

async function answer(given: readonly string[]): Promise<number> {
  const isReplaced = given.some((word) => word.includes(REPLACEMENT));
  const args = isReplaced ? (await import('./raw-arguments.ts')).rawArguments(given) : given;
  const parsed = parse(VERBS, args);
  switch (parsed.is) {
    case 'call':
      if (isReplaced) (await import('./raw-arguments.ts')).refuseStrayBytes(parsed.call);
      return execute(parsed);
    case 'help':
      printLines({}, null, linesOf('name' in parsed.of ? renderVerbHelp(parsed.of) : renderHelp(parsed.of)));
      return 0;
    case 'version':
      process.stdout.write(`${version()}\n`);
      return 0;
  }
}

async function execute({ verb, call, meant }: Extract<Parsed, { is: 'call' }>): Promise<number> {
  try {
    return await verb.execute(call);
  } catch (error) {
    // What was taken for a session's name may be a mistyped second word.
    throw error instanceof ReeveError && error.code === 'not_found' ? suggesting(meant, error) : error;
  }
}

/** Also when the flags could not be parsed: a usage error must be JSON too. What stands behind -- is not ours. */
function wantsJson(args: readonly string[]): boolean {
  const end = args.indexOf('--');
  return (end === -1 ? args : args.slice(0, end)).includes('--json');
}

function version(): string {
  const { version: number, build, schema } = ownBuild();
  return `${number} (build ${build}, schema ${schema})`;
}
