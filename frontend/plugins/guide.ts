import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

import MarkdownIt from 'markdown-it'
import type { Plugin } from 'vite'

import { chapter } from './chapter.ts'

// Help shows the first chapter of the guide for users, so the window and the file cannot differ.
const guide = fileURLToPath(new URL('../../app/README.md', import.meta.url))
const file = 'assets/in-short.html'

const render = (): string => new MarkdownIt().render(chapter(readFileSync(guide, 'utf8'), 'In short'))

// inShort puts the chapter "In short" of the guide beside the script, as HTML. Few people open Help, so
// the page reads the chapter only then.
export const inShort: Plugin = {
  name: 'in-short',
  configureServer: (server) => void server.middlewares.use(`/${file}`, (_, response) => void response.end(render())),
  generateBundle() {
    this.emitFile({ type: 'asset', fileName: file, source: render() })
  },
}
