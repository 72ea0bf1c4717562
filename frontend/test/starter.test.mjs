// A first start without any choice: the starter model chats, and every page says what it is.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'

import { launch, open, sound } from './browser.mjs'
import { talk } from './playground.mjs'
import { serve } from './server.mjs'

let browser, tandem

before(async () => {
  browser = await launch()
  tandem = await serve({ HF_HUB_OFFLINE: '1' }, [])
})
after(async () => {
  await browser.close()
  await tandem.stop()
})

test('a newcomer asks for the capital of France, and learns that it is Paris', async () => {
  const { context, page, problems } = await open(browser, { link: tandem.link, welcome: true })
  await page.getByText('A small model is ready now. It has 135 million parameters, and is fast but often wrong.').waitFor()
  await sound(page, 'welcome-starter', [500, 1280])
  await page.getByRole('button', { name: 'Try it now' }).click()
  await page.getByRole('dialog').waitFor({ state: 'hidden' }) // the page below it takes no text
  await page.getByText('135 million parameters, fast but often wrong.').waitFor()
  await talk(page, 'What is the capital of France?')
  await page.locator('.chat .markdown').filter({ hasText: 'The capital of France is Paris.' }).waitFor()
  await sound(page, 'playground-starter', [500, 1280])

  // Another answer is drawn at another temperature.
  const asked = page.waitForRequest('**/v1/chat/completions')
  await page.getByRole('button', { name: 'Retry the answer' }).click()
  assert.equal((await asked).postDataJSON().temperature, 0.7)
  await page.getByRole('button', { name: 'Send' }).waitFor({ timeout: 60_000 })
  assert.deepEqual(problems, [])
  await context.close()
})

test('the pages say what the starter is, and it cannot be removed', async () => {
  const { context, page, problems } = await open(browser, { link: tandem.link })
  await page.getByText('often wrong').first().waitFor()
  await sound(page, 'now-starter', [500, 1280])
  await page.getByRole('navigation').getByRole('link', { name: 'Models' }).click()
  const row = page.getByRole('row').filter({ hasText: 'starter' })
  await row.getByText('135M parameters, fast but often wrong').waitFor()
  await row.getByRole('button', { name: 'Actions for starter' }).click()
  await page.getByRole('button', { name: 'Settings…' }).waitFor()
  assert.equal(await page.getByRole('button', { name: 'Remove…' }).count(), 0)
  await page.keyboard.press('Escape')
  await sound(page, 'models-starter', [500, 800, 1280])
  assert.deepEqual(problems, [])
  await context.close()
})
