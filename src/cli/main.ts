import { readFileSync } from 'node:fs';
import { CommanderError } from 'commander';
import { printError } from './output.ts';
import { createProgram, usageError } from './program.ts';

const args = process.argv.slice(2);
// Wanted before the flags are parsed: a usage error must be JSON too. What stands behind -- is not ours.
const end = args.indexOf('--');
const json = (end === -1 ? args : args.slice(0, end)).includes('--json');

// A reader that went away (`reeve ls | head`) is not an error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  throw error;
});

void main();

async function main(): Promise<void> {
  try {
    const program = createProgram(version(), (exitCode) => {
      process.exitCode = exitCode;
    });
    await program.parseAsync(args, { from: 'user' });
  } catch (error) {
    const reported = error instanceof CommanderError ? usageError(error) : error;
    process.exitCode = reported === null ? 0 : printError({ json }, reported);
  }
}

function version(): string {
  // The package's own file, which npm always writes with a version.
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
