// A first visit shows the first steps, and leads to an answer at once.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, test } from 'node:test'

import { launch, open, sound } from './browser.mjs'
import { hub, model, serve } from './server.mjs'

let browser, tandem, theHub

before(async () => {
  browser = await launch()
  theHub = await hub()
  tandem = await serve({ HF_ENDPOINT: theHub.url })
  model(join(tandem.dir, '.lmstudio', 'models', 'maker', 'mine'))
})
after(async () => {
  await browser.close()
  await tandem.stop()
  theHub.stop()
})

test('the first steps stay when the page below them loads later', async () => {
  const context = await browser.newContext({ locale: 'en-US' })
  const page = await context.newPage()
  const steps = page.getByRole('dialog', { name: 'Welcome to Tandem' })
  await page.route('**/assets/Settings-*.js', async (file) => {
    await steps.waitFor()
    await file.continue()
  })
  await page.goto(`${tandem.link()}/settings`)
  await page.getByRole('navigation', { name: 'Parts of the settings', includeHidden: true }).waitFor()
  await page.waitForFunction(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))).then(() => true))
  assert.ok(await steps.isVisible(), 'the first steps are closed')
  await context.close()
})

test('a newcomer gets an answer without reading anything', async () => {
  const { context, page, problems } = await open(browser, { link: tandem.link, welcome: true })
  const steps = page.getByRole('dialog', { name: 'Welcome to Tandem' })
  await steps.waitFor()
  await page.getByRole('button', { name: 'Try it now' }).click()
  await steps.waitFor({ state: 'detached' })
  await page.locator('form').getByRole('button', { name: 'Complete', exact: true }).click()
  await page.getByRole('button', { name: 'Complete again' }).waitFor({ timeout: 60_000 })
  assert.match(await page.getByRole('region', { name: 'Completion' }).textContent(), /\w/)
  // The first steps can still be opened.
  await page.getByRole('link', { name: 'Help', exact: true }).click()
  await page.getByRole('link', { name: 'first steps' }).click()
  await steps.waitFor()
  await page.keyboard.press('Escape')
  await steps.waitFor({ state: 'detached' })
  assert.deepEqual(problems, [])
  await context.close()
})

test('the first steps fit in both themes and at each width', async () => {
  const { context, page, problems } = await open(browser, { link: tandem.link, welcome: true })
  await page.evaluate(() => fetch('/app/welcome', { method: 'POST', headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${sessionStorage.getItem('tandem-session')}` }, body: '{"done":false}' }))
  await page.getByText('maker/mine', { exact: true }).first().waitFor()
  await page.getByRole('button', { name: /^Download / }).first().waitFor()
  await sound(page, 'welcome', [500, 800, 1280])
  assert.deepEqual(problems, [])
  await context.close()
})

test('the first steps set up a model and an editor, and end', async () => {
  const { context, page, problems } = await open(browser, { link: tandem.link, welcome: true })
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  await page.getByRole('button', { name: 'Use maker/mine' }).click()
  await page.getByRole('dialog').getByText('current', { exact: true }).waitFor({ timeout: 30_000 })
  await page.getByLabel('Program').selectOption({ label: 'Zed' })
  await page.getByRole('button', { name: 'Copy settings' }).click()
  await page.getByText('Copied').waitFor()
  assert.match(await page.evaluate(() => navigator.clipboard.readText()), /"api_url": "http:\/\/127\.0\.0\.1:\d+\/v1"/)
  await page.getByRole('button', { name: 'Done' }).click()
  await page.getByRole('heading', { name: 'Now', exact: true }).waitFor()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await context.close()
  // The server remembers the end of the first steps, not the browser.
  const again = await open(browser, { link: tandem.link, welcome: true })
  await again.page.getByRole('heading', { level: 1 }).waitFor()
  await again.page.getByText('mine', { exact: true }).first().waitFor()
  assert.equal(await again.page.getByRole('dialog').count(), 0)
  assert.deepEqual([...problems, ...again.problems], [])
  await again.context.close()
})
