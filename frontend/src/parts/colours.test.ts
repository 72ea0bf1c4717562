import assert from 'node:assert/strict'
import { test } from 'node:test'

import { coloured } from './colours.ts'

// marked writes coloured code in short: each coloured part as KIND(text).
const marked = (code: string, language: string): string | undefined =>
  coloured(code, language)
    ?.replace(/<span class="(.)\w*">(.*?)<\/span>/gs, '$1($2)')
    .replace(/&#(\d+);/g, (_, n: string) => String.fromCharCode(Number(n)))

for (const [language, code, want] of [
  ['go', 'func f() { // if "x"\n\treturn `a\nb` + "\\"" + 0x1F', 'k(func) f() { c(// if "x")\nk(\treturn) s(`a\nb`) + s("\\"") + n(0x1F)'],
  ['ts', 'const s = `${"a"}` /* let\n1 */ + 1.5e3', 'k(const) s = s(`${"a"}`) c(/* let\n1 */) + n(1.5e3)'],
  ['Python', 'def f(x): # not\n  """a\nif"""\n  return \'it\' + x1', 'k(def) f(x): c(# not)\ns(  """a\nif""")\nk(  return) s(\'it\') + x1'],
  ['rust', "fn f<'a>(x: &'a str) { 'c' }", "k(fn) f<'a>(x: &'a k(str)) { s('c') }"],
  ['cpp', '#include <x>\nint a = 10u;', '#k(include) <x>\nk(int) a = n(10u);'],
  ['java', 'final String s = "a";', 'k(final) String s = s("a");'],
  ['c#', 'var p = @"a\\" + "b";', 'k(var) p = s(@"a\\") + s("b");'],
  ['swift', 'guard let x = y else { return nil }', 'k(guard) k(let) x = y k(else) { k(return) k(nil) }'],
  ['sh', 'for f in *; do # each\n  echo "$f" ${#f}\ndone', 'k(for) f k(in) *; k(do) c(# each)\nk(  echo) s("$f") ${#f}\nk(done)'],
  ['sql', "Select 'it''s' FROM t -- where", "k(Select) s('it''s') k(FROM) t c(-- where)"],
  ['json', '{"a": [1, true, null]}', '{s("a"): [n(1), k(true), k(null)]}'],
] as const)
  test(`${language} has colours`, () => assert.equal(marked(code, language), want))

test('the text stays the same, and none of it becomes HTML', () => {
  const code = 'if (a < b && "<img src=x>") { /* </span> */ }'
  const html = coloured(code, 'js') ?? ''
  assert.deepEqual([...new Set(html.match(/<[^>]*>/g))].sort(), ['</span>', '<span class="comment">', '<span class="keyword">', '<span class="string">'])
  assert.equal(html.replace(/<[^>]*>/g, '').replace(/&#(\d+);/g, (_, n: string) => String.fromCharCode(Number(n))), code)
})

test('a language that is not known has none, nor has very long code', () => {
  assert.equal(coloured('x', 'brainfuck'), null)
  assert.equal(coloured('x', 'constructor'), null)
  assert.equal(coloured('x'.repeat(100_000), 'go'), null)
  assert.equal(coloured('1 '.repeat(10_001), 'js'), null)
  assert.ok(coloured('1 '.repeat(10_000), 'js'))
  assert.equal(coloured('// אa\n'.repeat(3001), 'js'), null) // slow to lay out as one
  assert.ok(coloured('// אa\n'.repeat(3000), 'js'))
})
