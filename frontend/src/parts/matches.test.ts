import assert from 'node:assert/strict'
import { test } from 'node:test'

import { best, fits, snippet } from './matches.ts'

test('a snippet has the words around a match as the text writes them', () => {
  assert.deepEqual(snippet('The cat\n sat on the mat.', 'SAT on'), { before: 'The cat ', match: 'sat on', after: ' the mat.' })
  const long = `${'word '.repeat(40)}needle ${'more '.repeat(40)}`
  const { before, match, after } = snippet(long, 'needle')
  assert.equal(match, 'needle')
  assert.ok(/^…word .*word $/.test(before) && before.length <= 37, before)
  assert.ok(/^ more.*more…$/.test(after) && after.length <= 37, after)
  assert.deepEqual(snippet('nothing here', 'cat'), { before: 'nothing here', match: '', after: '' })
  assert.deepEqual(snippet('all', ''), { before: 'all', match: '', after: '' })
})

test('what begins with a search comes before what has it inside', () => {
  assert.deepEqual(['Answer again', 'Go to the message', 'New chat', 'x'].map((name) => fits(name, 'again')), [2, 0, 0, 0])
  assert.equal(fits('org/Qwen3-4B', 'qwen'), 2)
  assert.equal(fits('Hide or show the sidebar', 'sidebar hide'), 1)
  assert.deepEqual(best(['unmodel', 'a model', 'Models', 'runs'], (s) => s, 'model', 2), ['Models', 'a model'])
  assert.deepEqual(best(['a', 'b', 'c'], (s) => s, '', 2), ['a', 'b'])
})

test('signs do not part the words of a name', () => {
  assert.equal(fits('org/coder-8b-4bit', '4-bit'), 1)
  assert.equal(fits('org/coder-8b-4bit', 'coder8b'), 1)
  assert.equal(fits('org/coder', '-'), 0)
})
