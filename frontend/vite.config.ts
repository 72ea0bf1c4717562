import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

import { svelte } from '@sveltejs/vite-plugin-svelte'
import { marked } from 'marked'
import { defineConfig, type Plugin } from 'vite'

import { chapter } from './src/parts/chapter.ts'

// The endpoint for `npm run dev`: `tandem serve` on its usual port.
const endpoint = 'http://127.0.0.1:8263'

// The guide for users. Help shows its first chapter, so the window and the file cannot differ. The
// chapter is rendered here. A page that imported the whole file would carry five times the text,
// and the code that renders it.
const guide = fileURLToPath(new URL('../app/README.md', import.meta.url))

// inShort makes the module virtual:in-short.
const inShort: Plugin = {
  name: 'in-short',
  resolveId: (id) => (id === 'virtual:in-short' ? `\0${id}` : undefined),
  load(id) {
    if (id !== '\0virtual:in-short') return
    this.addWatchFile(guide)
    const html = marked.parse(chapter(readFileSync(guide, 'utf8'), 'In short'), { async: false })
    return `export default ${JSON.stringify(html)}`
  },
}

// constants leaves out what this page never does: hydration, components of Svelte's older or asynchronous
// kind, extensions of Markdown, and drawings in answers. Svelte asks variables about the first, marked
// makes an object for extensions, and DOMPurify has lists. Without it the script has 7,300 bytes more,
// gzipped. After an upgrade that moves one of these, that one stays in.
const constants: Plugin = {
  name: 'constants',
  transform(code, id) {
    if (id.endsWith('/svelte/src/internal/flags/index.js')) {
      return code
        .replace(/export let (\w+_flag) = false/g, 'export const $1 = false')
        .replace(/^\t(\w+_flag) = true;$/gm, "\tthrow new Error('vite.config.ts leaves out what needs $1');")
        .replace(/^\t\w+_flag = false;$/gm, '')
    }
    if (id.endsWith('/svelte/src/internal/client/dom/hydration.js')) {
      return code.replace('export let hydrating = false', 'export const hydrating = false').replace(/^\thydrating = value;$/gm, '')
    }
    // What DOMPurify allows without a list of our own, and how it knows SVG and MathML, which an answer
    // may not have. Without these lists it lets through less, never more.
    if (id.endsWith('/dompurify/dist/purify.es.mjs')) {
      return code.replace(/^const (html\$1|html|svg\$1|svgFilters|svgDisallowed|svg|mathMl\$1|mathMlDisallowed|mathMl|xml) = freeze\(\[[^\]]*\]\)/gm, 'const $1 = freeze([])')
    }
    // Of marked the page needs what splits a text and what renders it, not what puts extensions in.
    if (id.endsWith('/marked/lib/marked.esm.js')) {
      return code
        .replace(/var \w+=new \w+;function \w+\(\w+,\w+\)\{return \w+\.parse\(.*?;(?=export\{)/s, '')
        .replace(/export\{[^}]*\}/, (all) => `export{${all.match(/\w+ as (?:Lexer|Parser|Renderer)\b/g)?.join() ?? ''}}`)
    }
    return undefined
  },
}

export default defineConfig({
  plugins: [svelte({ compilerOptions: { runes: true } }), inShort, constants],
  base: './',
  build: {
    target: 'safari17',
    assetsInlineLimit: 0, // the policy lets the page load files, not data
    modulePreload: { polyfill: false },
  },
  server: { proxy: { '/v1': endpoint, '/app': endpoint, '/health': endpoint } },
})
