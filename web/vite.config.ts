import { fileURLToPath } from 'node:url';
import { preact } from '@preact/preset-vite';
import { defineConfig } from 'vite';
import type { Plugin } from 'vite';

/** Nothing is painted before the page has run, so a chosen theme does not flash up as the other one. */
const paintOnce: Plugin = {
  name: 'paint-once',
  transformIndexHtml: {
    order: 'post',
    handler: (html) => html.replace('<script type="module"', '<script blocking="render" type="module"'),
  },
};

export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  // The server answers /s/… with the same page, so what it loads is named from the root.
  base: '/',
  plugins: [preact({ prefreshEnabled: true, devToolsEnabled: false, reactAliasesEnabled: false }), paintOnce],
  build: {
    outDir: fileURLToPath(new URL('../dist/web', import.meta.url)),
    emptyOutDir: true,
    target: 'es2022',
    // Those that know light-dark(), since the spring of 2024.
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    // An inlined asset is a data: address, which the content security policy refuses.
    assetsInlineLimit: 0,
    // It would inject an inline script, for browsers that cannot run the rest anyway.
    modulePreload: { polyfill: false },
  },
  server: {
    host: '127.0.0.1',
    // `tsx test/web/fake-daemon.ts 4173`, or a daemon.
    proxy: { '/v1': process.env['REEVE_PAGE_API'] ?? 'http://127.0.0.1:4173' },
  },
});
