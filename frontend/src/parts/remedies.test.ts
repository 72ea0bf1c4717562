import assert from 'node:assert/strict'
import { test } from 'node:test'

import { remedyOf, told } from './remedies.ts'

test('a failure has a remedy where one is known', () => {
  const too = { error: 'invalid_request', message: 'This model’s maximum context length is 8192 tokens. However, you requested 9031 tokens.' }
  assert.equal(remedyOf(too)?.button, 'Set a longer context')
  assert.equal(remedyOf({ error: 'model_not_found', message: 'There is no model x.' })?.href, '#/models/more')
  assert.equal(remedyOf({ error: 'invalid_request', message: 'temperature must be a number.' }), null)
})

const run = { error: 'model_not_found: model', message: 'The model … is not registered.', model: 'org/coder' }

test('a failure with a field after its code has a remedy, and the name of its model', () => {
  assert.equal(remedyOf(run)?.href, '#/models/more')
  assert.equal(told(run), 'The model “org/coder” is not registered.')
})

test('other failures are told as they were', () => {
  assert.equal(remedyOf({ ...run, error: 'invalid_request' }), null)
  assert.equal(told({ ...run, error: 'invalid_request: …', message: 'A … here.' }), 'A … here.')
  assert.equal(told({ ...run, error: 'internal', message: '' }), 'internal')
  assert.equal(remedyOf({ error: 'context_length_exceeded', message: 'This model’s maximum context length is 8192 tokens.', model: 'org/coder' })?.href, '#/models/?settings=org%2Fcoder')
})
