/** The identity of this state directory, minted when it is first used. What it is for is told in lifecycle/installation.ts. */
import { randomBytes } from 'node:crypto';
import { linkSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { ReeveError } from '../api/errors.ts';
import { judgeInstallation } from '../lifecycle/installation.ts';
import type { RecordedInstallation } from '../lifecycle/installation.ts';
import { machineMarks } from '../process/machine-marks.ts';
import { readFile } from '../process/reading.ts';
import { homeAt } from './home.ts';
import type { Home } from './home.ts';

/** Throws when the directory is a copy of another that is still there, or when its identity cannot be read. */
export function installationOf(home: Home): string {
  const here = { path: realpathSync(home.path), machine: machineMarks() };
  const recorded = read(home) ?? mint(home, here);
  const verdict = judgeInstallation(recorded, {
    ...here,
    isOriginalThere: recorded.path !== here.path && isOriginalThere(home, recorded),
  });
  switch (verdict.is) {
    case 'same':
      return recorded.id;
    case 'changed':
      replace(home, { ...recorded, ...here });
      return recorded.id;
    case 'cloned':
      return replace(home, { id: newId(), ...here });
    case 'copied':
      throw new ReeveError(
        'state_directory',
        `The state directory ${home.path} is a copy of ${recorded.path}, which is still there.`,
        {
          hint: `Used side by side they would give a session two owners. Go on with REEVE_HOME=${recorded.path}, or move that one away first.`,
          details: { original: recorded.path },
        },
      );
  }
}

/** Null when there is none. A failed read is none of both: a second identity must not be minted for it. */
function read({ installation: path }: Home): RecordedInstallation | null {
  let text: string;
  try {
    text = readFile(path);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw unusable(path, error instanceof Error ? error.message : String(error), error);
  }
  const recorded = parse(text);
  if (recorded === null) throw unusable(path, 'it is not the JSON that Reeve wrote');
  return recorded;
}

function parse(text: string): RecordedInstallation | null {
  try {
    const { id, path, machine }: Record<string, unknown> = JSON.parse(text);
    const isWhole = typeof id === 'string' && id !== '' && typeof path === 'string' && Array.isArray(machine);
    return isWhole ? { id, path, machine: machine.map(String) } : null;
  } catch {
    return null;
  }
}

function unusable(path: string, because: string, cause?: unknown): ReeveError {
  return new ReeveError(
    'state_directory',
    `The identity of this installation, ${path}, cannot be read: ${because}.`,
    {
      hint:
        cause === undefined
          ? 'Put it back from a backup, or remove it: runs from before the next restart of this machine then need --assume-gone.'
          : 'Make it readable, then try again.',
      cause,
    },
  );
}

/** Of many that mint at once, one wins, and all have that one's. */
function mint(home: Home, here: Omit<RecordedInstallation, 'id'>): RecordedInstallation {
  const minted = { id: newId(), ...here };
  const temporary = write(home, minted);
  try {
    linkSync(temporary, home.installation);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  } finally {
    rmSync(temporary, { force: true });
  }
  return read(home) ?? minted;
}

function replace(home: Home, recorded: RecordedInstallation): string {
  renameSync(write(home, recorded), home.installation);
  return recorded.id;
}

function write({ installation }: Home, recorded: RecordedInstallation): string {
  const temporary = `${installation}.${newId()}`;
  writeFileSync(temporary, `${JSON.stringify({ version: 1, ...recorded })}\n`, { mode: 0o600 });
  return temporary;
}

/** The same directory under another name, as a bind mount gives it, is no copy. */
function isOriginalThere(home: Home, { id, path }: RecordedInstallation): boolean {
  const recorded = homeAt(path);
  const [original, own] = [recorded, home].map(({ installation }) =>
    statSync(installation, { throwIfNoEntry: false }),
  );
  if (original === undefined || (original.dev === own?.dev && original.ino === own.ino)) return false;
  return read(recorded)?.id === id;
}

function newId(): string {
  return randomBytes(8).toString('hex');
}
