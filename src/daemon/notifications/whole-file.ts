import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Replaces a file by rename, for its owner alone: a reader, or whoever comes after a crash, finds the old or the new. */
export async function replaceWhole(path: string, text: string): Promise<void> {
  const temporary = `${path}.new`;
  // One that a crash left behind may be of another mode.
  await rm(temporary, { force: true });
  const file = await open(temporary, 'wx', 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, path);
  const directory = await open(dirname(path), 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
