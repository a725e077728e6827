/**
 * The shape of a JSON value, as a schema has it and as docs/cli.md writes it down: `{name, argv[], run: Run, more?}`.
 * `[]` behind a name is a list of plain values, `[Run]` a list of shapes, `?` a field that may be missing, `or` parts shapes,
 * `...Run` are all its fields, and `{…: Run}` has any names. A capitalised word is a shape of the page's own table. Whether a value may be null, and what
 * a plain value is, is told by the schema only.
 */
import { z } from '@hono/zod-openapi';

export type Shape =
  | 'plain'
  | 'plain list'
  | { readonly list: Shape }
  | { readonly each: Shape }
  | { readonly or: readonly Shape[] }
  | { readonly fields: Readonly<Record<string, Shape>> };

export interface JsonSchema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly string[];
  readonly const?: unknown;
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly items?: JsonSchema;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | JsonSchema;
}

export function jsonSchemaOf(schema: z.ZodType): JsonSchema {
  // As JSON Schema has it, which is wider than what is read of it here.
  return z.toJSONSchema(schema) as JsonSchema;
}

export function shapeOf(schema: JsonSchema): Shape {
  const options = schema.anyOf ?? schema.oneOf;
  if (options !== undefined) return eitherOf(options.filter(({ type }) => type !== 'null').map(shapeOf));
  // In OpenAPI what may be null too has two types.
  if ([schema.type].flat().includes('array')) {
    const of = shapeOf(schema.items ?? {});
    return of === 'plain' ? 'plain list' : { list: of };
  }
  if (schema.properties !== undefined) {
    const fields = Object.entries(schema.properties).map(([name, of]) => [
      schema.required?.includes(name) === true ? name : `${name}?`,
      shapeOf(of),
    ]);
    return { fields: Object.fromEntries(fields) as Record<string, Shape> };
  }
  if (typeof schema.additionalProperties !== 'object') return 'plain';
  const each = shapeOf(schema.additionalProperties);
  return each === 'plain' ? 'plain' : { each };
}

/** In one order, whichever they were written in. */
function eitherOf(shapes: readonly Shape[]): Shape {
  const byText = new Map(shapes.map((shape) => [JSON.stringify(sorted(shape)), shape]));
  const all = [...byText.keys()].toSorted().flatMap((key) => byText.get(key) ?? []);
  return all.length === 1 ? (all[0] ?? 'plain') : all.length === 0 ? 'plain' : { or: all };
}

export function sorted(shape: Shape): Shape {
  if (typeof shape === 'string') return shape;
  if ('list' in shape) return { list: sorted(shape.list) };
  if ('each' in shape) return { each: sorted(shape.each) };
  if ('or' in shape) return { or: shape.or.map(sorted) };
  const fields = Object.entries(shape.fields).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return { fields: Object.fromEntries(fields.map(([name, of]) => [name, sorted(of)])) };
}

/** Throws with what it does not understand. */
export function shapeFrom(text: string, named: (name: string) => Shape): Shape {
  const rest = text.match(/(?:\.\.\.)?[\w…]+(?:\[\])?\??|[{}[\],:]|\S/g) ?? [];
  const take = (wanted: string) => {
    const token = rest.shift();
    if (token !== wanted) throw new Error(`"${token ?? 'the end'}" is not "${wanted}" in ${text}`);
  };
  const one = (): Shape => {
    const token = rest.shift() ?? '';
    if (/^[A-Z]\w*$/.test(token)) return named(token);
    if (token === '[') {
      const list = any();
      take(']');
      return { list };
    }
    if (token === '{') return fields();
    throw new Error(`"${token}" is no shape in ${text}`);
  };
  const any = (): Shape => {
    const all = [one()];
    while (rest[0] === 'or') {
      rest.shift();
      all.push(one());
    }
    return eitherOf(all);
  };
  const fields = (): Shape => {
    const found: Record<string, Shape> = {};
    while (rest[0] !== '}') {
      if (rest[0]?.startsWith('...') === true) {
        const all = named(rest.shift()?.slice(3) ?? '');
        if (typeof all === 'string' || !('fields' in all)) throw new Error(`... of no fields in ${text}`);
        Object.assign(found, all.fields);
        if (rest[0] !== ',') break;
        rest.shift();
        continue;
      }
      const [, name = '', isList, optional = ''] = /^([\w…]+?)(\[\])?(\?)?$/.exec(rest.shift() ?? '') ?? [];
      const isShape = rest[0] === ':';
      if (isShape) rest.shift();
      const of = isShape ? any() : isList === undefined ? 'plain' : 'plain list';
      if (name === '…') {
        take('}');
        return { each: of };
      }
      if (name === '' || name in found) throw new Error(`"${name}" is no field of its own in ${text}`);
      found[`${name}${optional}`] = of;
      if (rest[0] !== ',') break;
      rest.shift();
    }
    take('}');
    return { fields: found };
  };
  const shape = any();
  if (rest.length > 0) throw new Error(`"${rest.join(' ')}" is left over in ${text}`);
  return shape;
}

/** Every field that has only certain words, with those: `status: done, failed`. */
export function wordsOf(schema: JsonSchema, field = ''): string[] {
  const options = schema.anyOf ?? schema.oneOf ?? [];
  const apart = discriminators(options);
  const below = [
    ...apart.map(([name, words]) => asText(name, words)),
    ...options.flatMap((each) => wordsOf(without(each, new Set(apart.map(([name]) => name))), field)),
    ...(schema.items === undefined ? [] : wordsOf(schema.items, field)),
    ...Object.entries(schema.properties ?? {}).flatMap(([name, of]) => wordsOf(of, name)),
    ...(typeof schema.additionalProperties === 'object' ? wordsOf(schema.additionalProperties, field) : []),
  ];
  return schema.enum === undefined ? below : [asText(field, schema.enum), ...below];
}

function asText(field: string, words: readonly string[]): string {
  return `${field}: ${words.toSorted().join(', ')}`;
}

/** The fields by whose word several shapes are told apart, with all their words. */
function discriminators(options: readonly JsonSchema[]): [field: string, words: string[]][] {
  const all = options.flatMap(({ properties = {} }) => Object.entries(properties));
  const names = new Set(all.filter(([, of]) => typeof of.const === 'string').map(([name]) => name));
  return [...names].map((name) => [
    name,
    all.filter(([each]) => each === name).flatMap(([, of]) => of.enum ?? [String(of.const)]),
  ]);
}

function without(schema: JsonSchema, names: ReadonlySet<string>): JsonSchema {
  const left = Object.entries(schema.properties ?? {}).filter(([name]) => !names.has(name));
  return { ...schema, properties: Object.fromEntries(left) };
}
