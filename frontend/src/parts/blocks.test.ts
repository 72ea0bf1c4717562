import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Blocks, lexed, type Part } from './blocks.ts'
import { isTooMuch, reader } from './reader.ts'

const named = (p: Part): string => `${p.code === null ? p.type : 'code'} ${p.raw.trim()}`

const texts = [
  '# One\n\nText with *stars*,\nover two lines.\n\n## Two\n',
  'Title\n=====\n\nUnder\n-----\n',
  '- a\n- b\n\n  more of b\n\n- c\n  - d\n\n1. one\n2. two\n\nend',
  '```go\nfunc f() {\n\n\treturn\n}\n```\nbehind\n\n    indented\n\n    code\n',
  '```\nnever closed\n\n# no heading\n',
  '| a | b |\n| --- | --- |\n| 1 | 2 |\n| 3 | 4 |\n\nafter\n',
  '> quoted\nlazily\n>\n> - list\n\n---\n\n<div>\nhtml\n</div>\n\ntext\n',
]

test('a text that grows by any steps has the blocks of the whole text', () => {
  for (const text of texts) {
    const want = lexed(text)
      .filter((t) => t.type !== 'space')
      .map(named)
    for (const step of [1, 3, 17]) {
      const blocks = new Blocks(named)
      for (let n = step; n < text.length; n += step) blocks.set(text.slice(0, n))
      blocks.set(text)
      assert.deepEqual([...blocks.done, ...blocks.last], want, `by steps of ${step}`)
    }
  }
})

test('code without a fence stays together', () => {
  const go = 'func f() int {\n\tx := 1\n\n\tif x > 0 {\n\t\treturn x\n\t}\n\n\treturn 0\n}'
  const python = 'def f(\n    x,\n):\n    y = [\n\n        x,\n    ]\n'
  for (const [text, want] of [
    [`Like this:\n${go}\n\nThat is all.`, ['paragraph Like this:', `code ${go}`, 'paragraph That is all.']],
    [`${go}\nThat is all.`, [`code ${go}`, 'paragraph That is all.']],
    ['So:\n\n    make\n\nDone.', ['paragraph So:', 'code make', 'paragraph Done.']], // a sentence opens nothing
    ['f({\n\n    a,\n});', ['code f({\n\n    a,\n});']],
    [python, [`code ${python.trim()}`]],
    ['So:\nfunc f() {\n\treturn\n} else {\n\tgo()\n}\nDone (all).', ['paragraph So:', 'code func f() {\n\treturn\n} else {\n\tgo()\n}', 'paragraph Done (all).']],
    ['class A:\n  x = 1\ndef f():\n  pass', ['code class A:\n  x = 1\ndef f():\n  pass']],
    ['He said (\nand left', ['paragraph He said (\nand left']],
    ['One:\n  two', ['paragraph One:\n  two']], // a sentence opens nothing
  ] as const)
    for (const step of [1, 3, 17]) {
      const blocks = new Blocks(named)
      for (let n = step; n < text.length; n += step) blocks.set(text.slice(0, n))
      blocks.set(text)
      assert.deepEqual([...blocks.done, ...blocks.last], want, `by steps of ${step}`)
    }
})

test('a block that can no longer change is made once', () => {
  let made = 0
  const blocks = new Blocks(() => ++made)
  let text = ''
  for (let i = 0; i < 300; i++) blocks.set((text += i % 10 === 9 ? '.\n\n' : 'word '))
  assert.equal(blocks.done.length + blocks.last.length, 30)
  assert.ok(made < 400, `${made} blocks were made`)
})

test('another text replaces all blocks', () => {
  const blocks = new Blocks((p) => p.raw.trim())
  blocks.set('one\n\ntwo\n\nthree')
  blocks.set('one\n\nelse')
  assert.deepEqual([...blocks.done, ...blocks.last], ['one', 'else'])
})

test('a line break stays one', () => {
  const blocks = new Blocks((p) => reader.render(p.raw))
  for (const text of ['func f() {', 'func f() {\n', 'func f() {\nreturn\n}']) blocks.set(text)
  assert.deepEqual([...blocks.done, ...blocks.last], ['<p>func f() {<br>\nreturn<br>\n}</p>\n'])
})

