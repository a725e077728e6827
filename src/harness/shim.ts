/**
 * Shims: scripts named like a harness, in a directory at the front of PATH, that run the harness through Reeve, so that a
 * plain `claude --resume ID` is claimed too.
 *
 * A shim first finds the real program: the first of its name on PATH that is not a shim, told by its second line, so that
 * several directories of shims do not call each other for ever. It becomes that program, without Reeve, if it was asked
 * to (REEVE_SHIM=off), if there is no session in it (--version, `mcp list`), if it is itself what a run has just started, or if Reeve
 * does not work. The last must be known before Reeve could have started anything, so it is looked for beforehand: whether
 * its files are there, and once for each version of them whether it can say its version. Otherwise the shim becomes
 * `reeve run -- PROGRAM ...`. Always by exec: arguments, terminal, signals and exit code are nobody else's.
 */
import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  openSync,
  readSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';
import { ReeveError } from '../api/errors.ts';
import { ADMINISTRATION } from './administration.ts';
import { makeDirectory } from './make-directory.ts';

export const SHIM_NAMES = ['claude', 'codex', 'gemini', 'opencode', 'code'] as const;
export type ShimName = (typeof SHIM_NAMES)[number];

/** The version is for people; whatever its number is, the file is a shim. */
const SHIM_MARK = '#!/bin/sh\n# reeve-shim ';

/** In the directory of the shims: which Reeve was seen to work. */
const STAMP = '.reeve-shim-checked';

export interface ShimReport {
  readonly name: ShimName;
  readonly path: string;
  readonly is: 'created' | 'changed' | 'unchanged' | 'removed' | 'absent';
}

export interface ShimStatus {
  readonly name: ShimName;
  readonly path: string;
  /** Of another version, or with another Reeve; somebody else's program of that name; or none. */
  readonly is: 'installed' | 'outdated' | 'foreign' | 'absent';
  /** The program that the shim would run; null when there is none on this PATH. */
  readonly real: string | null;
  /**
   * What a shell finds first: `shim`, or the real program since the directory is not on PATH or stands behind it;
   * `nothing` when neither is found.
   */
  readonly first: 'shim' | 'real' | 'nothing';
}

/**
 * `reeveCommand` is best the absolute paths of Node and of Reeve's program: a shim then sees at once that one of them is
 * gone. Of a single program it cannot know what that needs, and asks it for its version each time.
 */
export function installShims(
  directory: string,
  names: readonly ShimName[],
  reeveCommand: readonly string[],
): readonly ShimReport[] {
  const absolute = resolve(directory);
  return refusing(absolute, () => {
    makeDirectory(absolute);
    // All are looked at before the first is written, so that a refusal leaves everything as it was.
    const found = names.map((name) => ({
      name,
      path: join(absolute, name),
      before: ownShim(absolute, name),
    }));
    rmSync(join(absolute, STAMP), { force: true });
    return found.map(({ name, path, before }) => {
      const script = shimScript(absolute, name, reeveCommand);
      if (before === script && isExecutable(path)) return { name, path, is: 'unchanged' };
      writeShim(path, script);
      return { name, path, is: before === null ? 'created' : 'changed' };
    });
  });
}

/** Only shims are removed; the directory stays. */
export function removeShims(directory: string, names: readonly ShimName[]): readonly ShimReport[] {
  const absolute = resolve(directory);
  return refusing(absolute, () => {
    const reports = names.map((name): ShimReport => {
      const path = join(absolute, name);
      if (!isShim(path)) return { name, path, is: 'absent' };
      rmSync(path);
      return { name, path, is: 'removed' };
    });
    const isLast = !SHIM_NAMES.some((name) => isShim(join(absolute, name)));
    if (isLast && isDirectory(absolute)) rmSync(join(absolute, STAMP), { force: true });
    return reports;
  });
}

