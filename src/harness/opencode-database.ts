/** Asking opencode's own database, which it writes meanwhile; nothing is ever written to it. */
import { statSync } from 'node:fs';
import { DatabaseSync } from '@photostructure/sqlite';
import type { JsonObject } from './transcript.ts';

/** Another process writes the database meanwhile; a reader waits for it at most this long. */
const BUSY_MS = 1_000;

/** Throws when there is no database, or none that can be understood. */
export function askDatabase(path: string, sql: string, values: (string | number)[]): JsonObject[] {
  // To open a pipe in its place would wait for somebody to write to it.
  if (!statSync(path).isFile()) throw new Error(`${path} is no plain file.`);
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    database.exec(`pragma busy_timeout = ${BUSY_MS}`);
    return database.prepare(sql).all(...values);
  } finally {
    database.close();
  }
}
