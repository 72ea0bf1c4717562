import assert from 'node:assert/strict'
import { test } from 'node:test'

import type { ModelNeeds, ModelSettingsState } from '../api/types.ts'

Object.assign(globalThis, { location: new URL('http://localhost/'), sessionStorage: { getItem: () => null }, BroadcastChannel: class {} })
const { roomierOf } = await import('./roomier.ts')

const needs = (id: string, context: number, rest: Partial<ModelNeeds> = {}): ModelNeeds => ({ id, needs: { bytes: 1, context, fits: true }, ...rest })
const state = (rest: Partial<ModelSettingsState>): ModelSettingsState => ({ settings: { model: 'm', depth: 3 }, defaults: {}, context_length: 32_768, longest: 32_768, serving: 8192, drafter: 'auto', ...rest })
const others = [needs('m', 8192), needs('long', 65_536), needs('longer', 131_072), needs('embedder', 1 << 20, { kind: 'embedding' }), needs('large', 1 << 20, { needs: { bytes: 1, context: 1 << 20, fits: false } })]

test('a longer context is offered where the model and the machine have it, with the other settings', () => {
  assert.deepEqual(roomierOf(state({}), others, 9031), { context: 12_288, set: { model: 'm', depth: 3, context: 12_288 } })
  assert.equal(roomierOf(state({ longest: 10_000 }), others, 9031)?.set?.context, 10_000)
  // One that is set already, and counts from the next load on, is not made shorter.
  assert.equal(roomierOf(state({ settings: { model: 'm', context: 30_000 } }), others, 9031)?.set?.context, 30_000)
})

test('where a longer context cannot be had, the model with the longest one that fits is named', () => {
  for (const longest of [8192, 9030, 0, undefined]) assert.deepEqual(roomierOf(state({ longest }), others, 9031), { context: 131_072, other: 'longer' }, String(longest))
  assert.equal(roomierOf(state({ longest: 8192 }), others.slice(0, 1), 9031), null)
  assert.equal(roomierOf(state({ longest: 8192 }), others, 200_000), null)
  assert.equal(roomierOf(state({ longest: 8192 }), [needs('pocket', 32_768)], 9031), null) // the demo model
})

test('nothing is offered for a text that fits by now', () => {
  assert.deepEqual(roomierOf(state({ serving: 16_384 }), others, 9031), { context: 16_384 })
  assert.deepEqual(roomierOf(state({ serving: 0, needs: { bytes: 1, context: 16_384, fits: true } }), others, 9031), { context: 16_384 })
})