export function shimStatus(
  directory: string,
  names: readonly ShimName[],
  reeveCommand: readonly string[],
  searchPath: string,
): readonly ShimStatus[] {
  const absolute = resolve(directory);
  return names.map((name) => {
    const path = join(absolute, name);
    const candidates = programsOn(searchPath, name);
    const [first] = candidates;
    return {
      name,
      path,
      is: stateOf(path, shimScript(absolute, name, reeveCommand)),
      real: candidates.find((candidate) => !isShim(candidate)) ?? null,
      first: first === undefined ? 'nothing' : isShim(first) ? 'shim' : 'real',
    };
  });
}

/** The directories with shims of this Reeve: the one given, and whatever of PATH has some. */
export function shimDirectories(
  directory: string,
  reeveCommand: readonly string[],
  searchPath: string,
): readonly string[] {
  const own = reeveCommand.map(quoted).join(' ');
  const isOurs = (path: string) => isShim(path) && beginningOf(path)?.includes(`exec ${own} run`) === true;
  const onPath = searchPath
    .split(':')
    .filter((place) => isAbsolute(place))
    .map((place) => resolve(place))
    .filter((place) => SHIM_NAMES.some((name) => isOurs(join(place, name))));
  const isThere = SHIM_NAMES.some((name) => isShim(join(directory, name)));
  return [...new Set([...(isThere ? [resolve(directory)] : []), ...onPath])];
}

/** By what is in it, wherever it is and whichever version wrote it. */
export function isShim(path: string): boolean {
  return beginningOf(path)?.startsWith(SHIM_MARK) ?? false;
}

function shimScript(directory: string, name: ShimName, reeveCommand: readonly string[]): string {
  const reeve = reeveCommand.map(quoted).join(' ');
  return `${SHIM_MARK}1: runs ${name} through Reeve. REEVE_SHIM=off passes it by.

# Only what the shell has built in: this runs at each start. The names are such that nobody's exported ones are changed.
_reeve_is_shim() {
    [ -r "$1" ] || return 1
    _reeve_second=
    { IFS= read -r _reeve_first && [ "$_reeve_first" = '#!/bin/sh' ] && IFS= read -r _reeve_second; } <"$1"
    case $_reeve_second in '# reeve-shim '*) return 0 ;; esac
    return 1
}

_reeve_real=
_reeve_rest=\${PATH-}:
while [ -n "$_reeve_rest" ]; do
    _reeve_at=\${_reeve_rest%%:*}
    _reeve_rest=\${_reeve_rest#*:}
    _reeve_at=\${_reeve_at:-.}/${name}
    [ -f "$_reeve_at" ] && [ -x "$_reeve_at" ] || continue
    _reeve_is_shim "$_reeve_at" && continue
    _reeve_real=$_reeve_at
    break
done
if [ -z "$_reeve_real" ]; then
    printf '%s\\n' "reeve: ${name} is not installed: PATH has only Reeve's shim for it." >&2
    exit 127
fi
case $_reeve_real in /*) ;; *) _reeve_real=$PWD/$_reeve_real ;; esac

[ "\${REEVE_SHIM-}" = off ] && exec "$_reeve_real" "$@"
case \${1-} in --version | --help | -v | -V | -h) exec "$_reeve_real" "$@" ;; esac
# What has no conversation in it. With a prompt behind it, it may be one: then Reeve says.
case \${1-} in
${ADMINISTRATION[name].join(' | ')})
    case " $* " in *' -p '* | *' --print '* | *' serve '*) ;; *) exec "$_reeve_real" "$@" ;; esac ;;
esac
${name === 'code' ? EVERY_CODE_ONLY : ''}
# What a run started, or a wrapper of the same name that it started: that run has claimed the session.
if [ -n "\${REEVE_RUN-}" ] && [ -r "\${REEVE_HOME-}/runs/$REEVE_RUN/started.json" ]; then
    IFS= read -r _reeve_record <"$REEVE_HOME/runs/$REEVE_RUN/started.json"
    case $_reeve_record in
    *'"pid":'"$$",*) exec "$_reeve_real" "$@" ;;
    *'"pid":'"$PPID",*) [ "\${_REEVE_SHIM-}" = ${name} ] && exec "$_reeve_real" "$@" ;;
    esac
fi

_reeve_works() {
${readiness(directory, reeveCommand)}
}

if _reeve_works; then
    _REEVE_SHIM=${name}
    export _REEVE_SHIM
    exec ${reeve} run -- "$_reeve_real" "$@"
fi
printf '%s\\n' 'reeve: it does not work here, so ${name} runs without it. Install Reeve and its shims again, or set REEVE_SHIM=off.' >&2
exec "$_reeve_real" "$@"
`;
}

