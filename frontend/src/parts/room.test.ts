import assert from 'node:assert/strict'
import { test } from 'node:test'

import type { Timings } from '../api/answer.ts'
import type { Active } from '../api/types.ts'
import { roomOf, sentence, short } from './room.ts'

const last = { cache_n: 3180, prompt_n: 12, predicted_n: 220 } as Timings
const active = (prompt_tokens: number, completion_tokens: number, prompt_restored = 0): Active => ({ prompt_tokens, completion_tokens, prompt_restored }) as Active

test('the last answer tells how much of the context is used', () => {
  assert.deepEqual(roomOf(undefined, undefined, 0), { used: 0, ready: 0, length: 0 })
  assert.deepEqual(roomOf(last, undefined, 32_768), { used: 3412, ready: 3180, length: 32_768 })
  assert.equal(sentence(roomOf(last, undefined, 32_768)), '3,412 of 32,768 tokens used (3,180 from cache)')
})

test('a growing answer tells it as it grows, once its prompt is known', () => {
  assert.equal(roomOf(last, active(0, 0), 9).used, 3412)
  assert.deepEqual(roomOf(last, active(3500, 20, 3400), 32_768), { used: 3520, ready: 3400, length: 32_768 })
  assert.deepEqual(roomOf(last, active(100, 0), 32_768), { used: 100, ready: 0, length: 32_768 })
})

test('numbers of tokens are short', () => {
  assert.deepEqual([0, 999, 1000, 3412, 9960, 32_768, 1_900_000].map(short), ['0', '999', '1.0k', '3.4k', '10k', '33k', '1.9M'])
})
