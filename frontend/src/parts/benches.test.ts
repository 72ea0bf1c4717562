import assert from 'node:assert/strict'
import { test } from 'node:test'

import type { Bench } from '../api/types.ts'
import { comparable, digits, ratio } from './benches.ts'

test('a figure has three digits, or all before the point', () => {
  for (const [v, want] of [
    [0, '–'],
    [1.0671, '1.07'],
    [14, '14.0'],
    [99.96, '100'],
    [145.6, '146'],
    [12345.6, '12,346'],
  ] as const)
    assert.equal(digits(v), want)
})

test('measurements of the same model and machine are compared', () => {
  const of = (median: number): { median: number; low: number; high: number } => ({ median, low: 0, high: 0 })
  assert.equal(ratio(of(3), of(2)), '1.50')
  assert.equal(ratio(of(3), of(0)), '–')
  const a = { model: 'm', machine: 'x' } as Bench
  assert.ok(comparable(a, { ...a }))
  assert.ok(!comparable(a, { ...a, machine: 'y' }))
  assert.ok(!comparable(a, { ...a, model: 'n' }))
})
