// The set-up of an editor is copied, or written to a file of Tandem's own. The page says when that
// file is out of date, and when the editor asked last.

import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { after, before, test } from 'node:test'

import { launch, open, overflow, sound } from './browser.mjs'

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
  const tiles = page.locator('.program')
  await tiles.first().waitFor()
  const names = await tiles.locator('strong').allTextContents()
  assert.equal(names.length, 14)
  const sheet = page.getByRole('dialog')
  const tile = (name) => tiles.filter({ has: page.getByText(name, { exact: true }) })
  const opened = async (name) => {
    await tile(name).click()
    await sheet.getByRole('heading', { name, exact: true }).waitFor()
  }
  const close = async (name) => {
    await page.keyboard.press('Escape')
    await sheet.waitFor({ state: 'detached' })
    await page.waitForFunction((name) => document.activeElement?.textContent.includes(name), name) // the focus is led back
  }
  // The sheet names the context that the client needs.
  const needs = { 'Claude Code': /Needs 64,000 tokens of context; Demo model has 32,768, which is too little\. No model here has a context of 64,000 tokens: download one that has/, Cline: 'Needs 32,000 tokens of context; Demo model has 32,768.' }
  for (const name of ['Continue', 'Zed', 'llm', 'curl', 'OpenAI for Python', 'OpenAI for JavaScript']) needs[name] = 'Takes whatever context there is; Demo model has 32,768 tokens.'
  for (const name of names) {
    await opened(name)
    const text = await sheet.locator('pre').textContent()
    assert.ok(text.includes(origin) && text.includes('tandem'), `${name}: ${text}`)
    await sheet.getByText(needs[name] ?? /(Needs|Takes) .* Demo model has 32,768/).waitFor()
    if (name === 'Cline') assert.equal(await sheet.getByRole('button', { name: /Write/ }).count(), 0)
    const over = await overflow(page)
    assert.ok(over <= 0, `${name} is ${over} px too wide`)
    await close(name)
  }

  // Two steps connect a program: its tile, and the button that writes the file. The copy button
  // copies the command that uses it.
  await opened('Aider')
  const aider = sheet
  await aider.getByRole('button', { name: 'Copy the settings' }).click()
  const settings = await clipboard()
  await aider.getByRole('button', { name: 'Write the file' }).click()
  await aider.getByRole('button', { name: 'Copy the command' }).click()
  const use = await clipboard()
  const [, file] = /^aider --config '(.*)'$/.exec(use)
  assert.ok(file.startsWith(`${process.env.TANDEM_HOME}/connect/aider/`), file)
  assert.equal(readFileSync(file, 'utf8'), settings)

  // On another port the file is out of date until it is written again.
  writeFileSync(file, settings.replace(origin, 'http://127.0.0.1:1234'))
  await page.reload()
  await tile('Aider').getByText('out of date', { exact: true }).waitFor()
  await opened('Aider')
  await aider.getByText('The file is out of date: it is for port 1234.').waitFor()
  await sound(page, 'connect-stale')
  await aider.getByRole('button', { name: 'Write it again' }).click()
  await aider.getByText('it is for port').waitFor({ state: 'detached' })
  assert.equal(readFileSync(file, 'utf8'), settings)
  await close('Aider')
  await tile('Aider').getByText('written', { exact: true }).waitFor()
  await sound(page, 'connect')
  assert.deepEqual(problems, [])
  await context.close()
})

test('a tile says when its program asked, and a test sends one request', async () => {
  const { context, page, problems } = await open(browser)
  const origin = new URL(page.url()).origin
  await page.getByRole('link', { name: 'Connect' }).click()
  const tile = page.locator('.program').filter({ has: page.getByText('OpenCode', { exact: true }) })
  await tile.getByText('not connected yet').waitFor()
  const asked = await fetch(`${origin}/v1/completions`, { method: 'POST', headers: { 'Content-Type': 'application/json', 'User-Agent': 'opencode/1.2' }, body: JSON.stringify({ model: 'tandem', prompt: 'package main', max_tokens: 4 }) })
  assert.equal(asked.status, 200)
  await tile.getByText('seen just now').waitFor()
  await tile.locator('.dot').waitFor()
  await tile.click()
  const sheet = page.getByRole('dialog', { name: 'OpenCode' })
  await sheet.getByText('Connected: seen just now.').waitFor()
  await sheet.getByRole('button', { name: 'Test', exact: true }).click()
  await sheet.getByText(/^It works\. Start .+; it will show up here as connected\.$/).waitFor({ timeout: 60_000 })
  assert.match(await sheet.getByRole('img').getAttribute('aria-label'), /(read|wrote) /)
  await sound(page, 'connect-tested')
  await sheet.getByRole('link', { name: /^run \d+$/ }).click()
  await page.waitForURL(/#\/runs\/\d+$/)
  await sheet.waitFor({ state: 'detached' })
  assert.deepEqual(problems, [])
  await context.close()
})
