import assert from 'node:assert/strict'
import { test } from 'node:test'

import type { Run } from '../api/types.ts'
import { adviceOf, cause, changeOf, compared, isTime, reread } from './cause.ts'
import { lengthOf, phasesOf } from './phases.ts'

const run = (of: Partial<Run>): Run => ({ id: 203, client: 'claude', prompt_tokens: 2741, cached_tokens: 20, completion_tokens: 60, queue_ms: 0, load_ms: 0, restore_ms: 0, prefill_ms: 47_000, first_token_ms: 47_000, total_ms: 53_000, ...of }) as Run
const parted = { at: 20, kept: '4', given: '5', answer: false }

test('a run says first what took longest', () => {
  assert.equal(cause(run({ parted })), '53 s, of which 47 s went into re-reading 2,721 tokens.')
  assert.equal(cause(run({})), '53 s, of which 47 s went into reading 2,721 tokens.')
  assert.equal(cause(run({ first_token_ms: 500, prefill_ms: 400, total_ms: 2600, completion_tokens: 1 })), '2.6 s, of which 2.1 s went into writing 1 token.')
  assert.equal(cause(run({ queue_ms: 50_000, prefill_ms: 2000 })), '53 s, of which 50 s went into waiting for other requests.')
  assert.equal(cause(run({ load_ms: 50_000, prefill_ms: 2000 })), '53 s, of which 50 s went into loading the model.')
  assert.equal(cause(run({ beside_ms: 40_000 })), '53 s, of which 40 s went into waiting for other requests.')
  assert.match(adviceOf(run({ beside_ms: 40_000 }))?.text ?? '', /^Other requests were answered first/)
  assert.equal(cause(run({ restore_ms: 50_000, prefill_ms: 0, first_token_ms: 53_000 })), '53 s, of which 50 s went into restoring 20 tokens from checkpoints.')
  assert.equal(cause(run({ prefill_ms: 0, first_token_ms: 0, total_ms: 12 })), 'It took 12 ms.')
})

test('a run that parts from an earlier one has read again what was not ready', () => {
  assert.deepEqual([run({ parted }), run({}), run({ parted, cached_tokens: 2000 })].map((r) => reread(r)), [2721, 0, 0])
  // The text of another program says nothing of this one.
  const of = { ...parted, run: 1 }
  assert.deepEqual(['claude', 'zed/1'].map((client) => reread(run({ parted: of }), [run({ id: 1, client })])), [2721, 0])
})

test('a run is compared with the one that it parted from', () => {
  const other = run({ id: 202, prefill_ms: 100, first_token_ms: 100, total_ms: 5700 })
  assert.equal(compared(run({}), other), 'Run 202 took 5.7 s, from the same client. Here: reading +47 s, writing +400 ms.')
  assert.equal(compared(run({}), run({ id: 202, client: 'zed' })), 'Run 202 took 53 s, the same in each phase.')
})

test('a ribbon has the phases that took time, and a length that can be seen', () => {
  assert.deepEqual(phasesOf(run({})), [
    { phase: 'read', ms: 47_000 },
    { phase: 'written', ms: 6000 },
  ])
  assert.deepEqual([lengthOf(100, 100), lengthOf(25, 100), lengthOf(0, 100), lengthOf(1, 0)], [100, 50, 4, 4])
})

test('advice is given for what a person can change', () => {
  assert.match(adviceOf(run({ parted }))?.text ?? '', /at the end of the prompt/)
  assert.match(adviceOf(run({ parted: { ...parted, answer: true } }))?.text ?? '', /earlier answers unchanged/)
  assert.equal(adviceOf(run({ load_ms: 90_000 }))?.href, '#/settings')
  assert.match(adviceOf(run({ queue_ms: 90_000 }))?.text ?? '', /answered first/)
  assert.equal(adviceOf(run({})), null)
})

test('what changed in a prompt is told in whole words', () => {
  const tokens = { at: 20, kept: '4', given: '5', answer: false, run: 1 }
  assert.deepEqual(changeOf({ ...tokens, before: 'Today is 2026-11-2', kept_text: '4. You have', given_text: '5. You have' }), { before: '…Today is ', kept: '2026-11-24', given: '2026-11-25' })
  assert.deepEqual(changeOf({ ...tokens, before: 'at 13:', kept_text: '31', given_text: '42' }), { before: '…at ', kept: '13:31', given: '13:42' })
  // Without the texts the tokens stand alone.
  assert.deepEqual(changeOf(tokens), { before: '', kept: '4', given: '5' })
  // One is the beginning of the other.
  assert.deepEqual(changeOf({ ...tokens, before: 'a ', kept_text: 'b c', given_text: 'c' }), { before: '…a ', kept: 'b c', given: 'c' })
})

test('a time or date that changes is known as one', () => {
  assert.ok(isTime({ before: '', kept: '13:31', given: '13:42' }))
  assert.ok(isTime({ before: '', kept: '2026-11-24', given: '2026-11-25.' }))
  assert.ok(!isTime({ before: '', kept: '4', given: '5' }))
  assert.ok(!isTime({ before: '', kept: 'noon', given: '13:42' }))
})
