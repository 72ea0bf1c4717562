import assert from 'node:assert/strict'
import { test } from 'node:test'

import { remedyOf } from './remedies.ts'

test('a failure has a remedy where one is known', () => {
  const too = { error: 'invalid_request', message: 'This model’s maximum context length is 8192 tokens. However, you requested 9031 tokens.' }
  assert.equal(remedyOf(too)?.button, 'Set a longer context')
  assert.equal(remedyOf({ error: 'model_not_found', message: 'There is no model x.' })?.href, '#/models/more')
  assert.equal(remedyOf({ error: 'invalid_request', message: 'temperature must be a number.' }), null)
})
