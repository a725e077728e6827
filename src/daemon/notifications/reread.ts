/** A notifier whose settings are read again and again, so that an edit of the configuration takes effect in a running daemon. */
import type { NotableEvent } from '../../lifecycle/notification.ts';
import type { NotifySettings } from '../../supervisor/config.ts';
import type { Notifier } from './notifier.ts';

export interface RereadNotifier extends Notifier {
  /**
   * Goes on by what the settings are now, once what is being sent has ended, and says whether they are others. Throws where
   * they cannot be read, and goes on as before.
   */
  reread(): Promise<string>;
}

export function openRereadNotifier(
  read: () => NotifySettings,
  /** `again`: the outbox is that of the one before. */
  open: (settings: NotifySettings, how: 'first' | 'again') => Notifier,
): RereadNotifier {
  let settings = read();
  let current = open(settings, 'first');
  /** What comes while nobody is there to take it. */
  let held: Parameters<Notifier['take']>[] | null = null;
  return {
    take: (event: NotableEvent, how) => {
      if (held === null) current.take(event, how);
      else held.push([event, how]);
    },
    health: () => current.health(),
    lastSeq: () => current.lastSeq(),
    close: () => current.close(),
    async reread() {
      const next = read();
      if (JSON.stringify(next) === JSON.stringify(settings)) return 'as before';
      // Also what is held since an attempt that failed half-way.
      held ??= [];
      await current.close();
      current = open(next, 'again');
      settings = next;
      for (const each of held) current.take(...each);
      held = null;
      return 'changed';
    },
  };
}
