import type { NotifySettings } from '../../supervisor/config.ts';
import { bell } from './bell.ts';
import type { Channel, ChannelName, Deliver, Environment, Terminal } from './channel.ts';
import { command } from './command.ts';
import { desktop } from './desktop.ts';
import { webhook } from './webhook.ts';

/** Those that the settings switch on. */
export function channelsFrom(
  settings: NotifySettings,
  environment: Environment,
  terminal: Terminal,
): readonly Channel[] {
  const { command: argv, webhook: address, webhookHeaders, webhookTokenEnv } = settings;
  const all: [ChannelName, Deliver | null][] = [
    ['command', argv === null ? null : command(argv, environment)],
    [
      'webhook',
      address === null
        ? null
        : webhook({ address, headers: webhookHeaders, tokenVariable: webhookTokenEnv, environment }),
    ],
    ['bell', settings.bell ? bell(terminal) : null],
    ['desktop', settings.desktop ? desktop(environment) : null],
  ];
  return all.flatMap(([name, deliver]) => (deliver === null ? [] : [{ name, deliver }]));
}
