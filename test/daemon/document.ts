/** What the tests read of the API's own documentation. */
export interface Document {
  readonly openapi: string;
  readonly paths: Readonly<
    Record<string, Readonly<Record<string, { readonly operationId: string; readonly requestBody?: unknown }>>>
  >;
}
