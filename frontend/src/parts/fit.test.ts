import assert from 'node:assert/strict'
import { test } from 'node:test'

import { fit } from './fit.ts'

const GiB = 2 ** 30
const here = { memory: 24 * GiB, class: 24, room: 18 * GiB }

test('a card says what a model leaves, or for which memory it is', () => {
  assert.deepEqual(fit(16, 9.1 * GiB, here), { fits: true, text: 'fits in memory, leaves 8 GiB' })
  assert.deepEqual(fit(24, 17.9 * GiB, here), { fits: true, text: 'fits in memory' })
  assert.deepEqual(fit(32, 20 * GiB, here), { fits: false, text: 'too large: for 32 GiB of memory or more' })
  assert.deepEqual(fit(16, 0, here), { fits: true, text: 'fits in memory' })
  assert.deepEqual(fit(16, 9 * GiB, { ...here, memory: 0, class: 0 }), { fits: null, text: 'for 16 GiB of memory or more' })
})
