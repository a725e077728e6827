/** Whether a process of this user can be started in a directory. */
import { accessSync, constants, statSync } from 'node:fs';

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'it does not exist',
  ENOTDIR: 'a part of its path is a file',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  ELOOP: 'its symbolic links lead in a circle',
  ENAMETOOLONG: 'its name is too long',
};

/** Null when it can be entered; otherwise why not, as the end of a sentence. */
export function refuseDirectory(path: string): string | null {
  try {
    if (!statSync(path).isDirectory()) return 'it is a file';
    accessSync(path, constants.X_OK);
    return null;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    return REASONS[code] ?? 'it cannot be read';
  }
}
