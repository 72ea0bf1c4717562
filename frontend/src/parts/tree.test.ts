import assert from 'node:assert/strict'
import { test } from 'node:test'

import { texts, tree } from './tree.ts'

const nodes = (...pairs: string[]): { id: string; parent: string }[] => pairs.map((p) => ({ id: p[0]!, parent: p.slice(1) }))

test('a tree', () => {
  const rows = tree(nodes('a', 'cb', 'ba', 'da', 'ex', 'fd'))
  assert.deepEqual(
    rows.map((r) => `${r.of.id}${r.depth}${r.above.join('')}`),
    ['a0', 'b1a', 'c1ab', 'd1a', 'f1ad', 'e0'],
  )
})

test('texts', () => {
  // a, b, c in a line; d and e go on from c, and f from d.
  const rows = tree(nodes('a', 'ba', 'cb', 'dc', 'ec', 'fd', 'x'))
  const said = (alone: string): string[] => texts(rows, (n) => alone.includes(n.id)).map((t) => `${t.earlier.map((r) => r.of.id).join('')}>${t.of.id}`)
  assert.deepEqual(said(''), ['ab>c', 'd>f', '>e', '>x'])
  assert.deepEqual(said('ad'), ['>a', 'b>c', '>d', '>f', '>e', '>x'])
})

test('no nodes', () => assert.deepEqual(tree([]), []))

test('a long line', () => {
  const line = Array.from({ length: 2000 }, (_, i) => ({ id: `${i}`, parent: i === 0 ? '' : `${i - 1}` }))
  assert.equal(tree(line).length, 2000)
})
