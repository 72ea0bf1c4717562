// The script has its templates in fewer bytes. A browser makes the same elements from both forms.

import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'

import { compile } from 'svelte/compiler'
import { tsImport } from 'tsx/esm/api'

import { launch } from './browser.mjs'

const { shorten } = await tsImport('../plugins/templates.ts', import.meta.url)
const source = new URL('../src/', import.meta.url)

test('a browser makes the same elements from a shortened template', async () => {
  const files = readdirSync(source, { recursive: true }).filter((name) => name.endsWith('.svelte'))
  const templates = files.flatMap((filename) => {
    const { js } = compile(readFileSync(new URL(filename, source), 'utf8'), { filename, runes: true })
    return [...js.code.matchAll(/\$\.from_html\(`([^`]*)`/g)].map(([, html]) => ({ filename, html, short: shorten(html) }))
  })
  assert.ok(templates.length > 400, `there are ${templates.length} templates`)
  assert.ok(templates.filter((t) => t.short !== t.html).length > 300)
  const browser = await launch()
  const page = await browser.newPage()
  const different = await page.evaluate((all) => {
    const made = (html) => {
      const template = document.createElement('template')
      template.innerHTML = html
      return template.innerHTML
    }
    return all.filter((t) => made(t.html) !== made(t.short))
  }, templates)
  assert.deepEqual(different, [])
  await browser.close()
})
