import { expect, it } from 'vitest';
import { STEPS } from '../../src/store/migrations.ts';
import { SCHEMA_VERSION } from '../../src/store/schema-version.ts';

it('the version of the schema is the number of its steps', () => {
  expect(SCHEMA_VERSION).toBe(STEPS.length);
});
