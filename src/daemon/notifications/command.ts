/** Any program of the user's, with the message as JSON on its input and in its environment. */
import type { Deliver, Environment } from './channel.ts';
import { runProgram } from './program.ts';

export function command(argv: readonly string[], environment: Environment): Deliver {
  return (message, deadline) =>
    runProgram({
      argv,
      environment: {
        ...environment,
        REEVE_EVENT_STATUS: message.status,
        REEVE_EVENT_SESSION: message.session ?? message.sessionId ?? '',
        REEVE_EVENT_RUN: message.run ?? '',
        REEVE_EVENT_TEXT: message.text,
        REEVE_EVENT_NEXT: message.next,
        REEVE_EVENT_KEY: String(message.key),
      },
      input: `${JSON.stringify(message)}\n`,
      deadline,
    });
}
