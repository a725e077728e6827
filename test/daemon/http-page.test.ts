/** docs/http.md against what the daemon says of itself: its operations, what they take and answer, and its figures. */
import { execFile, spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { namedShapes, printedShapes, shapesIn } from '../docs/documented-shapes.ts';
import { codeIn, pageFrom, readPage, rowsOf } from '../docs/page.ts';
import type { Page } from '../docs/page.ts';
import { shapeFrom, shapeOf, sorted } from '../docs/shape.ts';
import type { JsonSchema, Shape } from '../docs/shape.ts';
import { CLI, createSandbox } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';
import { openDaemon } from './support.ts';
import type { Daemon } from './support.ts';

interface Content {
  readonly content: { readonly 'application/json': { readonly schema: unknown } };
}
interface OpenApi {
  readonly components: { readonly schemas: Readonly<Record<string, unknown>> };
  readonly paths: Readonly<
    Record<
      string,
      Readonly<
        Record<
          string,
          {
            readonly parameters?: readonly { readonly in: string; readonly name: string }[];
            readonly requestBody?: Content;
            readonly responses: { readonly 200: Content };
          }
        >
      >
    >
  >;
}
interface Documented {
  readonly query: readonly string[];
  readonly takes: Shape | null;
  readonly answers: Shape;
}

const page = readPage('docs/http.md');
const cli = readPage('docs/cli.md');
let sandbox: Sandbox;
let daemon: Daemon;
let known: Record<string, Documented>;
beforeAll(async () => {
  sandbox = createSandbox();
  daemon = await openDaemon(sandbox);
  known = operationsOf((await daemon.ask('GET', '/openapi.json')).json<OpenApi>());
});
afterAll(async () => {
  await daemon.stop();
  await sandbox.cleanUp();
});

function operationsOf({ paths, components }: OpenApi): Record<string, Documented> {
  /** In the place of a reference what it refers to. */
  const whole = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(whole);
    if (typeof value !== 'object' || value === null) return value;
    if ('$ref' in value) return whole(components.schemas[String(value.$ref).split('/').at(-1) ?? '']);
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, whole(each)]));
  };
  // As OpenAPI has it, which is JSON Schema.
  const shape = ({ content }: Content) =>
    sorted(shapeOf(whole(content['application/json'].schema) as JsonSchema));
  const all = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { parameters = [], requestBody, responses }]) => [
      `${method.toUpperCase()} ${path}`,
      {
        query: parameters
          .filter((each) => each.in === 'query')
          .map(({ name }) => name)
          .toSorted(),
        takes: requestBody === undefined ? null : shape(requestBody),
        answers: shape(responses[200]),
      },
    ]),
  );
  return Object.fromEntries(all) as Record<string, Documented>;
}

function documentedIn(of: Page): Record<string, Documented> {
  const named = namedShapes([of, cli]);
  const printed = printedShapes(cli);
  const shape = (cell: string) => sorted(shapeFrom(shapesIn(cell).join(' or '), named));
  const rows = rowsOf(of, 'operation').map(([operation = '', takes = '', answers = '']) => {
    const [name = '', query = ''] = (codeIn(operation)[0] ?? '').split('?');
    const verb = /^as `([^`]+)`$/.exec(answers)?.[1];
    return [
      name,
      {
        query: [...query.matchAll(/(\w+)=…/g)].map(([, each = '']) => each).toSorted(),
        takes: shapesIn(takes).length === 0 ? null : shape(takes),
        answers: verb === undefined ? shape(answers) : (printed[verb] ?? `no verb ${verb}`),
      },
    ];
  });
  return Object.fromEntries(rows) as Record<string, Documented>;
}

/** As in completion: left out by name where these are not, which they are in CI. */
const canAsk = ['curl', 'jq'].every((program) => spawnSync(program, ['--version']).error === undefined);

describe('docs/http.md', () => {
  it.skipIf(!canAsk)('has examples that answer, by curl and jq', async () => {
    mkdirSync(sandbox.path('bin'), { recursive: true });
    const reeve = `#!/bin/sh\nexec '${process.execPath}' '${CLI}' "$@"\n`;
    writeFileSync(sandbox.path('bin/reeve'), reeve, { mode: 0o755 });
    const example = page.blocks.find(({ text }) => text.includes('curl'))?.text ?? '';
    expect(example).toContain(':PORT/');
    const { stdout } = await promisify(execFile)(
      'sh',
      ['-euc', example.replaceAll('PORT', String(daemon.port))],
      { env: { ...sandbox.env, PATH: `${sandbox.path('bin')}:${sandbox.env['PATH']}` } },
    );
    const { text } = await daemon.ask('GET', '/v1/sessions');
    expect(stdout).toBe(text + text);
  });

  it('has every operation and no other, with its query, its body and its answer', () => {
    expect(documentedIn(page)).toEqual(known);
  });

  it('has every figure for Prometheus and no other', async () => {
    const { text } = await daemon.ask('GET', '/metrics');
    const figures = [...text.matchAll(/^# TYPE (reeve_\w+)/gm)].map(([, name = '']) => name);
    const documented = page.spans.flatMap(({ text: span }) => /^reeve_\w+/.exec(span)?.[0] ?? []);
    expect(documented.toSorted()).toEqual(figures.toSorted());
  });

  it.each([
    ['an operation that it lacks', /^\| `GET \/v1\/paths`.*\n/m, ''],
    ['an operation that there is not', '`GET /v1/paths`', '`GET /v1/places`'],
    ['a parameter that there is not', '?worker=…', '?worker=…&head=…'],
    ['a field of a body that it lacks', '`{text, queue?}`', '`{text}`'],
    ['a field of an answer that there is not', '`{command, host}`', '`{command, host, port}`'],
    ['the answer of another verb', 'as `paths`', 'as `scan`'],
  ])('is found out when it has not: %s', (_, from, to) => {
    const text = page.text.replace(from, to);
    expect(text).not.toBe(page.text);
    expect(documentedIn(pageFrom('changed', text))).not.toEqual(known);
  });
});
