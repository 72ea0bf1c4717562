import assert from 'node:assert/strict'
import { test } from 'node:test'

import { pressed, shortcuts, written, type Press } from './shortcuts.ts'

const press = (key: string, more: Partial<Press> = {}): Press => ({ key, code: '', metaKey: false, ctrlKey: false, altKey: false, shiftKey: false, ...more })

test('no two shortcuts have one key, and each has a name and a place in the menu', () => {
  const keys = shortcuts.map((s) => `${s.with} ${s.key}`)
  assert.deepEqual(keys, [...new Set(keys)])
  assert.deepEqual(shortcuts.map((s) => s.id), [...new Set(shortcuts.map((s) => s.id))])
  for (const s of shortcuts) assert.ok(s.name && ['File', 'View', 'Help'].includes(s.menu), s.id)
  assert.ok(shortcuts.length >= 14)
})

test('a key is written as on this computer', () => {
  const all = (mac: boolean): string[] => ['palette', 'completion', 'panel', 'edit', 'stop', 'help'].map((id) => written(shortcuts.find((s) => s.id === id)!, mac))
  assert.deepEqual(all(true), ['⌘K', '⇧⌘N', '⌥⌘I', '↑', 'Esc', '⌘?'])
  assert.deepEqual(all(false), ['Ctrl+K', 'Ctrl+Shift+N', 'Ctrl+Alt+I', '↑', 'Esc', 'Ctrl+?'])
})

test('each shortcut with Command or Ctrl is found by its press', () => {
  for (const mac of [true, false]) {
    for (const s of shortcuts) {
      const e = press(s.key, { metaKey: mac && s.with !== '', ctrlKey: !mac && s.with !== '', altKey: s.with === 'alt+cmd', shiftKey: s.with === 'shift+cmd' || s.key === '?' })
      assert.equal(pressed(e, mac, false)?.id, s.with === '' ? undefined : s.id)
      assert.equal(pressed(e, mac, true)?.id, s.with === '' || s.browser ? undefined : s.id)
    }
  }
})

test('other presses mean nothing', () => {
  assert.equal(pressed(press('k'), true, false), undefined)
  assert.equal(pressed(press('k', { ctrlKey: true }), true, false), undefined, 'Ctrl+K deletes to the end of a line on a Mac')
  assert.equal(pressed(press('k', { ctrlKey: true, shiftKey: true }), false, false), undefined)
  assert.equal(pressed(press('v', { metaKey: true }), true, false), undefined)
})

test('Option and other scripts do not hide a letter', () => {
  assert.equal(pressed(press('ß', { code: 'KeyS', metaKey: true, altKey: true }), true, false)?.id, 'sidebar')
  assert.equal(pressed(press('л', { code: 'KeyK', ctrlKey: true }), false, false)?.id, 'palette')
  assert.equal(pressed(press('&', { code: 'Digit1', metaKey: true }), true, false)?.id, 'playground')
})
