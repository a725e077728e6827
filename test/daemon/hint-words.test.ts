/** Hints as they are told over HTTP and on the page: no flag of the command line, and nothing lost that has a word. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { hintFor, wordsOf } from '../../src/daemon/http/hint-words.ts';

const SOURCE = fileURLToPath(new URL('../../src', import.meta.url));
/** Whatever can throw below an operation. */
const LAYERS = ['api', 'daemon', 'lifecycle', 'process', 'runtime', 'store', 'supervisor'];

describe('a hint', () => {
  it.each([
    [
      'Join it: reeve attach web    End it: reeve stop web    Take over: add --on-live retire',
      'Join it: POST /v1/sessions/web/attach    End it: POST /v1/sessions/web/stop    Take over: add "onLive": "retire"',
      'Join it: reeve attach web    End it: reeve stop web    Take over: end it with “Retire…” first',
    ],
    [
      'Run this where the run lives; or, if you know that it is gone, add --assume-gone.',
      'Run this where the run lives; or, if you know that it is gone, add "assumeGone": true.',
      'Run this where the run lives; or, if you know that it is gone: `reeve kill SESSION --assume-gone`.',
    ],
    [
      'Look: reeve show web    If you know that it is gone: reeve kill web --assume-gone',
      'Look: GET /v1/sessions/web    If you know that it is gone: POST /v1/sessions/web/kill with "assumeGone": true',
      'Look: reeve show web    If you know that it is gone: reeve kill web --assume-gone',
    ],
    [
      'Grant more: add --max-tokens MORE, or: reeve budget set web --max-tokens MORE',
      'Grant more: add "budget": {"tokens": MORE}, or: POST /v1/sessions/web/budget with "tokens": MORE',
      'Grant more: reeve budget set web --max-tokens MORE',
    ],
    ['Add --harness codex or --harness code.', 'Add "harness": "codex" or "harness": "code".', undefined],
    [
      '`reeve ls --all` lists the sessions.',
      'GET /v1/sessions?range=all lists the sessions.',
      '`reeve ls --all` lists the sessions.',
    ],
    [
      'Join it: REEVE_HOME=/elsewhere reeve attach web',
      'Join it: REEVE_HOME=/elsewhere reeve attach web',
      'Join it: REEVE_HOME=/elsewhere reeve attach web',
    ],
    [
      'Nothing was changed. Give another one with --unheard-of.',
      'Nothing was changed.',
      'Nothing was changed.',
    ],
    ['Give another one with --unheard-of.', undefined, undefined],
  ])('%s', (hint, http, page) => {
    expect({ http: hintFor('http', hint), page: hintFor('page', hint), cli: hintFor('cli', hint) }).toEqual({
      http,
      page,
      cli: hint,
    });
  });

  it('is told in the words of HTTP to whoever does not say otherwise', () => {
    expect([undefined, '', 'cli', 'page', 'other'].map(wordsOf)).toEqual([
      'http',
      'http',
      'cli',
      'page',
      'http',
    ]);
  });
});

describe('every text of the source that names a flag or a verb', () => {
  const files = LAYERS.flatMap((layer) =>
    readdirSync(join(SOURCE, layer), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts') && name !== join('http', 'hint-words.ts'))
      .map((name) => join(SOURCE, layer, name)),
  );
  // Sentences only: words of a command line are no hints.
  const hints = files.flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/(?<![\w*])(['`])((?:\\.|(?!\1)[^\n])*)\1/g)]
      .map(([, , text = '']) => text.replaceAll(/\$\{[^}]*\}/g, 'x1').replaceAll('\\`', '`'))
      .filter((text) => /^[A-Z`].* /.test(text) && /--[a-z]|\breeve [a-z]/.test(text)),
  );

  it('has been found', () => {
    expect(hints.length).toBeGreaterThan(60);
  });

  it('keeps all of its clauses over HTTP, and has no flag and no verb that HTTP has too', () => {
    const gap = (text: string) => text.split(/(?<=\.)(?= [A-Z])|(?= {4}\S)/).length;
    const wrong = hints
      // A command of another program, of the daemon itself, of what only the terminal has, and what a reviewer is told
      // to type: none is an answer.
      .filter(
        (hint) =>
          !/unshare|--port|--replace|serve --detach|--verdict|add --stop|^To take Reeve out of use/.test(
            hint,
          ),
      )
      .map((hint) => [hint, hintFor('http', hint)] as const)
      .filter(
        ([hint, told]) =>
          told === undefined ||
          gap(told) !== gap(hint) ||
          /(^|[\s`(])--|(?<!REEVE_HOME=\S+ )\breeve (?!serve|open)\w/.test(told),
      );
    expect(wrong).toEqual([]);
  });
});
