/** The verbs, their flags and their help. What a verb does is loaded only when it is called. */
import { Command, InvalidArgumentError, Option } from 'commander';
import type { CommanderError } from 'commander';
import { ReeveError } from '../api/errors.ts';

export type Finish = (exitCode: number) => void;

export function createProgram(version: string, finish: Finish): Command {
  const program = new Command('reeve')
    .description(
      'One live, provable owner for every coding-agent session, and whatever it started ends with it.',
    )
    .version(version, '-V, --version', 'print the version')
    .enablePositionalOptions()
    .showSuggestionAfterError()
    .configureHelp({ sortSubcommands: false })
    .configureOutput({ writeErr: () => {} })
    .exitOverride();
  addStarting(program, finish);
  addLooking(program, finish);
  addEnding(program, finish);
  addSelf(program, finish);
  return program;
}

/** Bad usage becomes an error of ours; help and version are not errors. */
export function usageError(error: CommanderError): ReeveError | null {
  if (error.exitCode === 0) return null;
  if (error.code === 'commander.help')
    return new ReeveError('usage', 'No verb was given.', { hint: 'See: reeve --help' });
  const [sentence = '', suggestion] = error.message.replace(/^error: /, '').split('\n');
  const message = `${sentence.charAt(0).toUpperCase()}${sentence.slice(1).replace(/\.$/, '')}.`;
  return new ReeveError('usage', message, {
    hint: suggestion?.replaceAll(/[()]/g, '') ?? 'See: reeve --help',
  });
}

function verb(program: Command, usage: string, description: string): Command {
  return program
    .command(usage)
    .description(description)
    .option('--json', 'one JSON value on stdout, nothing else');
}

function addStarting(program: Command, finish: Finish): void {
  const onLive = () =>
    new Option('--on-live <what>', 'when the session has a live owner').choices([
      'refuse',
      'attach',
      'retire',
    ]);
  const starting = (command: Command) =>
    command
      .option('--cwd <dir>', 'the directory to run in')
      .option('-d, --detach', 'return once it executes; its output goes to a log')
      .addOption(onLive())
      .option('--force', 'the same as --on-live retire')
      .option('--grace <seconds>', 'between asking the old owner to end and killing it', seconds)
      .passThroughOptions();
  starting(verb(program, 'run', 'start a command as a session’s owner'))
    .option('-s, --session <name>', 'the session’s name (default: one made of directory and command)')
    .argument('[command...]', 'the command and its arguments, behind --')
    .action(async (command: string[], options: object) =>
      finish(await (await import('./commands/run.ts')).run(command, options)),
    );
  starting(verb(program, 'resume', 'start the next epoch of a known session'))
    .argument('<session>', 'a name, an id, or a unique beginning of an id')
    .argument('[command...]', 'another command than the session’s own, behind --')
    .action(async (session: string, command: string[], options: object) =>
      finish(await (await import('./commands/run.ts')).resume(session, command, options)),
    );
}

function addLooking(program: Command, finish: Finish): void {
  const look = () => import('./commands/look.ts');
  verb(program, 'ls', 'list sessions: the live ones, and those that ended lately')
    .option('-a, --all', 'all of them')
    .addOption(new Option('--live', 'only the live ones').conflicts('all'))
    .action(async (options: object) => finish(await (await look()).ls(options)));
  verb(program, 'show <session>', 'everything about one session').action(
    async (session: string, options: object) => finish(await (await look()).show(session, options)),
  );
  verb(program, 'why <session>', 'who started it, who took over, what ended it, on what evidence').action(
    async (session: string, options: object) => finish(await (await look()).why(session, options)),
  );
  verb(program, 'logs <session>', 'what a detached run wrote')
    .option('-f, --follow', 'go on until it ends')
    .option('-n, --lines <count>', 'only the last lines', count)
    .action(async (session: string, options: object) => finish(await (await look()).logs(session, options)));
  verb(program, 'attach <session>', 'follow a live run; Ctrl-C leaves it running').action(
    async (session: string, options: object) => finish(await (await look()).attach(session, options)),
  );
}

function addEnding(program: Command, finish: Finish): void {
  const end = () => import('./commands/end.ts');
  verb(program, 'stop <session>', 'ask a run to end, kill it after a grace, and prove it gone')
    .option('--grace <seconds>', 'how long to wait before killing (default: 10)', seconds)
    .option('--assume-gone', 'record it as lost, on your word, where nothing can be proven')
    .action(async (session: string, options: object) => finish(await (await end()).stop(session, options)));
  verb(program, 'kill <session>', 'the same without a grace')
    .option('--assume-gone', 'record it as lost, on your word, where nothing can be proven')
    .action(async (session: string, options: object) =>
      finish(await (await end()).stop(session, { ...options, grace: 0 })),
    );
  verb(program, 'rm <session...>', 'forget ended sessions, their events and logs').action(
    async (sessions: string[], options: object) => finish(await (await end()).rm(sessions, options)),
  );
  verb(program, 'heartbeat', 'from inside a run: say that it is at work (fenced)').action(
    async (options: object) => finish(await (await end()).heartbeat(options)),
  );
}

function addSelf(program: Command, finish: Finish): void {
  verb(program, 'doctor', 'look whether the promises can be kept on this machine').action(
    async (options: object) => finish(await (await import('./commands/look.ts')).doctor(options)),
  );
  verb(program, 'paths', 'where the state is').action(async (options: object) =>
    finish((await import('./commands/look.ts')).paths(options)),
  );
  verb(program, 'demo', 'a guided run of the real thing, on a throw-away state directory').action(
    async (options: object) => finish(await (await import('./commands/demo.ts')).demo(options)),
  );
  verb(program, 'completion', 'print a completion script')
    .addArgument(program.createArgument('<shell>', 'for which shell').choices(['bash', 'zsh', 'fish']))
    .action(async (shell: 'bash' | 'zsh' | 'fish', options: object) =>
      finish((await import('./commands/completion.ts')).completion(program, shell, options)),
    );
}

/** A day is more than any harness needs to save its work. */
const MAX_GRACE_SECONDS = 86_400;

function seconds(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !(value >= 0) || value > MAX_GRACE_SECONDS) {
    throw new InvalidArgumentError(`It takes seconds, from 0 to ${MAX_GRACE_SECONDS}.`);
  }
  return value;
}

function count(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('It takes a whole number.');
  return Number(text);
}
