/** Reading requests whose shape is another program's business: what is not there is empty, never an exception. */
export function at(value: unknown, ...keys: readonly string[]): unknown {
  let found = value;
  for (const key of keys) {
    if (typeof found !== 'object' || found === null) return undefined;
    found = (found as Record<string, unknown>)[key]; // Any object can be asked for any key.
  }
  return found;
}

export function listAt(value: unknown, ...keys: readonly string[]): readonly unknown[] {
  const found = at(value, ...keys);
  return Array.isArray(found) ? found : [];
}

export function textAt(value: unknown, ...keys: readonly string[]): string {
  const found = at(value, ...keys);
  return typeof found === 'string' ? found : '';
}

/** The smallest value that a JSON schema accepts, for requests that want data and no prose. */
export function smallest(schema: unknown): unknown {
  const choices = listAt(schema, 'enum');
  if (choices.length > 0) return choices[0];
  const type = textAt(schema, 'type').toLowerCase();
  if (type === 'object') {
    const properties = at(schema, 'properties') ?? {};
    return Object.fromEntries(Object.entries(properties).map(([key, value]) => [key, smallest(value)]));
  }
  if (type === 'array') return [];
  if (type === 'boolean') return false;
  if (type === 'number' || type === 'integer') return 0;
  return 'ok';
}
