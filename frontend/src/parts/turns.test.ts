import assert from 'node:assert/strict'
import { test } from 'node:test'

import { closed, turns } from './turns.ts'

const said = (text: string): string[] => turns(text).map((t) => `${t.who}: ${t.text}`)

test('each turn has its speaker and its text, without marks', () => {
  for (const [text, want] of [
    ['<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nWhy?\nTell.<|im_end|>\n<|im_start|>assistant\n', ['System: Be brief.', 'User: Why?\nTell.']],
    ['<bos><start_of_turn>user\nWhy?<end_of_turn>\n<start_of_turn>model\nSo.', ['User: Why?', 'Model: So.']],
    ['<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\nWhy?<|eot_id|>', ['User: Why?']],
    ['<s>[INST] First[/INST] one</s>[INST] Second[/INST] two', ['User: First', 'Model: one', 'User: Second', 'Model: two']],
    ['<|start|>assistant<|channel|>final<|message|>So.<|return|>', ['Model: So.']],
    ['the end of it.<|im_end|>\n<|im_start|>tool\nfiles<|im_end|>', [': the end of it.', 'Tool: files']],
  ] as const)
    assert.deepEqual(said(text), want)
})

test('a text without marks stays as it is', () => {
  for (const text of ['package main\n', '', '<s>struck</b> [INSTALL]', 'a <user> b']) assert.deepEqual(turns(text), [{ who: '', text }])
})

test('a message may follow only after a whole message', () => {
  for (const text of ['<|im_start|>system\nBe brief.<|im_end|>\n', 'x<end_of_turn>\n', 'x<|eot_id|>']) assert.ok(closed(text), text)
  for (const text of ['package main\n', '', '<|im_end|>\n<|im_start|>assistant\n', '<|im_start|>user\nhalf']) assert.ok(!closed(text), text)
})
