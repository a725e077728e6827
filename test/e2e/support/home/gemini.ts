import { DUMMY_KEY, installed, writeJsonIn } from './home.ts';
import type { Furnish } from './home.ts';

export const gemini: Furnish = ({ home }, modelUrl) => {
  writeJsonIn(home, '.gemini/settings.json', {
    security: { auth: { selectedType: 'gemini-api-key' }, folderTrust: { enabled: false } },
    general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
    model: { name: 'gemini-2.5-pro', disableLoopDetection: true },
    privacy: { usageStatisticsEnabled: false },
    telemetry: { enabled: false },
  });
  const freely = ['--yolo', '--output-format', 'stream-json'];
  const asking = ['--approval-mode', 'default'];
  return {
    program: [process.execPath, installed('@google', 'gemini-cli', 'bundle', 'gemini.js')],
    wrapper: [process.execPath, installed('.bin', 'gemini')],
    env: {
      GEMINI_API_KEY: DUMMY_KEY,
      GOOGLE_GEMINI_BASE_URL: modelUrl,
      // Otherwise the process that was started only watches a second one, which does everything.
      GEMINI_CLI_NO_RELAUNCH: 'true',
    },
    headless: (prompt) => ['-p', prompt, ...freely],
    headlessResume: (id, prompt) => ['-p', prompt, '--resume', id, ...freely],
    interactive: () => asking,
    interactiveResume: (id) => ['--resume', id, ...asking],
    withId: (id) => ['--session-id', id],
    ready: /Type your message/u,
  };
};
