/**
 * opencode has no hook settings; it loads plugins. What is installed only loads the one that is part of Reeve
 * (src/hook/opencode-plugin.mjs), so that it need not be installed again with each version.
 */
import { pathToFileURL } from 'node:url';

const FIRST_LINE =
  '// Reeve: tells it how sessions stand. `reeve hooks remove opencode` takes this file away.';

export function isOurPlugin(text: string): boolean {
  return text.startsWith(FIRST_LINE);
}

/** opencode calls everything that a plugin's file exports, so there is exactly one export. */
export function pluginText(plugin: string): string {
  return `${FIRST_LINE}
const PLUGIN = ${JSON.stringify(pathToFileURL(plugin).href)};

export const Reeve = async (input) => {
  // What Reeve itself starts brings the plugin along.
  if (process.env.REEVE_REPORT_TO !== undefined) return {};
  try {
    const { Reeve: load } = await import(PLUGIN);
    return await load(input);
  } catch {
    // Reeve is away or broken: opencode goes on.
    return {};
  }
};
`;
}
