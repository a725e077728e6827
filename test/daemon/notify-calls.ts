import { mkdirSync, writeFileSync } from 'node:fs';
import type { Sandbox } from '../support/sandbox.ts';
import type { Call } from './review-calls.ts';
import type { Daemon } from './support.ts';

/** The operations about notifications, called rightly and wrongly. */
export function notifyCalls(at: () => { daemon: Daemon; sandbox: Sandbox }): Readonly<Record<string, Call>> {
  const post = (path: string, body: unknown = {}) => at().daemon.ask('POST', path, { body });
  const configure = (lines: string) => {
    const { sandbox } = at();
    mkdirSync(sandbox.path('.config/reeve'), { recursive: true });
    writeFileSync(sandbox.path('.config/reeve/config.toml'), `[notify]\n${lines}\n`);
  };
  return {
    notifyMute: {
      good: () => post('/v1/sessions/live/mute', { until: new Date(Date.now() + 3_600_000).toISOString() }),
      bad: () => post('/v1/sessions/live/mute', { until: '2026-01-01T00:00:00Z' }),
      code: 'usage',
    },
    notifyUnmute: {
      good: () => post('/v1/sessions/live/unmute'),
      bad: () => post('/v1/sessions/none/unmute'),
      code: 'not_found',
    },
    notifyTest: {
      good: () => (configure('command = ["true"]'), post('/v1/notify/test')),
      bad: () => (configure(''), post('/v1/notify/test')),
      code: 'not_configured',
    },
  };
}
