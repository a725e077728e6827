/**
 * Tests that wait for a time of the product's, such as a grace or a limit, wait for it together: each has a state directory
 * of its own, and none of them needs the processor meanwhile.
 */
import { describe, test } from 'vitest';
import { openPanes } from '../fixtures/stand-in-tui.ts';
import type { Panes } from '../fixtures/stand-in-tui.ts';
import { createSandbox } from './sandbox.ts';
import type { Sandbox } from './sandbox.ts';

interface OwnPlace {
  readonly sandbox: Sandbox;
  /** Of the same sandbox; whoever uses them needs tmux. */
  readonly panes: Panes;
}

export const waiting = test.extend<OwnPlace>({
  // oxlint-disable-next-line no-empty-pattern -- vitest reads from the pattern which fixtures this one needs.
  sandbox: async ({}, use) => {
    const sandbox = createSandbox();
    await use(sandbox);
    await sandbox.cleanUp();
  },
  panes: async ({ sandbox }, use) => {
    const panes = openPanes(sandbox);
    await use(panes);
    await panes.cleanUp();
  },
});

export const sideBySide = describe.concurrent;
