/** Processes of their own that work on a store: test/fixtures/store-child.ts, bundled so that they start fast. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { symlinkSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

export interface Child {
  readonly process: ChildProcess;
  /** Tells it to begin. */
  go(): void;
  /** The next line that it prints. */
  line(): Promise<string>;
  /** Its end, with all that it printed. */
  readonly ended: Promise<{ code: number | null; signal: string | null; lines: string[]; stderr: string }>;
}

/** The path of the bundled program, which is one of the fixtures. */
export async function bundleStoreChild(directory: string, name = 'store-child'): Promise<string> {
  const bundle = await rolldown({
    input: fileURLToPath(new URL(`../fixtures/${name}.ts`, import.meta.url)),
    platform: 'node',
  });
  const file = join(directory, `${name}.mjs`);
  await bundle.write({ file, format: 'esm', codeSplitting: false });
  // Native, so it stays where it is, and is found from where the bundle lies.
  symlinkSync(fileURLToPath(new URL('../../node_modules', import.meta.url)), join(directory, 'node_modules'));
  await bundle.close();
  return file;
}

function startChild(command: readonly string[], env: NodeJS.ProcessEnv): Child {
  const [program = '', ...args] = command;
  const child = spawn(program, args, { env, stdio: ['pipe', 'pipe', 'pipe'] });
  const lines: string[] = [];
  const waiting: ((line: string) => void)[] = [];
  let given = 0;
  let stderr = '';
  const closed = new Promise<void>((resolve) => {
    createInterface(child.stdout)
      .on('line', (line) => {
        lines.push(line);
        if (waiting.length > 0) given += 1;
        waiting.shift()?.(line);
      })
      .on('close', resolve);
  });
  child.stderr.on('data', (chunk) => (stderr += String(chunk)));
  const ended = new Promise<Awaited<Child['ended']>>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => {
      void closed.then(() => resolve({ code, signal, lines, stderr }));
    });
  });
  return {
    process: child,
    ended,
    go: () => child.stdin.write('go\n'),
    line: async () => {
      const next = lines[given];
      if (next !== undefined) {
        given += 1;
        return next;
      }
      const line = new Promise<string>((resolve) => waiting.push(resolve));
      const gone = ended.then(({ stderr: said }) => {
        throw new Error(`The child ended without another line: ${said}`);
      });
      return Promise.race([line, gone]);
    },
  };
}

/** Starts all, and lets them begin only when every one is ready. */
export async function startAtOnce(
  commands: readonly (readonly string[])[],
  env: NodeJS.ProcessEnv = process.env,
): Promise<Child[]> {
  const children = commands.map((command) => startChild(command, env));
  await Promise.all(children.map((child) => child.line()));
  for (const child of children) child.go();
  return children;
}

/** Lets one run to its end; what its last line says. */
export async function resultOf(command: readonly string[]): Promise<unknown> {
  const [child] = await startAtOnce([command]);
  const end = await child?.ended;
  if (end?.code !== 0) throw new Error(`The child failed: ${JSON.stringify(end)}`);
  return JSON.parse(end.lines.at(-1) ?? '');
}
