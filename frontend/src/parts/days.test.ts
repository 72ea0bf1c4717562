import assert from 'node:assert/strict'
import { test } from 'node:test'

import { byDay } from './days.ts'

test('chats stand below their days', () => {
  const now = new Date(2026, 10, 27, 0, 30)
  const at = (...when: [number, number, number, number]): { updated_at: string } => ({ updated_at: new Date(...when).toISOString() })
  const [fresh, late, early, old] = [at(2026, 10, 27, 0), at(2026, 10, 26, 23), at(2026, 10, 26, 0), at(2026, 10, 25, 23)]
  assert.deepEqual(byDay([fresh, late, early, old] as { updated_at: string }[], now), [
    { name: 'Today', list: [fresh] },
    { name: 'Yesterday', list: [late, early] },
    { name: 'Older', list: [old] },
  ])
  const pin = { ...(old as { updated_at: string }), pinned: true }
  assert.deepEqual(byDay([pin, fresh] as { updated_at: string }[], now).map((d) => d.name), ['Pinned', 'Today'])
  assert.deepEqual(byDay([], now), [])
  assert.deepEqual(byDay([old as { updated_at: string }], now), [{ name: 'Older', list: [old] }])
})
