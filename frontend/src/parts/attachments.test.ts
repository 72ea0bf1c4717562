import assert from 'node:assert/strict'
import { test } from 'node:test'

import { attach, mostAttached, textOf } from './attachments.ts'

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

test('files stand before the words, each in a fence of its own', () => {
  assert.equal(
    attach([{ name: 'a.go', text: 'package a', tokens: 2 }, { name: 'b.md', text: '````\nx\n````\n', tokens: 0 }], 'Compare.'),
    'a.go:\n```\npackage a\n```\n\nb.md:\n`````\n````\nx\n````\n`````\n\nCompare.',
  )
  assert.equal(attach([], 'Hello.'), 'Hello.')
})

test('a file that is no text, or too large, is refused by its name', () => {
  assert.equal(textOf('a.txt', bytes('grün')), 'grün')
  assert.throws(() => textOf('a.png', new Uint8Array([0x89, 0x50, 0xff])), /a\.png is not a text/)
  assert.throws(() => textOf('a.bin', bytes('a\0b')), /a\.bin is not a text/)
  assert.throws(() => textOf('a.log', new Uint8Array(mostAttached + 1)), /a\.log is too large/)
})
