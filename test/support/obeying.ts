/** A run whose command does what the test tells it, so that it happens inside the run's own tree. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { SessionDetail } from '../../src/supervisor/list.ts';
import { eventually } from './processes.ts';
import { withJson } from './sandbox.ts';
import type { Sandbox } from './sandbox.ts';

interface Inside {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Obeying {
  /** The session as it was right after its start. */
  readonly started: SessionDetail;
  /** Runs a shell command inside, to its end. */
  does(command: string): Promise<Inside>;
  /** Runs the CLI inside. */
  reeve(args: readonly string[]): Promise<Inside>;
  /** The same with --json, which must succeed. */
  json<T>(args: readonly string[]): Promise<T>;
  /** Begins a shell command and does not wait. */
  begins(command: string): void;
  /** Lets it exit. */
  exits(code: number): void;
}

// Opened for reading and writing, the pipe never ends, and an order that comes early waits in it.
const OBEYS = 'exec 3<>"$0"; while read -r order <&3; do eval "$order"; done';

let number = 0;

export async function startObeying(
  sandbox: Sandbox,
  name: string,
  flags: readonly string[] = [],
  env: Record<string, string> = {},
): Promise<Obeying> {
  const orders = sandbox.path(`orders-${name}-${(number += 1)}`);
  execFileSync('mkfifo', [orders]);
  const result = await sandbox.reeve(['run', '-d', '-s', name, ...flags, '--', 'sh', '-c', OBEYS, orders], {
    env,
  });
  if (result.code !== 0) throw new Error(result.stderr);
  const order = (text: string) => writeFileSync(orders, `${text}\n`);
  const does = async (command: string): Promise<Inside> => {
    const to = sandbox.path(`inside-${(number += 1)}`);
    order(`(${command}) > ${to}.out 2> ${to}.err < /dev/null; echo $? > ${to}.new; mv ${to}.new ${to}`);
    await eventually(`what ${command} did`, () => existsSync(to));
    const [stdout, stderr, code] = [`${to}.out`, `${to}.err`, to].map((file) => readFileSync(file, 'utf8'));
    return { code: Number(code), stdout: stdout ?? '', stderr: stderr ?? '' };
  };
  const reeve = (args: readonly string[]) =>
    does(
      [process.execPath, sandbox.cli, ...args]
        .map((word) => `'${word.replaceAll("'", String.raw`'\''`)}'`)
        .join(' '),
    );
  return {
    started: await sandbox.show(name),
    does,
    reeve,
    json: async (args) => {
      const { code, stdout, stderr } = await reeve(withJson(args));
      if (code !== 0) throw new Error(`exit ${code}: ${stderr}`);
      return JSON.parse(stdout);
    },
    begins: (command) => order(`${command} &`),
    exits: (code) => order(`exit ${code}`),
  };
}
