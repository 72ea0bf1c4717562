import { svelte } from '@sveltejs/vite-plugin-svelte'
import { defineConfig } from 'vite'

import { inShort } from './plugins/guide.ts'
import { leanLibraries } from './plugins/libraries.ts'
import { leanTemplates } from './plugins/templates.ts'

// The endpoint for `npm run dev`: `tandem serve` on its usual port.
const endpoint = 'http://127.0.0.1:8263'

export default defineConfig({
  plugins: [svelte({ compilerOptions: { runes: true } }), inShort, leanLibraries, leanTemplates],
  base: './',
  build: {
    target: 'safari17',
    assetsInlineLimit: 0, // the policy lets the page load files, not data
    modulePreload: { polyfill: false },
  },
  server: { proxy: { '/v1': endpoint, '/app': endpoint, '/health': endpoint } },
})
