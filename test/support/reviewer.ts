/** The reviewer of the tests, as a real program: see test/fixtures/reviewer.mjs. */
import { fileURLToPath } from 'node:url';

export const REVIEWER = fileURLToPath(new URL('../fixtures/reviewer.mjs', import.meta.url));
