import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'

import type { Message } from '../api/types.ts'
import { curlOf, fileName, jsonOf, markdownOf } from './exports.ts'

const said = (role: string, content: string): Message => ({ id: 1, chat: 1, parent: 0, role, content, model: role === 'user' ? '' : 'tiny', finish: 'stop', run: 1, facts: null, created_at: '' })
const shown = [said('user', 'Why?\n'), said('assistant', 'So.')]

test('a chat becomes Markdown', () => {
  assert.equal(markdownOf('Why?', 'Be brief.', shown), '# Why?\n\n**Instructions**\n\nBe brief.\n\n**You**\n\nWhy?\n\n**tiny**\n\nSo.\n')
  assert.equal(markdownOf('Why?', ' ', []), '# Why?\n')
})

test('a chat becomes JSON with all its messages', () => {
  assert.deepEqual(JSON.parse(jsonOf({ title: 'Why?' }, shown)), { chat: { title: 'Why?' }, messages: shown })
})

test('a shell passes the body of the curl command on unchanged', () => {
  const ask = { messages: [{ role: 'user', content: `It's "$HOME" \\ \`x\`\n` }], max_tokens: 9 }
  const command = curlOf('http://127.0.0.1:8263', ask)
  assert.match(command, /^curl http:\/\/127\.0\.0\.1:8263\/v1\/chat\/completions -H/)
  const body = execFileSync('sh', ['-c', `curl() { shift 4; printf %s "$1"; }; ${command}`], { encoding: 'utf8' })
  assert.deepEqual(JSON.parse(body), { model: 'tandem', ...ask })
  assert.match(curlOf('http://x', { prompt: 'a', max_tokens: 1 }), /\/v1\/completions /)
})

test('a title becomes the name of a file', () => {
  assert.equal(fileName('Why is/it: “grün”?', 'md'), 'Why-is-it-grün.md')
  assert.equal(fileName('???', 'json'), 'chat.json')
})