/** VS Code has a command of that name too. Only what names the makers of Every Code is theirs. */
const EVERY_CODE_ONLY = `
LC_ALL=C grep -q just-every "$_reeve_real" 2>/dev/null || exec "$_reeve_real" "$@"
`;

/** The body of a function: succeeds if Reeve can be started, without starting Node unless something is new. */
function readiness(directory: string, reeveCommand: readonly string[]): string {
  const reeve = reeveCommand.map(quoted).join(' ');
  const asksVersion = `${reeve} --version </dev/null >/dev/null 2>&1`;
  const [program, script] = reeveCommand;
  if (program === undefined || script === undefined || !isAbsolute(program) || !isAbsolute(script)) {
    return `    ${asksVersion}`;
  }
  const files = `${quoted(program)} ${quoted(script)}`;
  // Not by time alone: npm gives all files that it installs the same one.
  return `    [ -f ${quoted(program)} ] && [ -x ${quoted(program)} ] && [ -r ${quoted(script)} ] || return 1
    _reeve_stamp=${quoted(join(directory, STAMP))}
    _reeve_seen=$(LC_ALL=C ls -Lil ${files} 2>/dev/null)
    [ -r "$_reeve_stamp" ] && [ "$(cat "$_reeve_stamp" 2>/dev/null)" = "$_reeve_seen" ] && return 0
    ${asksVersion} || return 1
    (printf '%s\\n' "$_reeve_seen" >"$_reeve_stamp") 2>/dev/null
    return 0`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

function stateOf(path: string, script: string): ShimStatus['is'] {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return 'absent';
  if (!isShim(path)) return 'foreign';
  return beginningOf(path) === script && isExecutable(path) ? 'installed' : 'outdated';
}

/** The text of a shim that is there; null when nothing is; refused when it is something else. */
function ownShim(directory: string, name: ShimName): string | null {
  if (!readdirSync(directory).includes(name)) return null;
  const path = join(directory, name);
  if (isShim(path)) return beginningOf(path);
  throw new ReeveError('bad_settings', `${path} is there already and is not a shim of Reeve's.`, {
    hint: 'Choose another directory for the shims, or move that file away.',
  });
}

function writeShim(path: string, script: string): void {
  // By rename, for a shell may be reading the old one.
  const temporary = `${path}.${process.pid}.reeve-new`;
  try {
    writeFileSync(temporary, script, { mode: 0o755 });
    chmodSync(temporary, 0o755);
    renameSync(temporary, path);
  } finally {
    rmSync(temporary, { force: true });
  }
}

/** Far more than any shim has; the rest of a large program is of no interest. */
const MAX_SHIM_BYTES = 64 * 1024;

function beginningOf(path: string): string | null {
  let file: number;
  try {
    if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true) return null;
    file = openSync(path, 'r');
  } catch {
    // A program that may be run but not read is none of ours, nor is what lies where this user may not look.
    return null;
  }
  try {
    const buffer = Buffer.alloc(MAX_SHIM_BYTES);
    return buffer.toString('utf8', 0, readSync(file, buffer, 0, MAX_SHIM_BYTES, 0));
  } finally {
    closeSync(file);
  }
}

function programsOn(searchPath: string, name: string): readonly string[] {
  return (
    searchPath
      .split(':')
      .map((directory) => resolve(directory, name))
      // First whether it may be executed: of what lies in a directory closed to this user nothing else can be asked.
      .filter((path) => isExecutable(path) && statSync(path, { throwIfNoEntry: false })?.isFile() === true)
  );
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

function refusing<T>(directory: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    if (!(error instanceof Error && 'syscall' in error && 'code' in error)) throw error;
    throw new ReeveError('bad_settings', `Shims cannot be changed in ${directory}: ${String(error.code)}.`, {
      hint: 'Choose a directory that you may write to.',
      cause: error,
    });
  }
}
