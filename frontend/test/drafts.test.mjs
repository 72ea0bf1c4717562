// What a person began and has not sent: it stays with its chat, and goes as a whole.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'

import { launch } from './browser.mjs'
import { back, chat, given, options, playground, talk, until } from './playground.mjs'

let browser

before(async () => {
  browser = await launch()
})
after(() => browser.close())

const file = (name, text = `# ${name}\n`) => ({ name, mimeType: 'text/plain', buffer: Buffer.from(text) })
const chips = (page) => page.locator('.composer').getByRole('list', { name: 'Files' }).getByRole('listitem')
const field = (page) => page.getByLabel('Message', { exact: true })

test('files, instructions and an open edit wait in their chat', async () => {
  const { context, page, problems } = await playground(browser)
  await (await given(page, '/v1/chat/completions', 'Yes.'))()
  await chat(page)
  await talk(page, 'First?')
  const first = page.url()
  await page.locator('input[type=file]').setInputFiles([file('a.md'), file('b.md'), file('c.md')])
  await chips(page).nth(2).waitFor()
  await field(page).fill('Compare them.')
  await page.getByRole('button', { name: 'Edit the message' }).click()
  const edit = page.getByRole('textbox', { name: 'Edit the message' })
  await edit.fill('First, and why?')

  // A new chat has its own.
  const fresh = () => page.getByRole('button', { name: 'New chat' }).click()
  await fresh()
  await page.getByRole('heading', { name: 'New chat' }).waitFor()
  assert.equal(await chips(page).count(), 0)
  await options(page)
  await page.getByLabel('System prompt').fill('Be brief.')
  await page.locator('input[type=file]').setInputFiles(file('new.md'))
  await chips(page).getByText('new.md').waitFor()
  await field(page).fill('Not yet.')

  await page.goto(first)
  await page.getByRole('heading', { name: 'First?' }).waitFor()
  await until('three files', async () => (await chips(page).count()) === 3)
  assert.equal(await field(page).inputValue(), 'Compare them.')
  assert.equal(await edit.inputValue(), 'First, and why?')
  await page.getByRole('navigation').getByRole('link', { name: 'Now' }).click()
  await page.getByRole('heading', { name: 'Now', exact: true }).waitFor()
  await back(page)
  assert.equal(await edit.inputValue(), 'First, and why?')
  assert.equal(await chips(page).count(), 3)

  await fresh()
  await chips(page).getByText('new.md').waitFor()
  assert.equal(await chips(page).count(), 1)
  assert.equal(await page.getByLabel('System prompt').inputValue(), 'Be brief.')
  assert.equal(await field(page).inputValue(), 'Not yet.')
  const asked = page.waitForRequest('**/v1/chat/completions')
  await field(page).press('Enter')
  assert.deepEqual((await asked).postDataJSON().messages.map((m) => m.content), ['Be brief.', 'new.md:\n```\n# new.md\n```\n\nNot yet.'])
  // The next new chat begins without them.
  await page.getByRole('heading', { name: 'Not yet.' }).waitFor()
  await fresh()
  await page.getByRole('heading', { name: 'New chat' }).waitFor()
  assert.equal(await chips(page).count(), 0)
  assert.equal(await page.getByLabel('System prompt').inputValue(), '')
  assert.deepEqual(problems, [])
  await context.close()
})

test('all chosen files go with a message that is sent before they are counted', async () => {
  const { context, page, problems } = await playground(browser)
  await (await given(page, '/v1/chat/completions', 'Yes.'))()
  await chat(page)
  await page.route('**/tokenize', () => {}) // it takes for ever
  // The reading of the second file takes a while.
  await page.evaluate(() => {
    const read = Blob.prototype.arrayBuffer
    let read1 = 0
    Blob.prototype.arrayBuffer = async function () {
      if (++read1 > 1) await new Promise((go) => (window.go = go))
      return read.call(this)
    }
  })
  await field(page).fill('Compare them.')
  await page.locator('input[type=file]').setInputFiles([file('a.md'), file('b.md')])
  await page.waitForFunction(() => window.go)
  const asked = page.waitForRequest('**/v1/chat/completions')
  await field(page).press('Enter')
  await page.evaluate(() => window.go())
  assert.equal((await asked).postDataJSON().messages[0].content, 'a.md:\n```\n# a.md\n```\n\nb.md:\n```\n# b.md\n```\n\nCompare them.')
  assert.deepEqual(problems, [])
  await context.close()
})

// branched shows the branch of a chat with four messages. hold answers requests for keeping a message.
async function branched(page, hold) {
  await (await given(page, '/v1/chat/completions', 'Yes.'))()
  await chat(page)
  await talk(page, `One ${Date.now()}?`)
  await talk(page, 'Two?')
  const from = page.url()
  await page.route('**/app/chats/*/messages', hold)
  await page.getByRole('button', { name: 'More actions for this answer' }).last().click()
  await page.getByRole('button', { name: 'Branch into a new chat' }).click()
  await field(page).fill('Three?')
  await field(page).press('Enter')
  return from
}

test('a message that is sent while its branch is copied is kept with its answer', async () => {
  const { context, page, problems, ask } = await playground(browser)
  const held = []
  const from = await branched(page, (route) => (held.length < 1 ? held.push(route) : route.continue()))
  await until('the copy', () => held.length === 1)
  await page.getByRole('button', { name: 'Stop', exact: true }).waitFor()
  await held[0].continue()
  await page.getByRole('button', { name: 'Send' }).waitFor()
  await until('the branch', () => /\/\d+$/.test(page.url()) && page.url() !== from)
  const { messages } = await ask(`/app/chats/${page.url().split('/').at(-1)}`)
  assert.deepEqual(messages.map((m) => m.content).slice(1), ['Yes.', 'Two?', 'Yes.', 'Three?', 'Yes.'])
  assert.deepEqual(messages.map((m) => m.parent), [0, ...messages.map((m) => m.id).slice(0, -1)])
  assert.deepEqual(problems, [])
  await context.close()
})

test('a branch whose copy fails is in the page alone, and says so', async () => {
  const { context, page, problems, ask } = await playground(browser)
  const { count } = await ask('/app/chats')
  let tries = 0
  await branched(page, (route) => (++tries === 2 ? route.fulfill({ status: 507, json: { error: { message: 'The disk is full.', code: 'folder' } } }) : route.continue()))
  await page.getByRole('button', { name: 'Send' }).waitFor()
  await page.getByText('This isn’t kept: it disappears when you close the page.').waitFor()
  assert.equal(await page.locator('.chat > li').count(), 6)
  await until('half a copy gone', async () => (await ask('/app/chats')).count === count + 1)
  assert.deepEqual(problems.filter((p) => !p.includes('507')), [])
  await context.close()
})
