import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'

import * as marked from 'marked'

import { options } from '../src/parts/blocks.ts'
import { cut, cuts } from './libraries.ts'

const read = (path: string): string => readFileSync(new URL(path, import.meta.url), 'utf8')
const source = (file: string): string => read(`../node_modules${file}`)

// cutBefore returns a file as the cuts before this one leave it.
const cutBefore = (file: string, from: RegExp): string => {
  const before = cuts.filter((c) => c.file === file)
  return before.slice(0, before.findIndex((c) => c.from === from)).reduce((code, c) => code.replace(c.from, c.to), source(file))
}

for (const { file, from, times } of cuts)
  test(`a cut finds all that it takes out of ${file}: ${from.source.slice(0, 40)}`, () => assert.equal([...cutBefore(file, from).matchAll(from)].length, times))

// The texts have what models write: headings, lists, tables, code, links, quotes and marks within words.
const texts = [
  read('../../README.md'),
  read('../../app/README.md'),
  '# A\n\nB\n=\n\n- [x] one\n- [ ] two\n  1. three\n\n> quote\n> - item\n\n***\n\n    code\n\n~~~py\nx = 1\n~~~\n',
  '| a | b |\n|:--|--:|\n| `x|y` | ~~z~~ |\n\nhttps://example.org and <https://example.org/a> and me@example.org\nwww.example.org',
  '**bold** _em_ ***both*** a*b*c __x__ snake_case_name 2*3*4 **“x”**y *“x”*y ~a~ ~~b~~ `` ` `` \\*no\\*',
  '[a](b "c") ![d](e) [f][g] [h] [g]: http://example.org\n\n[g]: <http://example.org> "t"\n\n[f][g] [g]',
  '<div>\n*x*\n</div>\n\na <b>c</b> <!-- d --> &amp; &#65; &lt;\n\n<script>alert(1)</script>\n',
  'line\nbreak  \ntwo\\\nthree\n\n1) x\n2) y\n\n\n10. z\n* * *\n+ p\n\n  q\n',
]

test('marked without what is left out reads and renders the same', async (t) => {
  const file = '/marked/lib/marked.esm.js'
  const folder = mkdtempSync(join(tmpdir(), 'marked-'))
  t.after(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'marked.mjs'), cut(source(file), file).replace(/^\/\/# sourceMappingURL.*/m, ''))
  const lean = (await import(join(folder, 'marked.mjs'))) as typeof marked
  assert.deepEqual(Object.keys(lean).sort(), ['Lexer', 'Parser', 'Renderer'])
  for (const text of texts)
    // A text that grows is cut anywhere.
    for (const part of [text, text.slice(0, text.length / 2), text.slice(0, text.length / 3)]) {
      const want = marked.Lexer.lex(part, { ...options })
      const got = lean.Lexer.lex(part)
      assert.deepEqual(got, want)
      assert.equal(lean.Parser.parse(got, { renderer: new lean.Renderer() }), marked.Parser.parse(want, { renderer: new marked.Renderer() }))
    }
})
