import assert from 'node:assert/strict'
import { test } from 'node:test'

import { afterTest, notSeen, seenAt } from './seen.ts'

const seen = [
  { client: 'Zed/1.2.3 (macos)', at: '2026-11-27T10:00:00Z' },
  { client: 'Zed on the laptop', at: '2026-11-27T11:00:00Z' },
  { client: 'codex_cli_rs/0.1', at: '2026-11-27T09:00:00Z' },
  { client: 'OpenAI/Python 1.0', at: '2026-11-27T08:00:00Z' },
  { client: 'aider/0.9', at: '2026-11-27T07:00:00Z' },
]

test('a program is known by its agent and by the name of its key', () => {
  assert.equal(seenAt({ id: 'zed', name: 'Zed' }, seen), '2026-11-27T11:00:00Z')
  assert.equal(seenAt({ id: 'codex', name: 'Codex CLI' }, seen), '2026-11-27T09:00:00Z')
  assert.equal(seenAt({ id: 'python', name: 'OpenAI for Python' }, seen), '2026-11-27T08:00:00Z')
  assert.equal(seenAt({ id: 'aider', name: 'Aider' }, seen), '2026-11-27T07:00:00Z')
  assert.equal(seenAt({ id: 'cline', name: 'Cline' }, seen), '')
})

test('a program that names its library alone is not said to be missing', () => {
  assert.equal(notSeen('zed'), 'not connected yet')
  assert.equal(notSeen('aider'), 'shown in Runs as Python')
  assert.equal(notSeen('continue'), 'shown in Runs as Node')
  assert.equal(afterTest('zed'), 'it will show up here as connected')
  assert.equal(afterTest('aider'), 'it will be shown in Runs as Python')
})
