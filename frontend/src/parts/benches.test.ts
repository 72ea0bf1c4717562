import assert from 'node:assert/strict'
import { test } from 'node:test'

import type { Bench, BenchDrafter } from '../api/types.ts'
import { advice, comparable, digits, minutes, ratio, share, within } from './benches.ts'

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

test('each drafter has an equal share of the first part', () => {
  assert.equal(share({ part: '', done: 0, total: 0 }), undefined)
  assert.equal(share({ part: 'decode', done: 20, total: 40 }), 1 / 6)
  assert.equal(share({ part: 'decode', done: 20, total: 40, nth: 2, of: 2, drafter: 'x' }), 0.25)
  assert.equal(share({ part: 'verify', done: 1, total: 2 }), 2.5 / 3)
  assert.equal(within({ part: 'decode', done: 0, total: 1, nth: 2, of: 3, drafter: 'x/y' }), ' 2 of 3: x/y.')
  assert.equal(within({ part: 'decode', done: 0, total: 1, nth: 1, of: 1, drafter: 'x/y' }), '')
})

test('the time is written in minutes', () => {
  for (const [s, want] of [
    [20, 'a minute'],
    [110, 'two minutes'],
    [260, 'four minutes'],
    [660, '11 minutes'],
  ] as const)
    assert.equal(minutes(s), want)
})

test('the advice names the fastest drafter, and the others that are about as fast', () => {
  const of = (name: string, median: number, off = 0.1, why = ''): BenchDrafter =>
    ({ name, why, decode: { pairs: why ? 0 : 9, times: { median, low: median - off, high: median + off } } }) as BenchDrafter
  assert.equal(advice([of('a', 1.5), of('b', 2), of('c', 0, 0, 'It is damaged.')]), 'The fastest here is b, 2.00 times as fast as without drafts.')
  assert.equal(advice([of('a', 1.85), of('b', 2)]), 'The fastest here is b, 2.00 times as fast as without drafts. About as fast: a.')
  assert.equal(advice([of('a', 1.05), of('b', 0.9)]), 'None of them is clearly faster than decoding without drafts here.')
  assert.equal(advice([of('c', 0, 0, 'It is damaged.')]), 'None could be measured.')
})
