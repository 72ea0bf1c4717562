// The set-up of an editor is copied, or written to a file of Tandem's own. The page says when that
// file is out of date.

import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { after, before, test } from 'node:test'

import { launch, open, overflow, shot, violations } from './browser.mjs'

let browser

before(async () => {
  browser = await launch()
})
after(() => browser.close())

test('settings of an editor are copied, written and checked', async () => {
  const { context, page, problems } = await open(browser)
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  const clipboard = () => page.evaluate(() => navigator.clipboard.readText())
  const origin = new URL(page.url()).origin
  await page.getByRole('link', { name: 'Connect' }).click()
  await page.getByRole('button', { name: 'Copy the base URL', exact: true }).click()
  assert.equal(await clipboard(), `${origin}/v1`)

  // Every client has settings that name the endpoint.
  const clients = page.locator('details.connection')
  await clients.first().waitFor()
  assert.equal(await clients.count(), 11)
  for (const [i, text] of (await clients.locator('pre').allTextContents()).entries()) assert.ok(text.includes(origin) && text.includes('tandem'), `client ${i}: ${text}`)

  // The page names the context that the client needs.
  const client = (name) => clients.filter({ has: page.locator('summary', { hasText: name }) })
  await client('Claude Code').locator('summary').click()
  await client('Claude Code').getByText(/Needs 64,000 tokens of context; pocket has 32,768, which is too little\. No model here has as much/).waitFor()
  await client('Cline').locator('summary').click()
  await client('Cline').getByText('Needs 32,000 tokens of context; pocket has 32,768.').waitFor()
  for (const name of ['Continue', 'Zed', 'llm', 'curl', 'Python', 'JavaScript']) {
    await client(name).locator('summary').click()
    await client(name).getByText('Takes whatever context there is; pocket has 32,768 tokens.').waitFor()
  }
  assert.equal(await clients.getByText(/(Needs|Takes) .* pocket has 32,768/).count(), 11)
  assert.equal(await client('Cline').getByRole('button', { name: /Write/ }).count(), 0)

  // A file is written on request. The copy button copies the command that uses it.
  const aider = client('Aider')
  await aider.locator('summary').click()
  await aider.getByRole('button', { name: 'Copy the settings' }).click()
  const settings = await clipboard()
  await aider.getByRole('button', { name: 'Write to a file' }).click()
  await aider.getByText('written', { exact: true }).waitFor()
  await aider.getByRole('button', { name: 'Copy the command' }).click()
  const use = await clipboard()
  const [, file] = /^aider --config '(.*)'$/.exec(use)
  assert.ok(file.startsWith(`${process.env.TANDEM_HOME}/connect/aider/`), file)
  assert.equal(readFileSync(file, 'utf8'), settings)

  // On another port the file is out of date until it is written again.
  writeFileSync(file, settings.replace(origin, 'http://127.0.0.1:1234'))
  await page.reload()
  await aider.locator('summary').click()
  await aider.getByText('Written for port 1234; write it again.').waitFor()
  await shot(page, 'connect-stale')
  assert.deepEqual(await violations(page), [])
  await page.setViewportSize({ width: 800, height: 800 })
  for (const summary of await clients.locator('summary').all()) if (!(await summary.evaluate((s) => s.parentElement.open))) await summary.click()
  const over = await overflow(page)
  assert.ok(over <= 0, `the page is ${over} px too wide`)
  await shot(page, 'connect-all')
  await aider.getByRole('button', { name: 'Write it again' }).click()
  await aider.getByText('written', { exact: true }).waitFor()
  assert.equal(readFileSync(file, 'utf8'), settings)
  assert.deepEqual(problems, [])
  await context.close()
})
