import { svelte } from '@sveltejs/vite-plugin-svelte'
import { defineConfig } from 'vite'

import { inShort } from './plugins/guide.ts'

// The endpoint for `npm run dev`: `tandem serve` on its usual port.
const endpoint = 'http://127.0.0.1:8263'

export default defineConfig({
  plugins: [svelte({ compilerOptions: { runes: true } }), inShort],
  base: './',
  build: {
    target: 'safari17',
    assetsInlineLimit: 0, // the policy lets the page load files, not data
    modulePreload: { polyfill: false },
    manifest: true, // build/ui weighs the pages by it
    // A file of its own runs before what the pages share, so it shows the errors of that as well.
    rolldownOptions: { output: { codeSplitting: { groups: [{ name: 'first', test: /\/src\/first\.ts$/ }] } } },
  },
  server: {
    fs: { allow: ['..'] }, // clients.json is in app
    proxy: { '/v1': endpoint, '/app': endpoint, '/health': endpoint },
  },
})
