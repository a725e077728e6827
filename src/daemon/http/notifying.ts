/** The operations about notifications, named as the verbs of the command line that do the same. */
import { z } from '@hono/zod-openapi';
import { muteSchema, notifyTestSchema } from '../../api/schemas.ts';
import { readConfig } from '../../supervisor/config.ts';
import { tryChannels } from '../notifications/try-channels.ts';
import { SESSION } from './looking.ts';
import { addOperation } from './operation.ts';
import type { App } from './operation.ts';
import type { Parts } from './parts.ts';

export function addNotifying(app: App, { reeve, context }: Parts): void {
  const muting = { method: 'post', group: 'Notifications', params: SESSION, answer: muteSchema } as const;
  addOperation(app, {
    ...muting,
    path: '/v1/sessions/{session}/mute',
    name: 'notifyMute',
    says: 'Send no notifications of a session, until a time or for good.',
    body: z
      .object({ until: z.iso.datetime({ offset: true }).nullable().default(null) })
      .strict()
      .openapi({ description: 'Null is for good.' }),
    does: ({ params, body }) =>
      reeve.mute(params.session, body.until === null ? null : Date.parse(body.until)),
  });
  addOperation(app, {
    ...muting,
    path: '/v1/sessions/{session}/unmute',
    name: 'notifyUnmute',
    says: 'End the mute of a session.',
    body: z.object({}).strict(),
    does: ({ params }) => reeve.unmute(params.session),
  });
  addOperation(app, {
    method: 'post',
    path: '/v1/notify/test',
    name: 'notifyTest',
    group: 'Notifications',
    says: 'Send a test message through every way that is configured, from where the daemon is.',
    body: z.object({}).strict(),
    answer: notifyTestSchema,
    // Read anew, so that what was just changed can be tried before the daemon is started again.
    does: () => tryChannels(readConfig(context.environment).notify, context.environment, process.stderr),
  });
}
