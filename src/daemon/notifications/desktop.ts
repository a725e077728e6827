/** The desktop's own notifications, through whichever of its programs is there. Texts are arguments, never a script. */
import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import type { Deliver, Environment } from './channel.ts';
import type { Message } from './message.ts';
import { runProgram } from './program.ts';

const ARGUMENTS: Readonly<Record<string, (message: Message) => readonly string[]>> = {
  // What follows `--` is no option, whatever it begins with. Its body is markup.
  'notify-send': ({ text }) => ['--app-name=Reeve', '--', 'Reeve', escapeMarkup(text)],
  osascript: ({ text }) => [
    ...['on run argv', 'display notification (item 1 of argv) with title "Reeve"', 'end run'].flatMap(
      (line) => ['-e', line],
    ),
    text,
  ],
};

export function desktop(environment: Environment): Deliver {
  return async (message, deadline) => {
    for (const [program, argumentsFor] of Object.entries(ARGUMENTS)) {
      const path = findOnPath(program, environment['PATH'] ?? '');
      if (path === null) continue;
      return runProgram({ argv: [path, ...argumentsFor(message)], environment, input: '', deadline });
    }
    return { is: 'refused', because: 'neither notify-send nor osascript is on the PATH' };
  };
}

function findOnPath(program: string, path: string): string | null {
  // A relative entry would make it depend on where the daemon happens to be.
  const candidates = path
    .split(delimiter)
    .filter(isAbsolute)
    .map((directory) => join(directory, program));
  return candidates.find(isProgram) ?? null;
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

function escapeMarkup(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
