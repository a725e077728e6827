/** The API's documentation as a page, made from its OpenAPI; it loads nothing. */
interface Documented {
  readonly info: { readonly title: string; readonly version: string; readonly description?: string };
  readonly paths?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly components?: { readonly schemas?: Readonly<Record<string, unknown>> };
}

interface DocumentedOperation {
  readonly operationId?: string;
  readonly summary?: string;
  readonly description?: string;
  readonly tags?: readonly string[];
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly required?: boolean;
    readonly description?: string;
    readonly schema?: unknown;
  }[];
  readonly requestBody?: { readonly content?: Readonly<Record<string, { readonly schema?: unknown }>> };
  readonly responses?: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema?: unknown }>> }>
  >;
}

/** Beside the page, whose policy lets nothing inline in. */
export const DOCS_STYLE = `
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
code, pre { font: 13px/1.5 ui-monospace, monospace; }
pre { overflow: auto; padding: .75rem; border: 1px solid color-mix(in srgb, currentColor 20%, transparent); border-radius: 6px; }
details { border-top: 1px solid color-mix(in srgb, currentColor 20%, transparent); padding: .5rem 0; }
summary { cursor: pointer; } summary code { font-weight: 600; } h2 { margin-top: 2rem; }
`;

export function docsPage(openApi: object): string {
  // As the generator writes it; of its types only this much is used.
  const document = openApi as Documented;
  const operations = Object.entries(document.paths ?? {}).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path,
      // As the generator of the document writes it.
      ...(operation as DocumentedOperation),
    })),
  );
  const groups = [...new Set(operations.map(({ tags }) => tags?.[0] ?? 'Other'))];
  const body = groups.map((group) => {
    const members = operations.filter(({ tags }) => (tags?.[0] ?? 'Other') === group);
    return `<h2>${escaped(group)}</h2>${members.map(renderOperation).join('')}`;
  });
  const schemas = Object.entries(document.components?.schemas ?? {}).map(
    ([name, schema]) =>
      `<details id="${escaped(name)}"><summary><code>${escaped(name)}</code></summary>${json(schema)}</details>`,
  );
  const { title, version, description = '' } = document.info;
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${escaped(title)} API</title><link rel="stylesheet" href="/docs.css"></head><body><main>
<h1>${escaped(title)} API <small>${escaped(version)}</small></h1><p>${escaped(description)}</p>
<p>Over the socket in the state directory nothing more is needed: <code>curl --unix-socket "$(reeve paths --json | jq -r .home)/daemon/socket" http://localhost/v1/sessions</code>.
Over the loopback, send the token of <code>daemon/token</code> as <code>Authorization: Bearer</code>. Inside a run, <code>Bearer $REEVE_RUN.$REEVE_TOKEN</code> speaks for that run alone.
The machine-readable form is <a href="/openapi.json">openapi.json</a>.</p>
${body.join('\n')}<h2>Shapes</h2>${schemas.join('\n')}</main></body></html>`;
}

function renderOperation(operation: DocumentedOperation & { method: string; path: string }): string {
  const { method, path, operationId = '', summary = '', description, parameters = [] } = operation;
  const parts = [
    description === undefined ? '' : `<p>${escaped(description)}</p>`,
    parameters.length === 0 ? '' : `<ul>${parameters.map(renderParameter).join('')}</ul>`,
    titled('Body', operation.requestBody?.content?.['application/json']?.schema),
    titled('Answer', operation.responses?.['200']?.content?.['application/json']?.schema),
  ];
  return `<details><summary><code>${method} ${escaped(path)}</code> — ${escaped(summary)} <small>(${escaped(operationId)})</small></summary>${parts.join('')}</details>`;
}

function renderParameter({
  name,
  in: place,
  required,
  description = '',
  schema,
}: NonNullable<DocumentedOperation['parameters']>[number]): string {
  const need = required === true ? ', needed' : '';
  return `<li><code>${escaped(name)}</code> (${escaped(place)}${need}) ${escaped(description)} <code>${escaped(JSON.stringify(schema))}</code></li>`;
}

function titled(title: string, schema: unknown): string {
  return schema === undefined ? '' : `<p>${title}</p>${json(schema)}`;
}

function json(value: unknown): string {
  const text = escaped(JSON.stringify(value, null, 2));
  return `<pre>${text.replaceAll(/#\/components\/schemas\/(\w+)/g, '<a href="#$1">$1</a>')}</pre>`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
