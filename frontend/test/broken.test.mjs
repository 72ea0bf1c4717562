// A blank window is the worst failure, so the page shows every error.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'

import { launch, link, open, sound } from './browser.mjs'

let browser

before(async () => {
  browser = await launch()
})
after(() => browser.close())

for (const [what, breaks] of [
  ['thrown', () => void setTimeout(() => { throw new Error('it broke') })],
  ['rejected', () => void Promise.reject(new Error('it broke'))],
]) {
  test(`an error that is ${what} and not caught is shown`, async () => {
    const { context, page } = await open(browser)
    assert.equal(await page.locator('.broken').count(), 0)
    await page.evaluate(breaks)
    const told = page.getByRole('alert').filter({ hasText: 'The page has failed.' })
    await told.getByText('Error: it broke').waitFor()
    assert.ok((await told.boundingBox()).y < 100, 'the error is out of sight')
    await sound(page, `broken-${what}`)
    await context.close()
  })
}

test('a page that fails at its start says so', async () => {
  const context = await browser.newContext({ locale: 'en-US' })
  const page = await context.newPage()
  await page.addInitScript(() => (Storage.prototype.getItem = () => { throw new Error('it broke') }))
  await page.goto(link().split('#')[0])
  await page.locator('.broken').getByText('Error: it broke').waitFor()
  await context.close()
})

test('a page without its script is not blank', async () => {
  const context = await browser.newContext({ locale: 'en-US' })
  const page = await context.newPage()
  const told = page.getByText('If this text stays, reload the page.')
  await page.route('**/*.js', (route) => route.abort())
  await page.goto(link().split('#')[0])
  await told.waitFor()
  await sound(page, 'unmounted')
  // The message goes when the page runs.
  await page.unroute('**/*.js')
  await page.goto(link())
  await page.reload()
  await page.getByRole('navigation', { name: 'Pages' }).waitFor()
  assert.equal(await told.count(), 0)
  await context.close()
})
