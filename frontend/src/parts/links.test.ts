import assert from 'node:assert/strict'
import { test } from 'node:test'

import { pieces } from './links.ts'

test('web addresses in a sentence become links, without the marks after them', () => {
  for (const [sentence, want] of [
    ['nothing here', ['nothing here']],
    ['', []],
    ['open https://hub.test/org/name, accept its terms', ['open ', '<https://hub.test/org/name>', ', accept its terms']],
    ['see https://hub.test/a/tree/main.', ['see ', '<https://hub.test/a/tree/main>', '.']],
    ['(http://a.test) and javascript:alert(1)', ['(', '<http://a.test>', ') and javascript:alert(1)']],
  ] as const) {
    assert.deepEqual(pieces(sentence).map((p) => (p.href ? `<${p.href}>` : p.text)), want)
  }
})
