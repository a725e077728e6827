/** Sends a test message through every way that is configured, once each, and says what became of it. */
import type { NotifyTestView } from '../../api/http-views.ts';
import { ReeveError } from '../../api/errors.ts';
import type { NotifySettings } from '../../supervisor/config.ts';
import type { Environment, Terminal } from './channel.ts';
import { channelsFrom } from './channels.ts';
import { systemClock, withDeadline } from './clock.ts';
import type { Message } from './message.ts';

/** Neither a daemon nor a store is needed, and quiet hours do not count: whoever asks for it is there. */
export async function tryChannels(
  settings: NotifySettings,
  environment: Environment,
  terminal: Terminal,
): Promise<NotifyTestView> {
  const channels = channelsFrom(settings, environment, terminal);
  if (channels.length === 0) {
    throw new ReeveError('not_configured', 'No way to notify is configured.', {
      hint: 'Set command, webhook, bell or desktop below [notify] in config.toml; docs/config.md has an example.',
    });
  }
  const message = testMessage(systemClock.nowMs());
  return {
    channels: await Promise.all(
      channels.map(async ({ name, deliver }) => {
        const attempt = await withDeadline(systemClock, settings.timeoutSeconds * 1_000, (deadline) =>
          deliver(message, deadline),
        );
        return attempt.is === 'delivered'
          ? { name, sent: true, because: null }
          : { name, sent: false, because: attempt.because };
      }),
    ),
  };
}

function testMessage(nowMs: number): Message {
  const next = 'There is nothing to do.';
  return {
    key: 0,
    status: 'test',
    session: null,
    sessionId: null,
    run: null,
    harness: null,
    directory: null,
    at: new Date(nowMs).toISOString(),
    text: `This is a test: Reeve reaches you this way. ${next}`,
    next,
    budget: null,
    missed: 0,
  };
}
