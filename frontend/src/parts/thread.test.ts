import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Answer, parts, pieces } from '../api/answer.ts'
import { branch, latest, siblings } from './thread.ts'

// A question with two answers, the first one continued. Then the question is edited.
const messages = [
  { id: 1, parent: 0, role: 'user' },
  { id: 2, parent: 1, role: 'assistant' },
  { id: 3, parent: 2, role: 'user' },
  { id: 4, parent: 1, role: 'assistant' },
  { id: 5, parent: 3, role: 'assistant' },
  { id: 6, parent: 0, role: 'user' },
  { id: -1, parent: 6, role: 'assistant' },
]
const ids = (list: { id: number }[]): number[] => list.map((m) => m.id)

test('a branch has the messages from the beginning to its leaf', () => {
  assert.deepEqual(ids(branch(messages, 5)), [1, 2, 3, 5])
  assert.deepEqual(ids(branch(messages, -1)), [6, -1])
  assert.deepEqual(branch(messages, 0), [])
  assert.deepEqual(branch(messages, 99), [])
  assert.deepEqual(ids(branch([{ id: 1, parent: 2, role: 'user' }, { id: 2, parent: 1, role: 'user' }], 1)), [2, 1]) // a circle of parents ends
})

test('siblings have the same parent and role', () => {
  assert.deepEqual(ids(siblings(messages, messages[1]!)), [2, 4])
  assert.deepEqual(ids(siblings(messages, messages[5]!)), [1, 6])
  assert.deepEqual(ids(siblings(messages, messages[2]!)), [3])
})

test('the latest branch after a message is the one written to last', () => {
  assert.equal(latest(messages, 1), 4)
  assert.equal(latest(messages, 2), 5)
  assert.equal(latest(messages, 6), -1)
})

test('the pieces of an answer are drafted or not drafted', () => {
  const a = new Answer()
  for (const [text, drafted] of [['', false], ['ab', true], ['c', true], ['d', false], ['', true], ['e', false], ['f', true]] as const) a.add(text, drafted)
  assert.equal(a.text, 'abcdef')
  assert.deepEqual(a.spans, [0, 3, 2, 1])
  assert.deepEqual(pieces(a.text + 'g', a.spans), [
    { text: 'abc', drafted: true },
    { text: 'de', drafted: false },
    { text: 'f', drafted: true },
    { text: 'g', drafted: false },
  ])
})

test('the parts of a text are whole lines, and make up all of it', () => {
  const list = Array.from({ length: 1000 }, (_, i) => ({ text: i % 7 ? 'word ' : 'end\nof ', drafted: i % 2 === 0 }))
  const grouped = parts(list)
  const texts = grouped.map((part) => part.map((p) => p.text).join(''))
  assert.equal(texts.join(''), list.map((p) => p.text).join(''))
  assert.ok(texts.length > 3 && texts.every((t) => t.length < 1100), JSON.stringify(texts.map((t) => t.length)))
  assert.ok(texts.slice(0, -1).every((t) => t.endsWith('\n')))
  assert.equal(grouped.flat().filter((p) => p.drafted).map((p) => p.text).join(''), list.filter((p) => p.drafted).map((p) => p.text).join(''))
  assert.deepEqual(parts([]), [])
})
