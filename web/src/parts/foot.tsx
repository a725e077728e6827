import { useEffect, useState } from 'preact/hooks';
import type { DaemonView } from '../../../src/api/http-views.ts';
import { DAEMON_PATH } from '../api/paths.ts';
import { get } from '../api/request.ts';
import { connection } from '../live/connection.ts';
import { hostName } from '../words/short.ts';
import { clock } from '../words/time.ts';

/** Whose sessions these are; another after every connection, for it may be a newer daemon. */
export function Foot() {
  const [daemon, setDaemon] = useState<DaemonView | null>(null);
  const { is } = connection.value;
  useEffect(() => {
    // That nobody answers is told by the connection's own bar.
    if (is === 'live') get<DaemonView>(DAEMON_PATH).then(setDaemon, () => setDaemon(null));
  }, [is]);
  return (
    <footer class="foot dim">
      {daemon !== null && (
        <p>
          {daemon.user} on {hostName(daemon.host)}, Reeve {daemon.version}, daemon {daemon.pid} since{' '}
          {clock(Date.parse(daemon.startedAt))}, store <span class="mono">{daemon.store}</span>
        </p>
      )}
    </footer>
  );
}
