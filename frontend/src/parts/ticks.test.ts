import assert from 'node:assert/strict'
import { test } from 'node:test'

import { pathOf, ticks } from './ticks.ts'

test('ticks are round numbers within the ends', () => {
  assert.deepEqual(ticks(1, 61, 6), [10, 20, 30, 40, 50, 60])
  assert.deepEqual(ticks(-1, 101, 5), [0, 50, 100])
  assert.deepEqual(ticks(0, 0.35, 4), [0, 0.1, 0.2, 0.3])
  assert.deepEqual(ticks(1, 1, 4), [])
})

test('a line has a gap where nothing was measured', () => {
  const same = (n: number): number => n
  assert.equal(pathOf([1, 2, 3, 4, 5], [1, 2, null, 4, 5], same, same), 'M1.0 1.0L2.0 2.0M4.0 4.0L5.0 5.0')
  assert.equal(pathOf([], [], same, same), '')
})
