import assert from 'node:assert/strict'
import { test } from 'node:test'

import { merge, type Json } from './patch.ts'

// The cases of RFC 7396, appendix A, except the ones whose target is not an object.
const cases: [Json, Json, Json][] = [
  [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
  [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
  [{ a: 'b' }, { a: null }, {}],
  [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
  [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
  [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
  [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
  [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
  [{ e: null }, { a: 1 }, { e: null, a: 1 }],
  [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
]

test('merge patches follow RFC 7396', () => {
  for (const [target, patch, want] of cases) {
    const before = structuredClone(target)
    assert.deepEqual(merge(target, patch), want)
    assert.deepEqual(target, before, 'the target changed')
  }
})
