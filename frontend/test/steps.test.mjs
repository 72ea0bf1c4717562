// What people come for takes few steps. Each test does one task as a person would, and counts.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, test } from 'node:test'

import { ask, launch, open } from './browser.mjs'
import { atMost, person } from './person.mjs'
import { given, short, until } from './playground.mjs'
import { scene, visit } from './scene.mjs'
import { model, serve } from './server.mjs'

let browser, tandem, still

const choice = async (page) => (await ask(page, '/app/state')).loaded?.id

// Two models are on the disk, and one of them is chosen.
before(async () => {
  browser = await launch()
  still = await scene()
  tandem = await serve({ HF_HUB_OFFLINE: '1' })
  const { context, page } = await open(browser, { link: tandem.link })
  for (const name of ['other', 'mine']) {
    const path = join(tandem.dir, '.lmstudio', 'models', 'maker', name)
    model(path)
    await ask(page, '/app/models', { path, id: `maker/${name}` })
  }
  await ask(page, '/app/load', { model: 'maker/mine' })
  await until('chosen model', async () => (await choice(page)) === 'maker/mine')
  await context.close()
})
after(async () => {
  await browser.close()
  await tandem.stop()
  still.close()
})

// start opens the window as it is when a person comes to it.
async function start(options) {
  const all = await open(browser, { link: tandem.link, ...options })
  await all.context.grantPermissions(['clipboard-read', 'clipboard-write'])
  return { ...all, who: person(all.page) }
}
const answered = (page) => page.locator('.chat .assistant .markdown').filter({ hasText: /\w/ }).waitFor({ timeout: 60_000 })
const clip = (page) => page.evaluate(() => navigator.clipboard.readText())

test('the first answer of a model on the disk', async () => {
  const { context, page, problems, who } = await start()
  await short(page, 16)
  await who.type('What is the capital of France?')
  await who.press('Enter')
  await answered(page)
  atMost('first answer with a model on disk', who.steps, 2, 4)
  assert.deepEqual(problems, [])
  await context.close()
})

test('the first answer on the very first visit', async () => {
  const first = await start()
  await ask(first.page, '/app/welcome', { done: false })
  await first.context.close()
  const { context, page, problems, who } = await start({ welcome: true })
  await short(page, 16)
  await who.press('Enter') // “Try it now” has the focus
  await who.click(page.getByRole('button', { name: 'What is the capital of France?', exact: true }))
  await answered(page)
  atMost('first answer on the very first visit', who.steps, 2, 4)
  assert.deepEqual(problems, [])
  await context.close()
})

test('another model within a chat', async () => {
  const { context, page, problems } = await start()
  await short(page, 8)
  const before = person(page)
  await before.type('Who are you?')
  await before.press('Enter')
  await answered(page)
  await page.getByRole('button', { name: 'Send', exact: true }).waitFor({ timeout: 60_000 })
  const chat = page.url()
  const who = person(page)
  const pill = page.locator('[data-action="model"]')
  await who.click(pill)
  await who.click(page.getByRole('group', { name: 'Models' }).getByRole('button', { name: /^other\b/ }))
  await pill.getByText('other').waitFor()
  atMost('change the model within a chat', who.steps, 2, '3, leaving it')
  assert.equal(page.url(), chat)
  await who.type('And now?') // the focus is there
  await who.press('Enter')
  await page.locator('.speaker').filter({ hasText: 'other' }).waitFor({ timeout: 60_000 })
  assert.deepEqual(problems, [])
  await context.close()
})

test('why the last request of an agent was slow', async () => {
  const { context, page, problems, go } = await visit(browser, still.url)
  const inView = (what) => what.evaluate((e) => {
    const { top, bottom } = e.getBoundingClientRect()
    const pane = e.closest('.pane').getBoundingClientRect()
    return top >= pane.top && bottom <= pane.bottom + 0.5
  })
  await go('now')
  const reason = page.getByText('Claude Code puts the time into its prompt, so 18,166 tokens are re-read on every request.')
  await reason.waitFor()
  atMost('why was it slow, from Now', (await inView(reason)) ? 0 : 1, 0, '2 and 10 facts')
  await go('runs')
  const who = person(page)
  await who.click(page.getByRole('row').filter({ hasText: 'Claude Code' }).first())
  const cause = page.getByText('53 s, of which 47 s went into re-reading 2,721 tokens.')
  await cause.waitFor()
  assert.ok(await inView(cause))
  await page.getByText('The prompt is the same as run 202’s up to token 20.').waitFor()
  atMost('why was it slow, from Runs', who.steps, 1, '2 and 10 facts')
  assert.deepEqual(problems, [])
  await context.close()
})

