import assert from 'node:assert/strict'
import { test } from 'node:test'

import { places } from './finds.ts'

test('matches are found in a text, and over texts of one block', () => {
  const texts = ['A cat', ' and a ', 'cat', 'fish', 'c', 'at']
  const starts = (i: number): boolean => i === 0 || i === 3
  const found = places(texts, starts, 'CAT').map((p) => [p.from.text, p.from.at, p.to.text, p.to.at])
  assert.deepEqual(found, [[0, 2, 0, 5], [2, 0, 2, 3], [4, 0, 5, 2]])
  assert.equal(places(texts, starts, 'catfish').length, 0, 'over two blocks')
  assert.deepEqual(places(texts, starts, ' '), [])
  assert.equal(places(['aaaa'], () => true, 'a', 3).length, 3)
})
