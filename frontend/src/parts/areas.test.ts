import assert from 'node:assert/strict'
import { test } from 'node:test'

import { area, round } from './areas.ts'

test('an area lies on its line, on its side', () => {
  assert.equal(area([0, 5, 10], 10, 100, 50, 60, true), 'M0 60L0.0 60.0L50.0 35.0L100.0 10.0L100 60Z')
  assert.equal(area([10, 20], 10, 100, 50, 60, false), 'M0 60L0.0 110.0L100.0 110.0L100 60Z')
  assert.equal(area([0, 0], 0, 100, 50, 60, true), 'M0 60L0.0 60.0L100.0 60.0L100 60Z')
  assert.equal(area([1], 1, 100, 50, 60, true), '')
})

test('an axis ends at a round number', () => {
  for (const [n, want] of [[0, 1], [0.3, 0.5], [1, 1], [41, 50], [73, 100], [1210, 2000]] as const) assert.equal(round(n), want)
})