test('a chat is found by a word that was said in it', async () => {
  const { context, page, problems, who } = await start()
  const word = `gearbox${Date.now()}`
  const { id } = await ask(page, '/app/chats', { kind: 'chat', title: '', system: '', options: null })
  const message = { finish: '', run: 0, facts: null, model: '' }
  const first = await ask(page, `/app/chats/${id}/messages`, { ...message, parent: 0, role: 'user', content: 'How does it shift?' })
  await ask(page, `/app/chats/${id}/messages`, { ...message, parent: first.id, role: 'assistant', content: `The ${word} has six of them.`, finish: 'stop' })
  await who.press('Control+k')
  await who.type(word)
  const row = page.getByRole('option').filter({ hasText: 'has six of them' })
  await row.locator('mark').getByText(word).waitFor()
  atMost('find a chat by a word said in it, with the words', who.steps, 2, '3, without the words')
  await row.click()
  await page.locator('.said').getByText('How does it shift?').waitFor()
  await page.getByRole('search', { name: 'In the page' }).getByText('1 of 1').waitFor()
  assert.deepEqual(problems, [])
  await context.close()
})

test('an editor that Tandem knows is connected', async () => {
  const { context, page, problems } = await start()
  const who = person(page)
  await who.click(page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Connect' }))
  const tile = page.locator('.program').filter({ has: page.getByText('Zed', { exact: true }) })
  const sheet = page.getByRole('dialog', { name: 'Zed' })
  await who.click(page.getByRole('button', { name: 'Copy the settings for Zed' }))
  await sheet.getByText('Copied').waitFor()
  const { origin } = new URL(page.url())
  assert.ok((await clip(page)).includes(`${origin}/v1`))
  // The editor asks.
  const asked = await fetch(`${origin}/v1/completions`, { method: 'POST', headers: { 'Content-Type': 'application/json', 'User-Agent': 'Zed/0.214.0' }, body: JSON.stringify({ model: 'tandem', prompt: 'package main', max_tokens: 2 }) })
  assert.equal(asked.status, 200)
  await sheet.getByText('Connected: seen just now.').waitFor()
  atMost('connect an editor', who.steps, 2, '3, without a word that it is connected')
  await page.keyboard.press('Escape')
  await tile.getByText('seen just now').waitFor()
  assert.deepEqual(problems, [])
  await context.close()
})

test('a question about a file', async () => {
  const { context, page, problems, who } = await start()
  await short(page, 8)
  await who.drop('worker.go', 'package worker\n')
  await page.locator('.composer').getByRole('listitem').filter({ hasText: /worker\.go\d+ tokens/ }).waitFor()
  atMost('put a file to a question', who.steps, 1, 'impossible')
  const asked = page.waitForRequest('**/v1/chat/completions')
  await who.type('What is in it?')
  await who.press('Enter')
  assert.match((await asked).postDataJSON().messages[0].content, /^worker\.go:\n```\npackage worker\n```\n\nWhat is in it\?$/)
  await answered(page)
  assert.deepEqual(problems, [])
  await context.close()
})

test('a chat for a colleague', async () => {
  const { context, page, problems } = await start()
  ;(await given(page, '/v1/chat/completions', 'It is **so**.'))()
  const before = person(page)
  await before.type('Is it so?')
  await before.press('Enter')
  await answered(page)
  const who = person(page)
  await who.click(page.getByRole('button', { name: 'Export the chat' }))
  await who.click(page.getByRole('button', { name: 'Copy as Markdown' }))
  await page.getByText('Copied').first().waitFor()
  atMost('send a chat to a colleague', who.steps, 2, 'impossible')
  assert.match(await clip(page), /^# Is it so\?\n\n\*\*You\*\*\n\nIs it so\?\n\n\*\*pocket\*\*\n\nIt is \*\*so\*\*\.\n$/)
  assert.deepEqual(problems, [])
  await context.close()
})
