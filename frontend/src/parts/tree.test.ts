import assert from 'node:assert/strict'
import { test } from 'node:test'

import { continued, guides, texts, tree } from './tree.ts'

const nodes = (...pairs: string[]): { id: string; parent: string }[] => pairs.map((p) => ({ id: p[0]!, parent: p.slice(1) }))

test('a row stands below the row that it continues', () => {
  const rows = tree(nodes('a', 'cb', 'ba', 'da', 'ex', 'fd'))
  assert.deepEqual(
    rows.map((r) => `${r.of.id}${r.depth}${r.above.join('')}`),
    ['a0', 'b1a', 'c1ab', 'd1a', 'f1ad', 'e0'],
  )
})

test('a line of rows is folded into its newest row', () => {
  // a, b, c in a line; d and e go on from c, and f from d.
  const rows = tree(nodes('a', 'ba', 'cb', 'dc', 'ec', 'fd', 'x'))
  const said = (alone: string): string[] => texts(rows, (n) => alone.includes(n.id)).map((t) => `${t.earlier.map((r) => r.of.id).join('')}>${t.of.id}`)
  assert.deepEqual(said(''), ['ab>c', 'd>f', '>e', '>x'])
  assert.deepEqual(said('ad'), ['>a', 'b>c', '>d', '>f', '>e', '>x'])
})

test('a tree without nodes has no rows', () => assert.deepEqual(tree([]), []))

test('a line of 2000 nodes has 2000 rows', () => {
  const line = Array.from({ length: 2000 }, (_, i) => ({ id: `${i}`, parent: i === 0 ? '' : `${i - 1}` }))
  assert.equal(tree(line).length, 2000)
})

test('texts that only begin alike are two texts', () => {
  const part = (id: string, parent: string, kind: string, from_token: number, to_token: number) => ({ id, parent, kind, from_token, to_token })
  const parents = (...more: ReturnType<typeof part>[]): string => {
    const nodes = [part('p', '', 'prompt', 0, 37), part('a', 'p', 'answer', 37, 90), part('q', 'a', 'prompt', 90, 120), ...more]
    return continued(nodes).map((n) => n.parent).join(' ')
  }
  assert.equal(parents(), ' p a')
  assert.equal(parents(part('x', 'p', 'prompt', 8, 30), part('y', 'x', 'prompt', 3, 11)), ' p a  ')
  assert.equal(parents(part('x', 'q', 'prompt', 95, 130)), ' p a a') // another question after the answer
  assert.equal(parents(part('x', 'q', 'prompt', 20, 130)), ' p a ')
  assert.equal(parents(part('x', 'a', 'prompt', 40, 130)), ' p a a') // without the thought
  assert.equal(parents(part('x', 'a', 'answer', 40, 99)), ' p a p') // another answer
  assert.equal(parents(part('x', 'q', 'prompt', 95, 130), part('z', 'x', 'prompt', 92, 99)), ' p a a a')
  assert.equal(parents(part('x', 'gone', 'prompt', 40, 130)), ' p a ')
})

test('a line is drawn as far as its last branch', () => {
  const said = guides([0, 1, 2, 2, 1, 0, 1].map((depth) => ({ depth }))).map((g) => g.map((x) => x[0]).join(''))
  assert.deepEqual(said, ['', 'b', 'pb', 'pl', 'l', '', 'l'])
  assert.deepEqual(guides([]), [])
})
