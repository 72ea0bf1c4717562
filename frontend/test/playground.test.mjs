// What a newcomer does first: a completion that streams, a chat, a stop.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'

import { launch, open, shot } from './browser.mjs'

let browser

before(async () => {
  browser = await launch()
})
after(() => browser.close())

test('a completion', async () => {
  const { context, page, problems } = await open(browser)
  // A fixed depth always drafts; by itself a busy machine may decide that it does not pay.
  await page.route('**/v1/completions', (route) => {
    route.continue({ postData: JSON.stringify({ ...route.request().postDataJSON(), speculation: { drafter: 'dflash', depth: 4 } }) })
  })
  await page.getByRole('link', { name: 'Playground' }).click()
  await page.getByText('Demo model: completes code only.').waitFor()
  await page.getByRole('button', { name: 'Complete' }).click()
  await page.getByText(/tokens, \d+ a second/).waitFor({ timeout: 60_000 })
  const text = await page.getByLabel('Completion', { exact: true }).textContent()
  assert.ok(text.trim().length > 20, `the completion is ${JSON.stringify(text)}`)
  await page.getByLabel('Tint drafted tokens').check()
  assert.ok((await page.locator('.drafted').count()) > 0, 'no token was drafted')
  await shot(page, 'completion')
  assert.deepEqual(problems, [])
  await context.close()
})

test('a chat, stopped', async () => {
  const { context, page, problems } = await open(browser)
  await page.getByRole('link', { name: 'Playground' }).click()
  await page.getByLabel('Chat').check()
  await page.getByLabel('Message').fill('Write a Go function named Reverse, and a long explanation.')
  await page.getByLabel('Message').press('Enter')
  await page.locator('.chat .markdown').filter({ hasText: /\w/ }).waitFor({ timeout: 60_000 })
  const stop = page.getByRole('button', { name: 'Stop' })
  if (await stop.isVisible()) await stop.click()
  await page.getByRole('button', { name: 'Answer again' }).waitFor({ timeout: 20_000 })
  await shot(page, 'chat')
  await page.getByRole('button', { name: 'Edit' }).click()
  assert.match(await page.getByLabel('Message').inputValue(), /named Reverse/)
  assert.deepEqual(problems, [])
  await context.close()
})

test('no session', async () => {
  const context = await browser.newContext()
  const page = await context.newPage()
  const { page: other } = await open(browser)
  await page.goto(other.url().split('#')[0])
  await page.getByRole('heading', { name: 'This page needs a link' }).waitFor()
  assert.equal(await page.getByText('In flight').count(), 0)
  await shot(page, 'locked')
  await context.close()
})