test('what nests deeply is known by its tags, whatever ends', () => {
  const all: [string, boolean][] = [
    ['<em>'.repeat(100), false],
    ['<em>'.repeat(101), true],
    ['<em></p>'.repeat(101), true], // the end of another element
    ['<B></em><p></Sub>'.repeat(51), true],
    ['<em>a</em>'.repeat(5000), false],
    ['<em>a</em>'.repeat(5001), true],
    ['<div><p>a</div>'.repeat(2500), false],
    ['<br><hr/><input>'.repeat(1600), false],
    [reader.render(`${'> '.repeat(99)}a`), false],
    [reader.render(`${'> '.repeat(100)}a`), true],
    // What a browser lays out as one has 3,000 characters at most that are not ASCII.
    ['word '.repeat(10_000), false],
    [reader.render('aא'.repeat(3000)), false],
    [reader.render('aא'.repeat(3001)), true],
    [reader.render('אaבb*c*\n'.repeat(2600)), true],
    [reader.render(`# ${'हिन्दी '.repeat(1000)}`), true],
    [reader.render(`- a\n- ${'ก1'.repeat(6000)}`), true],
    [reader.render(`|a|b|\n|-|-|\n|${'ب1'.repeat(6000)}|c|\n`), true],
    [reader.render(`> <b>${'😀a'.repeat(3000)}</b>`), true],
    [reader.render(`- \`\`\`\n  ${'語a'.repeat(6000)}\n  \`\`\``), true],
    [reader.render(`<div>${'한국어 '.repeat(2000)}</div>`), true],
    [reader.render(Array.from({ length: 100 }, () => `- ${'aא'.repeat(150)}`).join('\n')), false],
    [reader.render(`|a|b|\n|-|-|\n${`|${'ب1'.repeat(100)}|c|\n`.repeat(100)}`), false],
  ]
  for (const [html, want] of all) assert.equal(isTooMuch(html), want, html.slice(0, 40))
})

test('a text is made by steps of bounded size', () => {
  for (const text of ['a\n\n'.repeat(2000), '```js\nlet a = 1\n```\n'.repeat(20_000), `${'- a\n'.repeat(100)}\n---\n`.repeat(3000)]) {
    const blocks = new Blocks((p) => p.raw)
    let before = 0
    let count = 0
    let steps = 0
    for (let whole = false; !whole; steps++) {
      whole = blocks.set(text, performance.now() + 60_000)
      const made = blocks.done.length + blocks.last.length
      assert.ok(made - count <= 201, `${made - count} blocks at once`)
      count = made
      const raw = [...blocks.done, ...blocks.last].join('').length
      assert.ok(raw - before <= 31_000, `${raw - before} characters at once`)
      before = raw
    }
    assert.equal([...blocks.done, ...blocks.last].join('').replace(/\s/g, ''), text.replace(/\s/g, ''))
    assert.ok(steps >= text.length / 31_000, `${steps} steps`)
  }
})

test('each step makes a block, however little time there is', () => {
  const text = 'a\n\n'.repeat(50)
  const blocks = new Blocks((p) => p.raw.trim())
  for (let n = 1; !blocks.set(text, 0); n++) assert.deepEqual([...blocks.done, ...blocks.last], Array.from({ length: n }, () => 'a'))
  assert.equal(blocks.done.length + blocks.last.length, 50)
})

test('a table has no more cells than the text has characters', () => {
  const rows = (columns: number, text: string): string => `${'|a'.repeat(columns)}|\n${'|-'.repeat(columns)}|\n${text}`
  const all: [string, number][] = [
    [rows(3, '|1|2|3|\n|4|5|6|\n'), 9],
    [rows(3, '1\n|2\n'), 9], // rows get the cells that they lack
    [rows(20, 'x\n'.repeat(40)), 820],
    [rows(200, 'x\n'.repeat(320)), 0],
    [rows(200, `${'|x'.repeat(200)}\n`.repeat(30)), 6200],
    [rows(301, ''), 0],
    [`> ${rows(200, '> x\n'.repeat(320)).replace('\n', '\n> ')}`, 0],
    [`text\n${rows(2, '1|2\n')}`, 4],
  ]
  for (const [text, want] of all) assert.equal((reader.render(text).match(/<t[hd]>/g) ?? []).length, want, text.slice(0, 40))
})
