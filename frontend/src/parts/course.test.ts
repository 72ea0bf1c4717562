import assert from 'node:assert/strict'
import { test } from 'node:test'

import type { Active } from '../api/types.ts'
import { before, Course, phaseOf, runOf } from './course.ts'

const request = (more: Partial<Active>): Active => ({ run_id: 7, endpoint: '', model: 'm', client: 'Tandem', started_at: '', prompt_done: 0, prompt_tokens: 100, completion_tokens: 0, per_second: 0, verifies: 0, drafted: 0, accepted: 0, ...more })
const loading = { id: 'm', done: 1, total: 4 }

test('a request waits, loads, reads or restores', () => {
  const own = request({})
  const other = request({ run_id: 6, client: 'Zed', prompt_done: 50 })
  const phase = (of: Active | undefined, l: typeof loading | null = null): string => phaseOf(of, { loading: l })
  assert.equal(phase(undefined), 'queue')
  assert.equal(phase(request({ prompt_tokens: 0 }), loading), 'load')
  assert.equal(phase(own), 'queue', 'it is in the queue')
  assert.equal(phase(request({ begun: true })), 'read', 'the first part of a long prompt takes a while')
  assert.equal(phase(request({ begun: true, prompt_done: 60, prompt_restored: 60 })), 'read')
  assert.equal(phase(request({ restoring_since: 'then' })), 'restored')
  assert.equal(phase(request({ restoring_since: 'then', begun: true })), 'read')
  assert.equal(phase(request({ begun: true, prompt_done: 70, prompt_restored: 60 })), 'read')
  assert.equal(before(own, [other, own]), other)
  assert.equal(before(own, [request({ run_id: 6, model: 'other' }), own]), undefined, 'another model waits for nobody')
  assert.equal(before(request({ prompt_done: 1 }), [other]), undefined)
  assert.equal(before(request({ restoring_since: 'then' }), [other]), undefined, 'its own checkpoint is read')
  assert.equal(before(request({ begun: true }), [other]), undefined, 'both are read')
})

test('the request of an answer is known before the server names its run', () => {
  const list = [request({ run_id: 3, completion_tokens: 5 }), request({ run_id: 4, client: 'Zed' }), request({ run_id: 5 })]
  assert.equal(runOf(list, 0)?.run_id, 5)
  assert.equal(runOf(list, 4)?.run_id, 4)
  assert.equal(runOf(list, 9), undefined)
})

test('time counts for what a look sees', () => {
  const course = new Course(1000)
  course.look('queue', 1500)
  course.look('load', 3500)
  course.look('restored', 3600)
  course.look('restored', 4600)
  course.look('read', 4700)
  assert.deepEqual(course.look('written', 5600), [
    { phase: 'queue', ms: 500 },
    { phase: 'load', ms: 2000 },
    { phase: 'restored', ms: 1100 },
    { phase: 'read', ms: 100 },
    { phase: 'written', ms: 900 },
  ])
})
