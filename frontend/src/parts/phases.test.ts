import assert from 'node:assert/strict'
import { test } from 'node:test'

import type { Active, Run } from '../api/types.ts'
import { readingOf, speedsOf, writingOf } from './phases.ts'

const flies = (run_id: number, of: Partial<Active> = {}): Active => ({ run_id, model: 'm', prompt_tokens: 1000, prompt_done: 0, completion_tokens: 0, ...of }) as Active

test('an answer that is written has the times that the server tells', () => {
  const at = (ms: number): string => new Date(ms).toISOString()
  const written = flies(1, { prompt_restored: 300, started_at: at(1000), restoring_since: at(2900), reading_since: at(3000), writing_since: at(4500) })
  const rest = [{ phase: 'restored', ms: 100 }, { phase: 'read', ms: 1500 }, { phase: 'written', ms: 500 }]
  assert.deepEqual(writingOf(written, 5000, []), [{ phase: 'queue', ms: 1900 }, ...rest])
  assert.deepEqual(writingOf(written, 5000, [{ phase: 'load', ms: 1800 }]), [{ phase: 'queue', ms: 100 }, { phase: 'load', ms: 1800 }, ...rest])
  assert.deepEqual(writingOf({ ...written, prompt_restored: 0 }, 5000, []), [{ phase: 'queue', ms: 1900 }, { phase: 'read', ms: 1600 }, { phase: 'written', ms: 500 }])
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
