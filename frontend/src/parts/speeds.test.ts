import assert from 'node:assert/strict'
import { test } from 'node:test'

import type { Run } from '../api/types.ts'
import { past, speeds, type Past } from './speeds.ts'

const run = (of: Partial<Run>): Run => ({ id: 1, ended_at: '1970-01-01T00:01:40Z', completion_tokens: 11, first_token_ms: 1000, total_ms: 3000, ...of }) as Run

test('an ended run has the mean speed of its own tokens', () => {
  assert.deepEqual(past(run({})), { run: 1, from: 98, to: 100, perSecond: 5 })
  assert.deepEqual(past(run({ completion_tokens: 1 })), { run: 1, from: 97, to: 100, perSecond: 1 / 3 })
  assert.deepEqual(past(run({ completion_tokens: 3, first_token_ms: 2999 })), { run: 1, from: 97, to: 100, perSecond: 1 }) // all at once
  assert.equal(past(run({ completion_tokens: 0 })), null)
  assert.equal(past(run({ resumes: 7, completion_tokens: 500, first_token_ms: 2990 })), null)
  assert.equal(past({ ...run({}), ended_at: undefined } as unknown as Run), null)
})

test('samples count first, and the history fills the rest', () => {
  const samples = [
    { at: 50, speeds: new Map([[1, 8]]) },
    { at: 60, speeds: new Map([[1, 6], [2, 0]]) },
    { at: 70, speeds: new Map<number, number>() },
  ]
  const runs: Past[] = [
    { run: 1, from: 49, to: 69, perSecond: 7 }, // has samples
    { run: 2, from: 62, to: 63, perSecond: 20 }, // too short
    { run: 3, from: 5, to: 20, perSecond: 4 }, // before the page, and in part before the chart
    { run: 4, from: 1, to: 9, perSecond: 4 }, // before the chart
  ]
  assert.deepEqual(speeds(samples, runs, 10, 80), [
    [10, 20, 50, 60, 62, 63, 70, 80],
    [4, 0, 8, 6, 26, 6, 0, 0],
  ])
  assert.deepEqual(speeds([], [], 10, 80), [[10, 80], [0, 0]])
})
