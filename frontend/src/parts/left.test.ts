import assert from 'node:assert/strict'
import { test } from 'node:test'

import { left } from './left.ts'

test('what is left follows from the speed since the first look', () => {
  const first = { at: 1000, done: 2000 }
  assert.equal(left({ prompt_done: 6000, prompt_tokens: 10_000 }, first, 3000), 2000)
  assert.equal(left({ prompt_done: 10_000, prompt_tokens: 10_000 }, first, 3000), 0)
  assert.equal(left({ prompt_done: 2000, prompt_tokens: 10_000 }, first, 9000), 0)
  assert.equal(left({ prompt_done: 6000, prompt_tokens: 10_000 }, first, 1100), 0, 'too early')
})
