import assert from 'node:assert/strict'
import { test } from 'node:test'

import { ago, bytes, count, cut, drafterName, drafterNames, duration, ended, figure, memory, saved } from './format.ts'

test('amounts are short and have a unit or a noun', () => {
  for (const [n, want] of [[0, '0 bytes'], [999, '999 bytes'], [1000, '1.0 kB'], [12_345, '12.3 kB'], [999_999, '1.0 MB'], [4_400_000_000, '4.4 GB']] as const) {
    assert.equal(bytes(n), want)
  }
  for (const [n, want] of [[16 * 2 ** 30, '16 GiB'], [5.12 * 2 ** 30, '5.1 GiB'], [51 * 2 ** 20, '51 MiB'], [0, '0 MiB']] as const) assert.equal(memory(n), want)
  assert.deepEqual([saved(-1), saved(0.4), saved(1200)], ['–', '–', duration(1200)], 'a restore that took longer than reading saved nothing')
  assert.deepEqual([figure(0), figure(0.078), figure(0.96), figure(4.6), figure(1210)], ['–', '0.08', '1', '5', '1,210'])
  assert.equal(count(1, 'run'), '1 run')
  assert.equal(count(12_000, 'run'), '12,000 runs')
})

test('the end of an answer is told in plain words, with its limit', () => {
  assert.equal(ended('length'), 'hit the limit')
  assert.equal(ended('another'), 'another')
  assert.equal(cut({ predicted_n: 1024 }, 1024), 'stopped at 1,024 tokens')
  assert.equal(cut({ predicted_n: 7 }, 0), 'stopped at 7 tokens')
  assert.match(cut({ predicted_n: 1 }, 1024), /^stopped after 1 token: the context is full/)
})

test('times are short and have a unit', () => {
  for (const [ms, want] of [[12.4, '12 ms'], [1500, '1.5 s'], [61_000, '61 s'], [600_000, '10 min']] as const) assert.equal(duration(ms), want)
  const now = Date.parse('2026-11-22T12:00:00Z')
  for (const [time, want] of [['2026-11-22T11:59:30Z', 'just now'], ['2026-11-22T11:30:00Z', '30 min ago'], ['2026-11-22T07:00:00Z', '5 h ago'], ['2026-11-20T12:00:00Z', '2 days ago'], ['2026-11-22T12:00:05Z', 'just now']] as const) {
    assert.equal(ago(time, now), want)
  }
})

test('drafters have names that hold for every program and model', () => {
  assert.equal(drafterName('memory'), 'earlier prompts and answers')
  assert.equal(drafterName('lookup+mtp'), 'a match, and multi-token prediction (MTP) from its end on')
  assert.equal(drafterNames('dflash'), 'a DFlash drafter, or earlier text where that is faster')
  assert.equal(drafterNames('ngram'), 'earlier text')
})
