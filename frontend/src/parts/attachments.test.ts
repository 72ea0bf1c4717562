import assert from 'node:assert/strict'
import { test } from 'node:test'

import { attach, mostAttached, textOf } from './attachments.ts'

test('files stand before the words, each in a fence of its own', () => {
  assert.equal(
    attach([{ name: 'a.go', text: 'package a', tokens: 2 }, { name: 'b.md', text: '````\nx\n````\n', tokens: 0 }], 'Compare.'),
    'a.go:\n```\npackage a\n```\n\nb.md:\n`````\n````\nx\n````\n`````\n\nCompare.',
  )
  assert.equal(attach([], 'Hello.'), 'Hello.')
  const fences = '```\n'.repeat(200_000)
  assert.equal(attach([{ name: 'c.md', text: fences, tokens: 0 }], ''), `c.md:\n\`\`\`\`\n${fences}\`\`\`\`\n\n`)
})

test('a file that is no text, or too large, is refused by its name', async () => {
  assert.equal(await textOf(new File(['grün'], 'a.txt')), 'grün')
  await assert.rejects(textOf(new File([new Uint8Array([0x89, 0x50, 0xff])], 'a.png')), /a\.png is not a text/)
  await assert.rejects(textOf(new File(['a\0b'], 'a.bin')), /a\.bin is not a text/)
})

test('a file that is too large is refused unread', async () => {
  const film = new File([new Uint8Array(mostAttached + 1)], 'a.mov')
  film.arrayBuffer = () => assert.fail('it is read')
  await assert.rejects(textOf(film), /a\.mov is too large/)
})
