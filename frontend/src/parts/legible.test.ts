import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Blocks } from './blocks.ts'
import { legible, pieces } from './legible.ts'

test('a character has 50 marks at most', () => {
  const marks = (n: number): string => '\u0301'.repeat(n)
  const all: [string, string][] = [
    ['', ''],
    ['e\u0301 नमस्ते ภาษาไทย ❤️', 'e\u0301 नमस्ते ภาษาไทย ❤️'],
    [`a${marks(50)}b`, `a${marks(50)}b`],
    [`a${marks(51)}b${marks(3)}`, `a${marks(50)}…b${marks(3)}`],
    [marks(1_000_000), `${marks(50)}…`],
    [`a${'\u20dd\u0489\u0e31'.repeat(100)}`, `a${'\u20dd\u0489\u0e31'.repeat(17).slice(0, 50)}…`],
  ]
  for (const [text, want] of all) assert.equal(legible(text), want)
  // What is shown of a growing text grows.
  const text = `a${marks(60)}b **c**`
  const blocks = new Blocks((p) => p.raw)
  for (let n = 1; n <= text.length; n++) blocks.set(text.slice(0, n))
  assert.deepEqual(blocks.last, [`a${marks(50)}…b **c**`])
})

test('a text is cut at the ends of lines, and not within a character', () => {
  assert.deepEqual(pieces(''), [])
  assert.deepEqual(pieces('abc', 3), ['abc'])
  assert.deepEqual(pieces('ab\ncd\nef', 4), ['ab\n', 'cd\n', 'ef'])
  assert.deepEqual(pieces('a\nbcdefgh', 6), ['a\nbcde', 'fgh'])
  assert.deepEqual(pieces('abc😀d', 4), ['abc', '😀d'])
  const long = 'aα'.repeat(500_000)
  assert.deepEqual([pieces(long).join('') === long, pieces(long).length], [true, 100])
})
