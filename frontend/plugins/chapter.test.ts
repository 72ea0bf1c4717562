import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'

import { chapter } from './chapter.ts'

test('a chapter ends where the next one begins', () => {
  const page = '# Page\n\n## One\n\nfirst\n\n### Part\n\nof it\n\n## Two\n\nsecond\n'
  assert.equal(chapter(page, 'One'), 'first\n\n### Part\n\nof it')
  assert.equal(chapter(page, 'Two'), 'second')
  assert.throws(() => chapter(page, 'Part'), /no chapter “Part”/)
})

test('the chapter that Help shows is short, and has no links to files that a window lacks', () => {
  const text = chapter(readFileSync(new URL('../../app/README.md', import.meta.url), 'utf8'), 'In short')
  const words = text.split(/\s+/).length
  assert.ok(words > 200 && words <= 600, `${words} words`)
  assert.doesNotMatch(text, /\]\(/)
})
