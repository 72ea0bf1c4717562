// The page Now unloads the model and loads it again. It stops a program's request, and shows the
// request's end.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'

import { launch, link, open, sound } from './browser.mjs'

let browser
const address = new URL(link()).origin

before(async () => {
  browser = await launch()
})
after(() => browser.close())

test('Now keeps its scroll position while its chart is drawn again', async () => {
  const { context, page, problems } = await open(browser)
  await page.setViewportSize({ width: 1120, height: 600 })
  const canvas = page.locator('.chart canvas')
  await canvas.waitFor()
  await canvas.evaluate((c) => c.setAttribute('data-first', ''))
  const down = () => page.evaluate(() => scrollY)
  await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight))
  const end = await down()
  assert.ok(end > 0)
  await page.waitForTimeout(2500) // the chart is drawn again each second
  assert.equal(await down(), end)
  assert.equal(await page.locator('.chart canvas[data-first]').count(), 1, 'the chart was made again')
  assert.deepEqual(problems, [])
  await context.close()
})

test('the model is unloaded and loaded again', async () => {
  const { context, page, problems } = await open(browser)
  const start = page.getByRole('button', { name: 'Start pocket' })
  const unload = page.getByRole('button', { name: 'Unload pocket' })
  // The test before this one may have left no model loaded.
  await start.or(unload).waitFor()
  if (await start.isVisible()) await start.click()
  await unload.click()
  await start.waitFor()
  await unload.waitFor({ state: 'detached' })
  await page.getByText('Nothing is loaded', { exact: true }).waitFor()
  // The page says why the model cannot be loaded.
  await page.route('**/app/load', (route) => route.fulfill({ status: 507, json: { error: { message: 'There is no room for it.', code: 'no_room' } } }))
  await start.click()
  await page.getByRole('alert').getByText('There is no room for it.').waitFor()
  await sound(page, 'now-unloaded')
  await page.unroute('**/app/load')
  await start.click()
  await page.getByText('Ready', { exact: true }).waitFor({ timeout: 60_000 })
  await unload.waitFor()
  assert.equal(await page.getByRole('alert').count(), 0)
  assert.equal(await start.count(), 0)
  assert.deepEqual(problems.filter((p) => !p.includes('507')), [])
  await context.close()
})

test('a request can be stopped', async () => {
  const { context, page, problems } = await open(browser)
  const client = `now${Date.now()}/1.0`
  const asked = fetch(`${address}/v1/completions`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'User-Agent': client },
    body: JSON.stringify({ model: 'tandem', prompt: 'package main\n', max_tokens: 30_000, ignore_eos: true, stream: true, stream_options: { include_usage: true } }),
  })
  const row = page.getByRole('row').filter({ hasText: client })
  await row.waitFor()
  await page.getByRole('button', { name: `Stop the request of ${client}` }).click()
  await row.waitFor({ state: 'detached' })
  const { usage } = JSON.parse((await (await asked).text()).split('\n\n').findLast((event) => event.includes('"usage":{')).slice('data: '.length))
  assert.ok(usage.completion_tokens < 30_000, `it has ${usage.completion_tokens} tokens`)
  assert.deepEqual(problems, [])
  await context.close()
})
