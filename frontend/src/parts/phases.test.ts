import assert from 'node:assert/strict'
import { test } from 'node:test'

import type { Active, Run } from '../api/types.ts'
import { readingOf, speedsOf, writingOf } from './phases.ts'

const flies = (run_id: number, of: Partial<Active> = {}): Active => ({ run_id, model: 'm', prompt_tokens: 1000, prompt_done: 0, completion_tokens: 0, ...of }) as Active

test('what no page saw is not drawn as reading', () => {
  assert.deepEqual(writingOf(flies(1, { completion_tokens: 30, per_second: 10 }), 8000), [
    { phase: 'unknown', ms: 5000 },
    { phase: 'written', ms: 3000 },
  ])
})

test('a prompt that is read has what was restored apart', () => {
  assert.deepEqual(readingOf(flies(1, { prompt_restored: 300, prompt_done: 700 })), [
    { phase: 'restored', ms: 300 },
    { phase: 'read', ms: 400 },
  ])
  assert.deepEqual(readingOf(flies(1, { prompt_restored: 300 })), [{ phase: 'restored', ms: 300 }])
})

test('a model is as fast as the middle of its runs', () => {
  const run = (model: string, total_ms: number): Run => ({ model, ended_at: 'then', first_token_ms: 100, completion_tokens: 11, total_ms }) as Run
  const speeds = speedsOf([run('a', 1100), run('a', 600), run('a', 200), run('b', 1100), run('c', 100)])
  assert.deepEqual([...speeds], [['a', 20], ['b', 10]])
})
