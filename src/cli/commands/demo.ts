/**
 * The guided run: the real CLI, real processes, a throw-away state directory. Each step is checked by what can be
 * observed, and the demo succeeds only if all held.
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ReeveError } from '../../api/errors.ts';
import type { SessionView } from '../../api/session-view.ts';
import { isExecuting } from '../../supervisor/context.ts';
import { linesOf, printLines } from '../output.ts';
import type { OutputOptions } from '../output.ts';
import { bold, dim, green, red } from '../render/style.ts';

const CONFIG = 'config.toml';

interface Answer {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

interface Scene {
  readonly directory: string;
  reeve(args: readonly string[], environment?: Readonly<Record<string, string>>): Promise<Answer>;
}

interface Outcome {
  readonly shown: string;
  readonly checks: readonly (readonly [what: string, held: boolean])[];
}

interface Step {
  readonly title: string;
  readonly command: string;
  play(scene: Scene): Promise<Outcome>;
}

/** A process that leaves parent, group, session and environment behind, and writes its pid to the file it is given. */
const ESCAPE = `use POSIX; fork and exit; POSIX::setsid(); fork and exit;
  open F, ">", $ARGV[0]; print F $$; close F; %ENV = (); open STDOUT, ">", "/dev/null"; exec "/bin/sleep", 600`;
/** The agent of the demo: lets such a process escape, notes its own credentials, and works on. */
const AGENT = `perl -e '${ESCAPE}' escaped
echo "$REEVE_RUN $REEVE_TOKEN" > credentials
exec sleep 600
`;

const STEPS: readonly Step[] = [
  {
    title: 'A session is started, and has one owner.',
    command: 'reeve run --detach --session demo -- sh agent.sh    # whose grandchild escapes',
    play: async (scene) => {
      writeFileSync(join(scene.directory, 'agent.sh'), AGENT);
      const started = await scene.reeve(['run', '--detach', '--session', 'demo', '--', 'sh', 'agent.sh']);
      if (started.code !== 0)
        throw new ReeveError(
          'failed',
          `The demo cannot begin: ${started.stderr.replace(/^reeve: /, '').trim()}`,
          {
            hint: 'What is missing on this machine says: reeve doctor',
          },
        );
      await appears(join(scene.directory, 'credentials'));
      const { status } = await current(scene);
      const beat = await scene.reeve(['heartbeat'], credentials(scene));
      return {
        shown: started.stdout,
        checks: [
          ['it is executing', started.code === 0 && status === 'working'],
          [
            'its grandchild has escaped from parent, group, session and environment',
            await isExecuting(escaped(scene)),
          ],
          ['its own heartbeat is accepted', beat.code === 0],
        ],
      };
    },
  },
  {
    title: 'A second start is refused, and the owner is named.',
    command: 'reeve run --session demo -- echo "me too"',
    play: async (scene) => {
      const { run } = await current(scene);
      const refused = await scene.reeve(['run', '--session', 'demo', '--', 'echo', 'me too']);
      return {
        shown: refused.stderr,
        checks: [
          ['it exits with 4, "a live owner stands in the way"', refused.code === 4],
          ['it names the run and its process', mentions(refused.stderr, run.id, String(run.pid))],
          ['the second command did not run', !refused.stdout.includes('me too')],
        ],
      };
    },
  },
  {
    title: 'A takeover ends the old owner, with all it started, before the new one begins.',
    command: 'reeve run --detach --session demo --force -- sleep 600',
    play: async (scene) => {
      const { run: old } = await current(scene);
      const taken = await scene.reeve([
        'run',
        '--detach',
        '--session',
        'demo',
        '--force',
        '--',
        'sleep',
        '600',
      ]);
      const { run, epoch } = await current(scene);
      return {
        shown: `${taken.stderr}${taken.stdout}`,
        checks: [
          ['the old agent is gone', old.pid !== null && !(await isExecuting(old.pid))],
          ['its escaped grandchild is gone too', !(await isExecuting(escaped(scene)))],
          ['whom it replaced is said', mentions(taken.stderr, old.id, String(old.pid))],
          [
            'the new run is executing, epoch 2',
            epoch === 2 && run.pid !== null && (await isExecuting(run.pid)),
          ],
        ],
      };
    },
  },
  {
    title: 'A late write of the old owner is refused.',
    command: 'REEVE_RUN=<the old run> reeve heartbeat',
    play: async (scene) => {
      const late = await scene.reeve(['heartbeat'], credentials(scene));
      return { shown: late.stderr, checks: [['it exits with 5, "fenced"', late.code === 5]] };
    },
  },
  {
    title: 'It is stopped, and nothing is left behind.',
    command: 'reeve stop demo',
    play: async (scene) => {
      const { run } = await current(scene);
      const stopped = await scene.reeve(['stop', 'demo']);
      const after = await current(scene);
      return {
        shown: stopped.stdout,
        checks: [
          ['the record says stopped', after.run.outcome === 'stopped'],
          ['its process is gone', run.pid !== null && !(await isExecuting(run.pid))],
        ],
      };
    },
  },
  {
    title: 'The record tells the whole story.',
    command: 'reeve why demo',
    play: async (scene) => {
      const { stdout } = await scene.reeve(['why', 'demo']);
      return {
        shown: stdout,
        checks: [
          [
            'takeover, fenced write and stop are all told',
            mentions(stdout, 'superseded', 'refused', 'stopped'),
          ],
        ],
      };
    },
  },
];

