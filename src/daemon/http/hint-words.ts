/**
 * Hints are written for a terminal: they name verbs and flags. Whoever asks over HTTP is told operations and fields
 * instead, and who looks at the page what there is on the page. The vocabulary is here, so that what knows the reason of
 * an error need not know all the ways in. What has no word in another way is left out of the hint, never told wrongly.
 */

/** `cli` is the command line itself, inside a run; it asks the daemon on behalf of somebody in a terminal. */
export type Words = 'cli' | 'http' | 'page';

/** The request header that says who asks; without it, it is a program that speaks HTTP. */
export const WORDS_HEADER = 'reeve-words';

export function wordsOf(header: string | undefined): Words {
  return header === 'cli' || header === 'page' ? header : 'http';
}

export function hintFor(words: Words, hint: string | undefined): string | undefined {
  if (hint === undefined || words === 'cli') return hint;
  const told = words === 'http' ? forHttp(hint) : replaced(hint, PAGE);
  const clauses = told.split(BETWEEN_CLAUSES).filter((clause) => !hasFlag(words, clause));
  const rest = clauses.join('').trim();
  return rest === '' ? undefined : rest;
}

type Entry = readonly [from: RegExp, to: string];

/** Of another state directory: another daemon's, if it has one. */
const NOT_ELSEWHERE = String.raw`(?<!REEVE_HOME=\S{1,4096} )`;
const NAME = String.raw`([\w.@+:-]*[\w@+-])`;
const verb = (words: string): RegExp => new RegExp(`${NOT_ELSEWHERE}\`?\\breeve ${words}\`?`, 'g');

/** The longer before the shorter that it begins with. */
const COMMANDS: readonly Entry[] = [
  [/Run a reeve command there, `reeve ls` for instance\./g, 'Run a command of Reeve on each of them.'],
  [verb(`kill ${NAME} --assume-gone`), 'POST /v1/sessions/$1/kill with "assumeGone": true'],
  [verb(`resume ${NAME} --tmux`), 'POST /v1/sessions/$1/resume with "tmux": true'],
  [verb(`budget set ${NAME} --max-(\\w+) MORE`), 'POST /v1/sessions/$1/budget with "$2": MORE'],
  [verb(`(attach|stop|kill|resume) ${NAME}`), 'POST /v1/sessions/$2/$1'],
  [verb(`(logs|why) ${NAME}`), 'GET /v1/sessions/$2/$1'],
  [verb(`show ${NAME}`), 'GET /v1/sessions/$1'],
  [verb(`rm ${NAME}`), 'DELETE /v1/sessions/$1'],
  [verb('why'), 'GET /v1/sessions/{session}/why'],
  [verb('(kill|resume)'), 'POST /v1/sessions/{session}/$1'],
  [verb('ls --all'), 'GET /v1/sessions?range=all'],
  [verb('ls'), 'GET /v1/sessions'],
  [verb('settle --host-gone NAME'), 'POST /v1/settle with "hostGone": NAME'],
  [verb(`settle ${NAME}`), 'POST /v1/settle with "sessions": ["$1"]'],
  [verb('settle'), 'POST /v1/settle'],
  [verb(`review show ${NAME}`), 'GET /v1/reviews/$1'],
  [verb('adopt (\\w+)'), 'POST /v1/adopt with "pid": $1'],
  [verb('scan'), 'GET /v1/scan'],
  [verb('submit ls'), 'GET /v1/submissions'],
  [verb('review ls --all'), 'GET /v1/reviews?all=true'],
  [verb(`review ls --worker ${NAME}`), 'GET /v1/reviews?worker=$1'],
  [verb('(?:usage|notify mute) --help'), '/docs'],
  [verb('hooks install (\\w+)'), 'POST /v1/hooks/install with "harnesses": ["$1"]'],
  [verb('shim install (\\w+) --dir (\\S+)'), 'POST /v1/shim/install with "harnesses": ["$1"], "dir": "$2"'],
  [verb('usage SESSION --tree'), 'GET /v1/usage?session=SESSION&tree=true'],
  [verb('budget'), 'GET /v1/budget'],
  [verb(`run --session ${NAME} -- (\\w+)`), 'POST /v1/run with "session": "$1", "argv": ["$2"]'],
  [/Put it behind --, as in: reeve run -- claude/g, 'Give it as "argv", as in: ["claude"]'],
  [/the whole command behind --/g, 'the whole command as "argv"'],
  [verb('run'), 'POST /v1/run'],
];

const FIELDS: readonly Entry[] = [
  [/--on-live (\w+) --unmanaged\b/g, '"onLive": "$1", "unmanaged": true'],
  [/--on-live (\w+)/g, '"onLive": "$1"'],
  [/--assume-gone\b/g, '"assumeGone": true'],
  [/--queue\b/g, '"queue": true'],
  [/--tmux\b/g, '"tmux": true'],
  [/Start it with --detach/g, 'Start it without "tmux"'],
  [/--max-(\w+) MORE/g, '"budget": {"$1": MORE}'],
  [/Leave out --session, or give that one: --session (\S+)/g, 'Leave out "session", or give "$1"'],
  [/--harness (claude|codex|gemini|opencode|code)\b/g, '"harness": "$1"'],
  [/--pr KEY=HEADSHA/g, '"pullRequests": [{"pr": KEY, "head": HEADSHA}]'],
  [/--(session|cwd|repo|reviewer|harness|unmanaged)\b/g, '"$1"'],
];

/** What is a choice on the page. A whole command stays one: whoever sees the page has a terminal. */
const PAGE: readonly Entry[] = [
  [/\badd --on-live retire --unmanaged/g, '`reeve resume SESSION --on-live retire --unmanaged`'],
  [/\badd --on-live retire/g, 'end it with “Retire…” first'],
  [/\badd --queue/g, 'choose “Wait until it is idle”'],
  [/, add --assume-gone/g, ': `reeve kill SESSION --assume-gone`'],
  [/\badd --max-\w+ MORE, or: /g, ''],
];

function forHttp(hint: string): string {
  return replaced(replaced(hint, COMMANDS), FIELDS);
}

function replaced(text: string, entries: readonly Entry[]): string {
  return entries.reduce((now, [from, to]) => now.replaceAll(from, to), text);
}

/** Behind a full stop, or the wide gap between ways on. */
const BETWEEN_CLAUSES = /(?<=\.)(?= [A-Z])|(?= {4}\S)/;

/** On the page, a flag of a whole command is none of the page's. */
function hasFlag(words: Words, clause: string): boolean {
  const own = words === 'page' ? clause.replaceAll(/\breeve [^`]*/g, '') : clause;
  return /(^|[\s`(])--[a-z]/.test(own);
}
