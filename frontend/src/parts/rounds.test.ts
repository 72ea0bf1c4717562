import assert from 'node:assert/strict'
import { test } from 'node:test'

import type { RoundRun } from '../api/types.ts'
import { drafterOf, levels, positions, rounds, share, stretches, why } from './rounds.ts'

test('few rounds are one stretch each', () => {
  const runs: RoundRun[] = [[4, 2, 2, 1], [0, 0, 1, 0]]
  assert.deepEqual(stretches(runs, 10), [
    { from: 1, to: 1, drafted: 4, stood: 2 },
    { from: 2, to: 2, drafted: 4, stood: 2 },
    { from: 3, to: 3, drafted: 0, stood: 0 },
  ])
})

test('a stretch may join rounds of several runs of equal rounds', () => {
  const list = stretches([[4, 4, 3, 1], [2, 1, 4, 2]], 3)
  assert.deepEqual(list, [
    { from: 1, to: 3, drafted: 12, stood: 12 },
    { from: 4, to: 6, drafted: 6, stood: 3 },
    { from: 7, to: 7, drafted: 2, stood: 1 },
  ])
  assert.deepEqual(list.map(rounds), [3, 3, 1])
})

test('a stretch has the drafter of most of its drafted rounds', () => {
  const runs: RoundRun[] = [[4, 2, 2, 1], [0, 0, 5, 0], [3, 1, 4, 2]]
  const [first, second] = stretches(runs, 2)
  assert.deepEqual([drafterOf(runs, first!), drafterOf(runs, second!)], [1, 2])
  assert.equal(drafterOf([[0, 0, 3, 0]], { from: 1, to: 3, drafted: 0, stood: 0 }), 0)
})

test('a drafter says why it did not draft more', () => {
  const d = { name: 'ngram', rounds: 0, drafted: 0, accepted: 0 }
  assert.equal(why(d), '–')
  assert.equal(why({ ...d, preceded: 2 }), 'another drafter comes first when a request sets the depth, in 2 rounds')
  assert.equal(why({ ...d, trials: 1, slower: 2, idle: 3, failed: 'no memory' }), 'expected to be slower in 2 rounds; nothing to draft in 3 rounds; given up: no memory')
})

test('many rounds stay few stretches', () => {
  const runs: RoundRun[] = Array.from({ length: 1000 }, (_, i) => [i % 8, 0, 3, 0])
  const list = stretches(runs, 60)
  assert.ok(list.length <= 60)
  assert.equal(list.at(-1)?.to, 3000)
  assert.equal(list.reduce((n, s) => n + s.drafted, 0), 3 * runs.reduce((n, [d]) => n + d, 0))
})

test('an answer without rounds has no stretches', () => assert.deepEqual(stretches([], 60), []))

test('each position of a block has its drafts and its accepted drafts', () => {
  assert.deepEqual(positions({ rounds: [], drafted_at: [5, 3], accepted_at: [4] }), [
    { at: 1, tried: 5, stood: 4 },
    { at: 2, tried: 3, stood: 0 },
  ])
  assert.equal(share(4, 5), '80 %')
  assert.equal(share(0, 0), '–')
})

test('a line is level from the first round of a stretch to the end of its last', () => {
  const list = stretches([[0, 0, 1, 0], [4, 2, 1, 1], [0, 0, 2, 0]], 2)
  assert.deepEqual(levels(list, (s) => s.drafted, (s) => (s.drafted > 0 ? s.stood : null)), [[1, 2.999, 3, 4.999], [4, 4, 0, 0], [2, 2, null, null]])
})
