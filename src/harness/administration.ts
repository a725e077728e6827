/**
 * What manages or prints something and ends: there is no conversation in it to own, and so no session is made for it.
 * A subcommand that serves others, or works for them in the background (`opencode serve`, `claude remote-control`), is none
 * of these, and neither is a word that only a newer harness knows.
 */
import type { HarnessName } from './adapter.ts';
import { listed } from './command-line.ts';

const CODEX = listed(`
  login logout mcp plugin completion update doctor debug apply a archive delete unarchive
  migrate-rollouts migrate-nfs-db features help
`);

export const ADMINISTRATION: Readonly<Record<Exclude<HarnessName, 'command'>, readonly string[]>> = {
  claude: listed(`
    auth auto-mode doctor help import install mcp plugin plugins project purge setup-token update upgrade
  `),
  codex: CODEX,
  gemini: listed('mcp extensions extension skills skill hooks hook'),
  opencode: listed(`
    completion mcp debug providers auth agent upgrade uninstall models stats export import session plugin
    plug db
  `),
  code: CODEX,
};

/** `words` are those of the command line, its subcommand first. */
export function isAdministration(harness: HarnessName, [command, verb]: readonly (string | null)[]): boolean {
  if (harness === 'command') return false;
  // `claude mcp serve`
  return ADMINISTRATION[harness].includes(command ?? '') && verb !== 'serve';
}
