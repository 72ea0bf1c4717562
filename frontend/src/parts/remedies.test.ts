import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'

import { remedies, remedyOf, told } from './remedies.ts'

Object.assign(globalThis, { location: new URL('http://localhost/'), sessionStorage: { getItem: () => null }, BroadcastChannel: class {} })
const { failureOf } = await import('../api/client.ts')

test('a failure has a remedy where one is known', () => {
  assert.equal(remedyOf({ error: 'model_not_found', message: 'There is no model x.' })?.href, '#/models/more')
  assert.equal(remedyOf({ error: 'invalid_request', message: 'temperature must be a number.' }), null)
  assert.equal(remedyOf({ error: 'model_not_loaded', message: 'two is not loaded … (load_on_request is never).' })?.href, '#/settings')
  assert.equal(remedyOf({ error: 'model_not_loaded', message: 'two needs 9 GiB, but only 1 GiB are left.' })?.href, '#/models')
})

test('a prompt that did not fit says how many tokens it had, and offers no context before one is known to help', () => {
  const message = (tokens: string): string => `This model's maximum context length is 8192 tokens. However, you requested ${tokens} tokens in the prompt.`
  for (const error of ['invalid_request', 'context_length_exceeded: messages']) {
    const remedy = remedyOf({ error, message: message('9031') })
    assert.deepEqual([remedy?.tokens, remedy?.href], [9031, undefined])
  }
  assert.equal(remedyOf({ error: 'context_length_exceeded', message: message('at least 9031') })?.tokens, 9031)
})

const run = { error: 'model_not_found: model', message: 'The model … is not installed.', model: 'org/coder' }

test('a failure with a field after its code has a remedy, and the name of its model', () => {
  assert.equal(remedyOf(run)?.href, '#/models/more')
  assert.equal(told(run), 'The model “org/coder” is not installed.')
})

test('other failures are told as they were', () => {
  assert.equal(remedyOf({ ...run, error: 'invalid_request' }), null)
  assert.equal(told({ ...run, error: 'invalid_request: …', message: 'A … here.' }), 'A … here.')
  assert.equal(told({ ...run, error: 'internal', message: '' }), 'internal')
})

test('the window leaves out what an error says for a terminal', () => {
  const advice = '`tandem list` shows the installed models.'
  const failure = failureOf({ message: `The model "x" is not installed. ${advice}`, advice, code: 'model_not_found' }, 404)
  assert.deepEqual([failure.message, failure.code, failure.status], ['The model "x" is not installed.', 'model_not_found', 404])
  assert.equal(failureOf({ message: 'It is so.' }, 400).message, 'It is so.')
  assert.equal(failureOf({}, 502).message, 'Tandem answered 502.')
})

test('no sentence of the window has a command of the terminal, except in code', () => {
  const command = /`[^`$]|\btandem (?!that\b)[a-z]+\b/
  for (const [code, { text, button }] of Object.entries(remedies)) assert.doesNotMatch(`${text} ${button ?? ''}`, command, code)
  const src = new URL('../', import.meta.url)
  for (const name of readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((n) => /(?<!\.test)\.(ts|svelte)$/.test(n))) {
    const text = readFileSync(new URL(name, src), 'utf8').replaceAll(/\/\*.*?\*\/|<!--.*?-->|(?<=^|\s)\/\/.*?$|<code>.*?<\/code>/gms, '')
    assert.doesNotMatch(text, /\btandem (?:open|serve|run|runs|pull|list|models|checkpoints|keys|settings|use|rm|ps|stop|doctor|launch)\b/, name)
    for (const [literal] of text.matchAll(/'(?:[^'\\\n]|\\.)*'/g)) assert.doesNotMatch(literal, /`\w[^`]*`/, name)
  }
})
