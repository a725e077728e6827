/** The ways in which a person can be told, each with a queue and a worker of its own. */
import type { Attempt } from '../../lifecycle/delivery.ts';
import type { Message } from './message.ts';

export const CHANNEL_NAMES = ['command', 'webhook', 'bell', 'desktop'] as const;
export type ChannelName = (typeof CHANNEL_NAMES)[number];

/**
 * One attempt. It never rejects, and settles promptly once the deadline is over. What it says of a failure goes to a
 * log: no address, no header, no value of the environment, nothing that the receiver answered.
 */
export type Deliver = (message: Message, deadline: AbortSignal) => Promise<Attempt>;

export interface Channel {
  readonly name: ChannelName;
  readonly deliver: Deliver;
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** What a bell is rung on. */
export interface Terminal {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}
