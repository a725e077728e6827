/** Names the tests that were left out, and by what they need; with CI=true one of them fails the run. */
import type { Reporter, TestModule, Vitest } from 'vitest/node';
import { NEEDS } from './needs.ts';

export interface SkippedTest {
  readonly name: string;
  readonly tags: readonly string[];
}

/** By need, and in the end those that say none. */
export function told(skipped: readonly SkippedTest[]): readonly string[] {
  const needOf = ({ tags }: SkippedTest) => NEEDS.find(({ tag }) => tags.includes(tag));
  return [...NEEDS, undefined].flatMap((need) => {
    const names = skipped.filter((test) => needOf(test) === need).map(({ name }) => name);
    return names.length === 0
      ? []
      : [`${subject(names.length, need?.words)}:`, ...names.map((name) => `  ${name}`)];
  });
}

function subject(count: number, needed: string | undefined): string {
  const tests = count === 1 ? '1 test' : `${count} tests`;
  if (needed === undefined) return `${tests} skipped without a need`;
  return `${tests} ${count === 1 ? 'needs' : 'need'} ${needed}`;
}

export class SkippedTests implements Reporter {
  readonly #isCi: boolean;
  #isFiltered = false;

  constructor({ isCi }: { readonly isCi: boolean }) {
    this.#isCi = isCi;
  }

  /** Whoever asks for tests by name knows that the others are left out. */
  onInit({ config }: Vitest): void {
    this.#isFiltered = config.testNamePattern !== undefined;
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const skipped = modules.flatMap(skippedIn);
    if (!this.#isFiltered) for (const line of told(skipped)) console.log(line);
    if (!this.#isCi || skipped.length === 0) return;
    console.error('With CI=true no test may be skipped.');
    process.exitCode = 1;
  }
}

function skippedIn({ children, relativeModuleId }: TestModule): SkippedTest[] {
  return [...children.allTests('skipped')].map(({ fullName, tags }) => ({
    name: `${relativeModuleId} > ${fullName}`,
    tags,
  }));
}
