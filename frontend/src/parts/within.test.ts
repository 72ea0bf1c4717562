import assert from 'node:assert/strict'
import { test } from 'node:test'

import { within } from './within.ts'

const window = { width: 800, height: 600 }
const note = { width: 300, height: 100 }

test('a note never crosses the edge of the window', () => {
  for (const [at, want] of [
    [{ left: 50, top: 40, bottom: 60 }, { left: 50, top: 66 }],
    [{ left: 700, top: 40, bottom: 60 }, { left: 494, top: 66 }], // at the right edge
    [{ left: 0, top: 540, bottom: 560 }, { left: 6, top: 434 }], // at the foot
    [{ left: 0, top: 80, bottom: 560 }, { left: 6, top: 6 }], // no room anywhere
  ] as const)
    assert.deepEqual(within(at, note, window), want)
})
