/** The number of steps in migrations.ts, which are read only when a database has not taken them all. */
export const SCHEMA_VERSION = 10;
