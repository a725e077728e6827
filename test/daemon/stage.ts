/** A notifier in a directory of the test's own, with time that the test lets pass, and what it logged. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SessionDescription } from '../../src/daemon/notifications/message.ts';
import { openNotifier } from '../../src/daemon/notifications/notifier.ts';
import type { Notifier, NotifierOptions } from '../../src/daemon/notifications/notifier.ts';
import type { NotableEvent } from '../../src/lifecycle/notification.ts';
import type { NotifySettings } from '../../src/supervisor/config.ts';
import { manualClock } from './manual-clock.ts';
import type { ManualClock } from './manual-clock.ts';

export const NOW_MS = Date.parse('2026-05-04T10:00:00Z');

/** A session whose run lives in tmux. */
export const WEB: SessionDescription = {
  name: 'web',
  harness: 'claude',
  cwd: '/src/web',
  run: { mode: 'tmux', isLive: true },
};

export const OFF: NotifySettings = {
  on: ['needs-input', 'failed', 'lost'],
  command: null,
  webhook: null,
  webhookHeaders: {},
  webhookTokenEnv: null,
  bell: false,
  desktop: false,
  quiet: null,
  timeoutSeconds: 10,
};

export interface Stage {
  readonly root: string;
  readonly directory: string;
  readonly clock: ManualClock;
  readonly log: string[];
  open(settings: Partial<NotifySettings>, more?: Partial<NotifierOptions>): Notifier;
  /** What is on disk. */
  kept(): { cursor: number | null; queues: Record<string, { waiting: unknown[]; missed: number }> };
  cleanUp(): Promise<void>;
}

export function createStage(): Stage {
  const root = mkdtempSync(join(tmpdir(), 'reeve-notify-'));
  const directory = join(root, 'notifications');
  const clock = manualClock(NOW_MS);
  const log: string[] = [];
  const opened: Notifier[] = [];
  return {
    root,
    directory,
    clock,
    log,
    open: (settings, more = {}) => {
      const notifier = openNotifier({
        settings: { ...OFF, ...settings },
        directory,
        describe: async () => WEB,
        log: (text) => log.push(text),
        environment: { PATH: process.env['PATH'], HOME: root },
        terminal: { isTTY: false, write: () => {} },
        clock,
        // Later on the store has grown.
        latestSeq: opened.length === 0 ? 0 : 1_000,
        ...more,
      });
      opened.push(notifier);
      return notifier;
    },
    kept: () => {
      const path = join(directory, 'outbox.json');
      const text = existsSync(path) ? readFileSync(path, 'utf8') : '{"cursor":null,"queues":{}}';
      return JSON.parse(text) as ReturnType<Stage['kept']>; // Written by the code under test, compared by the test.
    },
    cleanUp: async () => {
      await Promise.all(opened.map((notifier) => notifier.close()));
      rmSync(root, { recursive: true, force: true });
    },
  };
}

export function failed(seq: number, runId = `r-${seq}`): NotableEvent {
  const data = { outcome: 'failed', exitCode: 3, signal: null, endedAtMs: NOW_MS };
  return { seq, atMs: NOW_MS, sessionId: 's-1', runId, kind: 'run.ended', data };
}

export function asks(seq: number, runId = 'r-1', waitingFor = 'permission to use Bash'): NotableEvent {
  const data = { waitingFor, atMs: NOW_MS };
  return { seq, atMs: NOW_MS, sessionId: 's-1', runId, kind: 'harness.input.needed', data };
}

export function started(seq: number): NotableEvent {
  return { seq, atMs: NOW_MS, sessionId: 's-1', runId: 'r-1', kind: 'run.started', data: {} };
}
