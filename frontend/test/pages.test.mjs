// Every page works in both themes and three widths. Nothing overflows, and axe finds no violations.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'

import { launch, link, open, sound } from './browser.mjs'

// The text that each page shows once it has read its data.
const pages = {
  now: 'The last five minutes',
  playground: 'Demo model: completes code only.',
  models: /This machine has .* GiB of memory/,
  conversations: /, for /,
  storage: 'Free on the disk',
  runs: 'How it ended, verified',
  mac: 'Nothing was measured yet.',
  connect: 'Connect an editor',
  settings: 'Export settings',
  help: 'model loaded',
}
let browser

before(async () => {
  browser = await launch()
  // Two turns, whose checkpoints are kept, fill the pages.
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

test('Help names every page, and shows the guide in short', async () => {
  const { context, page } = await open(browser)
  const links = (place) => page.locator(place).evaluateAll((all) => all.map((a) => `${a.getAttribute('href')} ${a.textContent}`))
  await page.getByRole('link', { name: 'Help' }).click()
  await page.getByRole('heading', { name: 'Help', exact: true }).waitFor()
  assert.deepEqual(await links('#help ~ ul a'), ['#/welcome First steps', ...(await links('nav a'))])
  const parts = await page.locator('section[aria-labelledby="short"] h3').allTextContents()
  assert.ok(parts.length > 5 && parts.includes('Memory'), `the guide in short has the parts ${parts}`)
  await context.close()
})

test('the memory of texts is forgotten client by client', async () => {
  const { context, page, problems } = await open(browser)
  await page.getByRole('link', { name: 'Storage' }).click()
  await page.getByText(/^programs without a key: [\d,]+ tokens/).waitFor()
  await page.getByRole('button', { name: 'Forget the texts of programs without a key' }).click()
  const dialog = page.getByRole('dialog', { name: 'Forget the texts of programs without a key?' })
  await dialog.getByRole('button', { name: 'Forget', exact: true }).click()
  await page.getByText(/^[\d,]+ tokens of programs without a key are forgotten, which freed /).waitFor()
  await page.locator('dd').getByText('nothing', { exact: true }).waitFor()
  assert.deepEqual(problems, [])
  await context.close()
})

test('a tab without a session takes a link', async () => {
  const context = await browser.newContext({ locale: 'en-US' })
  const page = await context.newPage()
  const to = link()
  const follow = () => page.evaluate((hash) => (location.hash = hash), new URL(to).hash)
  await page.goto(to.split('#')[0])
  await page.getByRole('heading', { name: 'This page needs a link' }).waitFor()
  await follow()
  await page.getByRole('heading', { name: 'Now', exact: true }).waitFor()
  // A used link does not end the session.
  const refused = page.waitForResponse('**/app/session')
  await follow()
  assert.equal((await refused).status(), 401)
  await page.waitForFunction(() => location.hash === '')
  assert.ok(await page.evaluate(() => sessionStorage.getItem('tandem-session')), 'the session is gone')
  await page.reload()
  await page.getByRole('heading', { name: 'Now', exact: true }).waitFor()
  await context.close()
})

test('a second tab of the same browser needs no link, another browser does', async () => {
  const { context, page, problems } = await open(browser)
  const address = page.url().split('#')[0]
  const now = (tab) => tab.getByRole('heading', { name: 'Now', exact: true })
  const locked = (tab) => tab.getByRole('heading', { name: 'This page needs a link' })
  const visit = async (in_, to) => {
    const tab = await in_.newPage()
    await tab.goto(to)
    return tab
  }
  const second = await visit(context, address)
  await now(second).waitFor()
  // The browser's keys open a menu entry in a tab of its own.
  const opened = context.waitForEvent('page')
  await second.getByRole('navigation').getByRole('link', { name: 'Runs' }).click({ modifiers: ['ControlOrMeta'] })
  const third = await opened
  await third.getByRole('heading', { name: 'Runs', exact: true }).waitFor()

  // Another name of the same machine is another origin. Another browser has another session.
  await locked(await visit(context, address.replace('127.0.0.1', 'localhost'))).waitFor()
  const other = await browser.newContext({ locale: 'en-US' })
  const stranger = await visit(other, address)
  await locked(stranger).waitFor()
  assert.equal(await stranger.evaluate(() => sessionStorage.length + localStorage.length + document.cookie.length), 0)
  assert.deepEqual(await context.cookies(), [])
  assert.equal(await page.evaluate(() => localStorage.length), 0)

  // A session that Tandem has forgotten is refused. The next link opens all tabs.
  await page.evaluate(() => sessionStorage.setItem('tandem-session', 'forgotten'))
  await second.evaluate(() => sessionStorage.setItem('tandem-session', 'forgotten'))
  await third.close()
  await page.reload()
  await second.reload()
  await locked(page).waitFor()
  await locked(second).waitFor()
  const fresh = await visit(context, link())
  await now(fresh).waitFor()
  await now(page).waitFor()
  await now(second).waitFor()
  assert.ok(await locked(stranger).isVisible(), 'another browser was let in')

  // The session ends with the last tab.
  for (const tab of context.pages()) await tab.close()
  await locked(await visit(context, address)).waitFor()
  assert.deepEqual(problems.filter((p) => !p.includes('401')), [])
  await other.close()
  await context.close()
})

test('the next page begins at its top, and the menu stays', async () => {
  const { context, page } = await open(browser, { viewport: { width: 800, height: 500 } })
  await page.getByRole('link', { name: 'Settings' }).click()
  await page.getByRole('heading', { name: 'Export' }).scrollIntoViewIfNeeded()
  assert.ok((await page.evaluate(() => scrollY)) > 300)
  assert.ok((await page.getByRole('heading', { name: 'Tandem', exact: true }).boundingBox()).y >= 0, 'the menu went away')
  // Help is long from the start.
  await page.getByRole('link', { name: 'Help' }).click()
  await page.getByRole('heading', { name: 'Where to find what' }).waitFor()
  assert.ok((await page.evaluate(() => document.documentElement.scrollHeight - innerHeight)) > 300, 'Help is short')
  assert.equal(await page.evaluate(() => scrollY), 0)
  // A link that disappears with its page leaves the focus to the next link.
  await page.locator('#help ~ ul').getByRole('link', { name: 'Connect' }).click()
  await page.getByRole('heading', { name: 'Connect an editor' }).waitFor()
  await page.waitForFunction(() => document.activeElement.id === 'main')
  await context.close()
})

test('each page fits in both themes and at each width', async () => {
  const { context, page, problems } = await open(browser)
  for (const [name, shows] of Object.entries(pages)) {
    await page.goto(`${page.url().split('#')[0]}#/${name}`)
    await page.locator(`nav a[aria-current="page"][href="#/${name}"]`).waitFor()
    await page.locator('main').getByText(shows).first().waitFor()
    await sound(page, name, [500, 800, 1280])
  }
  assert.deepEqual(problems, [])
  await context.close()
})

test('the scroll bar of a long page moves nothing', async () => {
  // Playwright hides the scroll bar by default; this browser shows it.
  const own = await launch({ ignoreDefaultArgs: ['--hide-scrollbars'] })
  const { context, page, problems } = await open(own)
  const width = () => page.evaluate(() => document.querySelector('main').getBoundingClientRect().width)
  const long = () => page.evaluate(() => document.documentElement.scrollHeight > innerHeight)
  await page.setViewportSize({ width: 1000, height: 4000 })
  await page.getByRole('heading', { name: 'The last five minutes' }).waitFor()
  const before = await width()
  assert.ok(before < 810, `there is no scroll bar: the page has ${before} px`)
  assert.equal(await long(), false)
  await page.setViewportSize({ width: 1000, height: 300 })
  assert.equal(await long(), true)
  assert.equal(await width(), before)
  assert.deepEqual(problems, [])
  await context.close()
  await own.close()
})

test('Help explains every word that has a meaning', async () => {
  const { context, page, problems } = await open(browser)
  await page.getByRole('link', { name: 'Help' }).click()
  await page.getByRole('heading', { name: 'Words' }).waitFor()
  const words = await page.locator('section[aria-labelledby="words"] dd').allTextContents()
  assert.ok(words.length > 30)
  assert.equal(new Set(words).size, words.length, 'one is explained twice')
  const explained = async (name) => {
    const titles = await page.locator('abbr[title], .badge[title]').evaluateAll((all) => all.map((e) => e.title))
    assert.deepEqual(titles.filter((t) => !words.includes(t)), [], name)
    return titles.length
  }
  let found = 0
  for (const [name, shows] of Object.entries(pages)) {
    await page.goto(`${page.url().split('#')[0]}#/${name}`)
    await page.locator('main').getByText(shows).first().waitFor()
    found += await explained(name)
  }
  await page.goto(`${page.url().split('#')[0]}#/models`)
  await page.getByRole('button', { name: 'Settings of pocket' }).click()
  await page.getByRole('dialog').getByLabel('Temperature').waitFor()
  found += await explained('settings of a model')
  await page.goto(`${page.url().split('#')[0]}#/runs`)
  await page.locator('tbody a').first().click()
  await page.getByRole('heading', { name: 'What happened' }).waitFor()
  found += await explained('a run')
  assert.ok(found > 30, `${found} words are explained`)
  assert.deepEqual(problems, [])
  await context.close()
})
