// Every page in both themes and two widths: nothing is broken, nothing overflows,
// and axe finds nothing to complain of.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'

import { AxeBuilder } from '@axe-core/playwright'

import { launch, open, shot } from './browser.mjs'

const pages = ['now', 'playground', 'models', 'conversations', 'storage', 'runs', 'mac', 'connect', 'settings', 'help']
let browser

before(async () => {
  browser = await launch()
  // Something to show: two turns, whose checkpoints are kept.
  const { context, page } = await open(browser)
  await page.evaluate(async () => {
    const messages = [{ role: 'system', content: 'You write Go.' }]
    for (const content of ['Write Contains.', 'Write Index.']) {
      messages.push({ role: 'user', content })
      const body = JSON.stringify({ model: 'tandem', messages, max_tokens: 80 })
      const answer = await fetch('/v1/chat/completions', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body })
      messages.push((await answer.json()).choices[0].message)
    }
  })
  await context.close()
})
after(() => browser.close())

for (const colorScheme of ['light', 'dark']) {
  for (const width of [800, 1280]) {
    test(`${colorScheme} ${width}`, async () => {
      const { context, page, problems } = await open(browser, { colorScheme, viewport: { width, height: 800 }, reducedMotion: 'reduce' })
      for (const name of pages) {
        await page.goto(`${page.url().split('#')[0]}#/${name}`)
        await page.locator(`nav a[aria-current="page"][href="#/${name}"]`).waitFor()
        await page.waitForTimeout(150)
        await shot(page, `${name}-${colorScheme}-${width}`)
        const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
        assert.ok(over <= 0, `${name} is ${over} px too wide`)
        const { violations } = await new AxeBuilder({ page }).withTags(['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa']).analyze()
        assert.deepEqual(violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.target).join(' ')}`), [], name)
      }
      assert.deepEqual(problems, [])
      await context.close()
    })
  }
}
