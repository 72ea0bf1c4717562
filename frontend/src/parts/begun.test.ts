import assert from 'node:assert/strict'
import { test } from 'node:test'

import { begun } from './begun.ts'

test('a kept chat is a chat again, with its system prompt apart', () => {
  const text = '<|im_start|>system\nYou write Go.<|im_end|>\n<|im_start|>user\nWrite Index.<|im_end|>\n<|im_start|>assistant\nfunc Index() {}<|im_end|>\n'
  assert.deepEqual(begun(text), {
    kind: 'chat',
    system: 'You write Go.',
    messages: [
      { role: 'user', content: 'Write Index.' },
      { role: 'assistant', content: 'func Index() {}' },
    ],
  })
})

test('a text without speakers is code to complete', () => {
  assert.deepEqual(begun('package main\n'), { kind: 'code', system: '', messages: [{ role: 'user', content: 'package main\n' }] })
})
