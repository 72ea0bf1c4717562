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

test('a text is cut after lines and words, and not within a character', () => {
  assert.deepEqual(pieces(''), [])
  assert.deepEqual(pieces('αβγ', 3), ['αβγ'])
  assert.deepEqual(pieces('αβ\nγδ\nεζ', 3), ['αβ\n', 'γδ\n', 'εζ'])
  assert.deepEqual(pieces('αβ γδ εζ', 3), ['αβ ', 'γδ ', 'εζ'])
  assert.deepEqual(pieces('α\nβγδεζη', 5), ['α\nβγδε', 'ζη'])
  assert.deepEqual(pieces('αβγ😀δ', 4), ['αβγ', '😀δ'])
  assert.deepEqual(pieces('aαbβcγd', 2), ['aαbβc', 'γd'])
})

test('a long text is cut only where it is slow to lay out', () => {
  const all: [string, number][] = [
    ['one line of code '.repeat(60_000), 1],
    ['let a = 1\n'.repeat(100_000), 1],
    ['Voilà une leçon. '.repeat(900), 1], // few accents
    ['aα'.repeat(500_000), 250],
    ['אaבb'.repeat(250_000), 250],
    ['aب1'.repeat(300_000), 150],
    ['ภาษาไทย'.repeat(100_000), 350],
    ['\u202ea\u202c\u2067b\u2069'.repeat(100_000), 200],
    ['a😀'.repeat(100_000), 100], // one character is two
  ]
  for (const [text, want] of all) {
    const cut = pieces(text)
    assert.ok(cut.join('') === text)
    assert.equal(cut.length, want, text.slice(0, 20))
  }
})

test('a growing text keeps its pieces', () => {
  const text = 'यह एक लंबा वाक्य है।\n'.repeat(1000)
  const whole = pieces(text)
  for (let n = 500; n < text.length; n += 500) assert.deepEqual(pieces(text.slice(0, n)).slice(0, -1), whole.slice(0, pieces(text.slice(0, n)).length - 1))
})