export async function demo(options: OutputOptions): Promise<number> {
  const directory = mkdtempSync(join(tmpdir(), 'reeve-demo-'));
  const scene = createScene(directory);
  const tell = (...lines: readonly string[]) => {
    if (options.json !== true) printLines({}, null, lines);
  };
  const results: { title: string; command: string; checks: { what: string; held: boolean }[] }[] = [];
  try {
    tell(dim(`The state of this demo is in ${directory}, and is removed at the end.`), '');
    for (const [index, step] of STEPS.entries()) {
      tell(bold(`${index + 1}. ${step.title}`), `${dim('$')} ${step.command}`);
      const { shown, checks } = await step.play(scene);
      tell(...indented(shown));
      for (const [what, held] of checks) tell(`   ${held ? green('✓') : red('✗')} ${what}`);
      tell('');
      const { title, command } = step;
      results.push({ title, command, checks: checks.map(([what, held]) => ({ what, held })) });
    }
  } finally {
    await scene.reeve(['kill', 'demo']);
    rmSync(directory, { recursive: true, force: true });
  }
  const held = results.every(({ checks }) => checks.every((check) => check.held));
  printLines(options, { held, steps: results }, [
    held ? green('Every step held.') : red('Not every step held.'),
  ]);
  return held ? 0 : 1;
}

function createScene(directory: string): Scene {
  const home = join(directory, 'state');
  const cli = process.argv[1] ?? '';
  // A budget of the user's would end the session in the middle.
  writeFileSync(join(directory, CONFIG), '');
  return {
    directory,
    reeve: (args, environment = {}) =>
      new Promise((resolve, reject) => {
        const child = spawn(process.execPath, [cli, ...args], {
          cwd: directory,
          stdio: ['ignore', 'pipe', 'pipe'],
          env: { ...sceneEnvironment(directory, home), ...environment },
        });
        let [stdout, stderr] = ['', ''];
        child.stdout.on('data', (chunk) => (stdout += String(chunk)));
        child.stderr.on('data', (chunk) => (stderr += String(chunk)));
        child.once('error', reject);
        child.once('close', (code) => resolve({ code, stdout, stderr }));
      }),
  };
}

/** The demo may itself be run inside a run of Reeve, or with settings of its own: none of that is part of the scene. */
function sceneEnvironment(directory: string, home: string): NodeJS.ProcessEnv {
  const outer = Object.entries(process.env).filter(([name]) => !name.startsWith('REEVE_'));
  const place = { REEVE_HOME: home, REEVE_CONFIG: join(directory, CONFIG) };
  return { ...Object.fromEntries(outer), ...place, NO_COLOR: '1', FORCE_COLOR: '0' };
}

async function current(scene: Scene): Promise<SessionView> {
  const { stdout } = await scene.reeve(['show', '--json', 'demo']);
  return JSON.parse(stdout) as SessionView; // Printed by this very program.
}

function credentials(scene: Scene): Record<string, string> {
  const [run = '', token = ''] = readFileSync(join(scene.directory, 'credentials'), 'utf8').trim().split(' ');
  return { REEVE_RUN: run, REEVE_TOKEN: token };
}

function escaped(scene: Scene): number {
  return Number(readFileSync(join(scene.directory, 'escaped'), 'utf8'));
}

const APPEAR_LIMIT_MS = 10_000;
const POLL_MS = 10;

async function appears(path: string): Promise<void> {
  const deadline = performance.now() + APPEAR_LIMIT_MS;
  while (!existsSync(path)) {
    if (performance.now() > deadline)
      throw new Error(`${path} did not appear: the command did not get that far.`);
    await sleep(POLL_MS);
  }
}

function mentions(text: string, ...words: readonly string[]): boolean {
  return words.every((word) => text.includes(word));
}

function indented(text: string): string[] {
  return linesOf(text.trimEnd()).map((line) => `   ${line}`);
}
