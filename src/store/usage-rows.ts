/** The five numbers of the ledger as columns, and many rows of them at once. */
import { TOKEN_KINDS, tokensFrom } from '../lifecycle/usage.ts';
import type { TokenKind, Tokens, UsagePosition } from '../lifecycle/usage.ts';
import type { Row, Sql, SqlValue } from './sql.ts';

const COLUMN_OF: Readonly<Record<TokenKind, string>> = {
  input: 'input',
  output: 'output',
  cacheRead: 'cache_read',
  cacheWrite: 'cache_write',
  reasoning: 'reasoning',
};
export const COLUMNS = TOKEN_KINDS.map((kind) => COLUMN_OF[kind]);
/** So many rows are written by one statement, or fewer by halves: few different statements, and few round trips. */
export const ROWS_A_STATEMENT = 64;

interface Upsert {
  readonly table: string;
  readonly key: readonly string[];
  readonly columns: readonly string[];
  /** What a number becomes where there is a row already. */
  readonly onConflict: (column: string) => string;
  readonly rows: readonly { readonly values: readonly SqlValue[]; readonly tokens: Tokens }[];
}

export async function upsert(sql: Sql, { table, key, columns, onConflict, rows }: Upsert): Promise<void> {
  const all = [...key, ...columns, ...COLUMNS];
  const slots = `(${all.map(() => '?').join(', ')})`;
  const changes = COLUMNS.map((column) => `${column} = ${onConflict(column)}`).join(', ');
  for (let at = 0; at < rows.length;) {
    let count = ROWS_A_STATEMENT;
    while (count > rows.length - at) count /= 2;
    const some = rows.slice(at, at + count);
    await sql.run(
      `insert into ${table} (${all.join(', ')}) values ${some.map(() => slots).join(', ')}
       on conflict (${key.join(', ')}) do update set ${changes}`,
      some.flatMap(({ values, tokens }) => [...values, ...TOKEN_KINDS.map((kind) => tokens[kind])]),
    );
    at += count;
  }
}

/** PostgreSQL answers with a number of any length, which is none to JavaScript. */
export function sumOf(expression: string): string {
  return `cast(sum(${expression}) as bigint)`;
}

export function tokensOf(row: Row): Tokens {
  return tokensFrom((kind) => Number(row[COLUMN_OF[kind]]));
}

export function positionOf(row: Row): UsagePosition {
  return {
    identity: String(row['identity']),
    offset: Number(row['offset_bytes']),
    state: String(row['state']),
  };
}
