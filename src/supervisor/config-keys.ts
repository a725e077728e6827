/**
 * Every key of config.toml: one entry here makes it known, typed, checked, and asked for in docs/config.md, which a test
 * compares with this table. A table or a key that a later part needs is added here and nowhere else.
 */
import { NOTABLE_STATUSES, TOLD_UNASKED } from '../lifecycle/notification.ts';
import { quietHoursFrom } from '../lifecycle/quiet-hours.ts';
import type { QuietHours } from '../lifecycle/quiet-hours.ts';
import { BUDGET_KINDS, isLimit, limitWords, ON_EXCEEDED } from '../lifecycle/session-budget.ts';
import type { Limits } from '../lifecycle/session-budget.ts';
import {
  argv,
  kindOf,
  mapOfTexts,
  numberBetween,
  oneOf,
  subsetOf,
  tableOfNumbers,
  text,
  trueOrFalse,
  wholeNumber,
} from './config-kinds.ts';
import type { Kind } from './config-kinds.ts';
import { currencyCode, prices } from './config-prices.ts';

export interface ConfigKey<T> {
  readonly kind: Kind<T>;
  readonly default: T;
  /** What it is, as the documentation says it. */
  readonly says: string;
}

const quietHours: Kind<QuietHours | null> = kindOf(
  'two different times of the day, as in "22:00-07:00"',
  (value) => (typeof value === 'string' ? (quietHoursFrom(value) ?? undefined) : undefined),
);

/** None until they are set. */
const limits: Kind<Limits | null> = tableOfNumbers(BUDGET_KINDS, isLimit, limitWords);

export const CONFIG_KEYS = {
  notify: {
    on: {
      kind: subsetOf(NOTABLE_STATUSES),
      default: TOLD_UNASKED,
      says: 'the changes that are told',
    },
    command: {
      kind: argv,
      default: null,
      says: 'a program to start for each notification, without a shell',
    },
    webhook: {
      kind: text('an http or https address', isHttpAddress),
      default: null,
      says: 'an address to which each notification is posted as JSON',
    },
    webhook_headers: {
      kind: mapOfTexts('a table of HTTP header names and their texts', refuseHeader),
      default: {},
      says: 'headers that the webhook is sent besides its own',
    },
    webhook_token_env: {
      kind: text('the name of an environment variable', (name) => /^[A-Za-z_]\w*$/.test(name)),
      default: null,
      says: 'the environment variable whose value is sent to the webhook as its bearer token',
    },
    bell: {
      kind: trueOrFalse,
      default: false,
      says: 'ring the bell of the terminal in which the daemon runs',
    },
    desktop: {
      kind: trueOrFalse,
      default: false,
      says: 'show it on the desktop, by `notify-send` or `osascript`',
    },
    quiet: {
      kind: quietHours,
      default: null,
      says: 'hours in which nothing is sent, by the local time of the daemon; what happens then is told afterwards',
    },
    timeout_seconds: {
      kind: wholeNumber(1, 60),
      default: 10,
      says: 'how long one attempt to deliver may take',
    },
  },
  prices: {
    currency: {
      kind: currencyCode,
      default: 'USD',
      says: 'what the prices are in',
    },
    models: {
      kind: prices,
      default: [],
      says: 'what tokens cost; without a price, only tokens are told',
    },
  },
  budget: {
    run: {
      kind: limits,
      default: null,
      says: 'what one run and all below it may spend; a restart grants no more',
    },
    session: {
      kind: limits,
      default: null,
      says: 'what all runs of a session and all below them may spend, unless it was set for the session',
    },
    tree: {
      kind: limits,
      default: null,
      says: 'what a run that no other started may spend, together with all below it',
    },
    day: {
      kind: limits,
      default: null,
      says: 'what everything on this store may spend on one day, in UTC',
    },
    warn_at: {
      kind: numberBetween(0.01, 1),
      default: 0.8,
      says: 'from which part of a limit on a warning is given',
    },
    on_exceeded: {
      kind: oneOf(ON_EXCEEDED),
      default: 'end',
      says: 'what happens at a limit: the run is ended, or a person is asked',
    },
  },
  review: {
    reviewer: {
      kind: argv,
      default: null,
      says: 'the program that reviews when `review trigger` names none, started without a shell',
    },
  },
} as const satisfies Record<string, Record<string, ConfigKey<unknown>>>;

type Keys = typeof CONFIG_KEYS;
type ValueOf<Entry> = Entry extends { readonly kind: Kind<infer T> } ? T : never;
type CamelCase<Name> = Name extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<CamelCase<Rest>>}`
  : Name;

/** The configuration as the code has it: `timeout_seconds` of `[notify]` is `notify.timeoutSeconds`. */
export type Config = {
  readonly [Table in keyof Keys as CamelCase<Table>]: {
    readonly [Name in keyof Keys[Table] as CamelCase<Name>]: ValueOf<Keys[Table][Name]>;
  };
};

export type NotifySettings = Config['notify'];

function isHttpAddress(address: string): boolean {
  if (!URL.canParse(address)) return false;
  const { protocol } = new URL(address);
  return protocol === 'http:' || protocol === 'https:';
}

/** These are not the user's to change. */
const FRAMING = new Set(['connection', 'content-length', 'content-type', 'host', 'transfer-encoding']);

/** As RFC 9110 has it: a token, and a value without control characters, so that no header can begin another. */
function refuseHeader(name: string, value: string): string | null {
  if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name)) return 'is not a name that a header can have';
  if (FRAMING.has(name.toLowerCase())) return 'says how the message is framed, which cannot be set';
  return /^[\t\x20-\x7e]*$/.test(value) ? null : 'must be a text of printable ASCII characters';
}
