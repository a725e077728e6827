/** An error of the file system as a sentence. Whoever foresaw one has told it better; this is for the others. */
import { ReeveError } from '../api/errors.ts';

/** As Node makes it. */
interface FileError {
  readonly code: string;
  readonly syscall: string;
  readonly path: string;
}

/** Null for what is no error of a file: a connection's, or that of a program that could not be executed. */
export function asFileFailure(error: unknown): ReeveError | null {
  if (!isFileError(error)) return null;
  const { code, syscall, path } = error;
  return new ReeveError(
    'file_unavailable',
    `${path} could not be ${DONE[syscall] ?? 'used'}: ${reasonOf(error)}.`,
    {
      hint: hintOf(code),
      details: { path, syscall, reason: code },
      cause: error,
    },
  );
}

function isFileError(error: unknown): error is Error & FileError {
  if (!(error instanceof Error && 'code' in error && 'syscall' in error && 'path' in error)) return false;
  const { code, syscall, path } = error;
  const isNamed = typeof code === 'string' && typeof syscall === 'string' && typeof path === 'string';
  return isNamed && !/^(spawn|connect)/.test(syscall);
}

const DONE: Readonly<Record<string, string>> = {
  access: 'looked at',
  chmod: 'changed',
  chown: 'changed',
  lstat: 'looked at',
  mkdir: 'created',
  mkdtemp: 'created',
  open: 'opened',
  opendir: 'listed',
  readlink: 'read',
  rename: 'renamed',
  rmdir: 'removed',
  scandir: 'listed',
  stat: 'looked at',
  unlink: 'removed',
  utime: 'changed',
  watch: 'watched',
};

/** The system's own words, which Node puts between the code and the call. */
function reasonOf({ message, code }: Error & FileError): string {
  return /^[A-Z\d]+: (.+?), [a-z]+ /i.exec(message)?.[1] ?? code;
}

function hintOf(code: string): string {
  switch (code) {
    case 'ENOENT':
    case 'ENOTDIR':
    case 'ESTALE':
      return 'Did somebody remove or move it meanwhile? Try again.';
    case 'ENOSPC':
    case 'EDQUOT':
      return 'Free some space, then try again.';
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return 'Check whose it is and who may write to it, then try again.';
    default:
      return 'Try again. If it comes back, set REEVE_DEBUG=1 for the whole of it.';
  }
}
