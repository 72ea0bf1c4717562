// Every page works in both themes and three widths. Nothing overflows, and axe finds no violations.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'

import { launch, link, open, sound } from './browser.mjs'

// The text that each page shows once it has read its data.
const pages = {
  now: 'Requests today',
  playground: 'Demo model: completes code only.',
  runs: 'Where the time went',
  checkpoints: 'Change the limit',
  models: /This machine has .* GiB of memory/,
  'models/more': 'Suggested models',
  'models/speed': 'No measurements yet.',
  'models/disk': /used by Tandem/,
  connect: 'OpenCode',
  settings: 'Export settings',
  'settings/endpoint': 'Allowed host names',
  'settings/history': 'Keep chats',
  'settings/disk': 'Folder for downloads',
  'settings/diagnostics': 'model loaded',
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

// help opens the sheet, and waits for its chapter of the guide.
async function help(page) {
  await page.getByRole('link', { name: 'Help', exact: true }).click()
  const sheet = page.getByRole('dialog', { name: 'Help', exact: true })
  await sheet.getByRole('heading', { name: 'Memory', exact: true }).waitFor()
  return sheet
}

test('Help shows the keys, and the guide in short', async () => {
  const { context, page, problems } = await open(browser)
  const sheet = await help(page)
  const parts = await sheet.locator('section[aria-labelledby="short"] h3').allTextContents()
  assert.ok(parts.length > 5 && parts.includes('Memory'), `the guide in short has the parts ${parts}`)
  assert.ok((await sheet.locator('.keys kbd').count()) > 10, 'the keys are not listed')
  await sound(page, 'help', [760, 1000, 1280])
  // Escape leads the focus back. A link closes the sheet and leads to its place.
  await page.keyboard.press('Escape')
  await sheet.waitFor({ state: 'detached' })
  await page.waitForFunction(() => document.activeElement?.getAttribute('aria-label') === 'Help')
  await (await help(page)).getByRole('link', { name: 'first steps' }).click()
  await page.getByRole('dialog', { name: 'Welcome to Tandem' }).waitFor()
  await sheet.waitFor({ state: 'detached' })
  assert.deepEqual(problems, [])
  await context.close()
})

test('Help says so if its chapter of the guide cannot be read', async () => {
  const { context, page } = await open(browser)
  await page.route('**/in-short.html', (route) => route.abort())
  await page.getByRole('link', { name: 'Help', exact: true }).click()
  const sheet = page.getByRole('dialog', { name: 'Help', exact: true })
  await sheet.getByRole('alert').getByText('Tandem does not answer.').waitFor()
  await sheet.getByRole('link', { name: 'first steps' }).waitFor()
  await context.close()
})

test('old addresses lead to the pages of today', async () => {
  const { context, page, problems } = await open(browser)
  const base = page.url().split('#')[0]
  for (const [old, now, shows] of [['conversations', 'checkpoints', 'Change the limit'], ['storage', 'models/disk', /used by Tandem/], ['mac', 'models/speed', 'No measurements yet.']]) {
    await page.goto(`${base}#/${old}`)
    await page.waitForURL(`${base}#/${now}`)
    await page.locator('main').getByText(shows).first().waitFor()
  }
  await page.goto(`${base}#/help`)
  await page.getByRole('dialog', { name: 'Help', exact: true }).waitFor()
  assert.equal(new URL(page.url()).hash, '#/models/speed', 'the page below changed')
  assert.deepEqual(problems, [])
  await context.close()
})

test('remembered texts are deleted client by client', async () => {
  const { context, page, problems } = await open(browser)
  await page.goto(`${page.url().split('#')[0]}#/settings/history`)
  await page.getByText(/^programs without a key: [\d,]+ tokens/).waitFor()
  await page.getByRole('button', { name: 'Delete the texts of programs without a key' }).click()
  const dialog = page.getByRole('dialog', { name: 'Delete the remembered texts of programs without a key?' })
  await dialog.getByRole('button', { name: 'Delete', exact: true }).click()
  await page.getByText(/^Deleted [\d,]+ tokens of programs without a key, which freed /).waitFor()
  await page.getByText('Nothing is remembered.', { exact: true }).waitFor()
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
  await page.locator('.foot').waitFor()
  // A used link does not end the session.
  const refused = page.waitForResponse('**/app/session')
  await follow()
  assert.equal((await refused).status(), 401)
  await page.waitForFunction(() => !/[A-Z2-7]{20}/.test(location.hash))
  assert.ok(await page.evaluate(() => sessionStorage.getItem('tandem-session')), 'the session is gone')
  await page.reload()
  await page.locator('.foot').waitFor()
  await context.close()
})

test('a second tab of the same browser needs no link, another browser does', async () => {
  const { context, page, problems } = await open(browser)
  const address = page.url().split('#')[0]
  const now = (tab) => tab.locator('.foot')
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
  await second.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Runs' }).click({ modifiers: ['ControlOrMeta'] })
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
  const { context, page, problems } = await open(browser, { viewport: { width: 800, height: 500 } })
  const down = () => page.evaluate(() => document.getElementById('pane').scrollTop)
  await page.getByRole('link', { name: 'Settings', exact: true }).click()
  await page.getByRole('heading', { name: 'Export' }).scrollIntoViewIfNeeded()
  assert.ok((await down()) > 300)
  assert.equal(await page.evaluate(() => document.scrollingElement.scrollTop), 0, 'the page scrolls, not its pane')
  assert.ok((await page.getByRole('navigation', { name: 'Pages' }).boundingBox()).y >= 0, 'the menu went away')
  // Another tab begins at its top too.
  await page.getByRole('link', { name: 'Diagnostics' }).click()
  await page.getByRole('heading', { name: 'Report' }).waitFor()
  await page.waitForFunction(() => document.getElementById('pane').scrollTop === 0)
  assert.ok((await page.evaluate(() => { const p = document.getElementById('pane'); return p.scrollHeight - p.clientHeight })) > 100, 'the tab is short')
  // A link that disappears with its sheet leaves the focus to the next page.
  await (await help(page)).getByRole('link', { name: 'first steps' }).click()
  await page.getByRole('dialog', { name: 'Welcome to Tandem' }).getByRole('link', { name: 'Now', exact: true }).click()
  await page.getByRole('heading', { name: 'Now', exact: true }).waitFor()
  await page.waitForFunction(() => ['main', ''].includes(document.activeElement.id) && document.activeElement !== document.body)
  assert.deepEqual(problems, [])
  await context.close()
})

test('the page before stays until the file of the next one is there', async () => {
  const { context, page, problems } = await open(browser)
  let release
  const hold = async () => {
    const held = new Promise((done) => (release = done))
    await page.unroute('**/assets/Runs-*.js')
    await page.route('**/assets/Runs-*.js', (route) => held.then(() => route.continue()))
    await page.reload()
  }
  const menu = page.getByRole('navigation', { name: 'Pages' })
  const heading = (name) => page.getByRole('heading', { name, exact: true })
  // drawn returns after the page has had two chances to draw itself.
  const drawn = () => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))))
  await hold()
  await menu.getByRole('link', { name: 'Connect' }).click()
  await heading('Connect').waitFor()
  await page.evaluate(() => {
    window.seen = new Set(['Connect']) // which reads its data again
    const look = () => window.seen.add(document.querySelector('main h1')?.textContent ?? 'nothing')
    new MutationObserver(look).observe(document.getElementById('main'), { childList: true, subtree: true })
  })
  await menu.getByRole('link', { name: 'Runs' }).press('Enter')
  await drawn()
  assert.ok(await heading('Connect').isVisible(), 'the page before is gone')
  assert.equal(await menu.getByRole('link', { name: 'Connect' }).getAttribute('aria-current'), 'page')
  release()
  await heading('Runs').waitFor()
  assert.equal(await menu.getByRole('link', { name: 'Runs' }).getAttribute('aria-current'), 'page')
  assert.deepEqual(await page.evaluate(() => [...window.seen]), ['Connect', 'Runs'])
  assert.ok(await page.evaluate(() => document.activeElement.textContent.includes('Runs')), 'the link lost the focus')

  // The page that a person chooses last is shown, whichever comes first.
  await page.goto(`${page.url().split('#')[0]}#/connect`)
  await hold()
  await heading('Connect').waitFor()
  await menu.getByRole('link', { name: 'Runs' }).click()
  await menu.getByRole('link', { name: 'Now' }).click()
  await heading('Now').waitFor()
  release()
  await page.waitForFunction(() => performance.getEntriesByType('resource').some((e) => /Runs-.*\.js/.test(e.name) && e.responseEnd > 0))
  await drawn()
  assert.ok(await heading('Now').isVisible(), 'a page that came late took the place')

  // The first page is the one of the address, and no other comes before it.
  await page.goto(`${page.url().split('#')[0]}#/runs`)
  await heading('Runs').waitFor()
  await hold()
  await page.locator('.foot').waitFor()
  await drawn()
  assert.equal(await page.locator('main h1').count(), 0, 'another page is shown')
  release()
  await heading('Runs').waitFor()
  assert.deepEqual(problems, [])
  await context.close()
})

test('each page fits in both themes and at each width', async () => {
  const { context, page, problems } = await open(browser)
  for (const [name, shows] of Object.entries(pages)) {
    await page.goto(`${page.url().split('#')[0]}#/${name}`)
    await page.locator('main').getByText(shows).first().waitFor()
    await sound(page, name.replace('/', '-'), [760, 1000, 1280])
  }
  assert.deepEqual(problems, [])
  await context.close()
})

test('only panes scroll', async () => {
  const { context, page, problems } = await open(browser, { viewport: { width: 1000, height: 500 } })
  for (const [name, shows] of Object.entries(pages)) {
    await page.goto(`${page.url().split('#')[0]}#/${name}`)
    await page.locator('main').getByText(shows).first().waitFor()
    assert.equal(await page.evaluate(() => Math.max(0, document.scrollingElement.scrollHeight - innerHeight)), 0, `${name} is longer than the window`)
  }
  assert.deepEqual(problems, [])
  await context.close()
})

test('Help explains every word that has a meaning', async () => {
  const { context, page, problems } = await open(browser)
  const sheet = await help(page)
  const folded = sheet.getByRole('region', { name: 'Words' })
  for (const part of await folded.locator('summary').all()) await part.click()
  const words = await folded.locator('dd').allTextContents()
  assert.ok(words.length > 30)
  assert.equal(new Set(words).size, words.length, 'one is explained twice')
  await page.keyboard.press('Escape')
  const explained = async (name) => {
    const titles = await page.locator('abbr[title]:not(.setting .badge *), .badge[title]').evaluateAll((all) => all.map((e) => e.title))
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
  await page.getByRole('button', { name: 'Actions for pocket' }).click()
  await page.getByRole('button', { name: 'Settings…' }).click()
  await page.getByRole('dialog').getByLabel('Temperature').waitFor()
  found += await explained('settings of a model')
  await page.keyboard.press('Escape')
  await page.goto(`${page.url().split('#')[0]}#/runs`)
  await page.locator('.runs tbody a').first().click()
  await page.waitForURL(/#\/runs\/\d+$/)
  await page.locator('main dt, main summary').first().waitFor()
  found += await explained('a run')
  assert.ok(found > 30, `${found} words are explained`)
  assert.deepEqual(problems, [])
  await context.close()
})

test('the drawer closes by Escape and by a click beside it', async () => {
  const { context, page, problems } = await open(browser, { viewport: { width: 1280, height: 700 } })
  await page.setViewportSize({ width: 740, height: 700 })
  const drawer = page.locator('.sidebar')
  const show = page.getByRole('button', { name: 'Show the sidebar' })
  await drawer.waitFor({ state: 'detached' })
  await show.click()
  await drawer.waitFor()
  await page.waitForFunction(() => document.activeElement?.closest('.sidebar'))
  await sound(page, 'drawer', [740])
  await page.keyboard.press('Escape')
  await drawer.waitFor({ state: 'detached' })
  await show.and(page.locator(':focus')).waitFor()
  await show.click()
  await drawer.waitFor()
  await page.mouse.click(600, 400)
  await drawer.waitFor({ state: 'detached' })
  assert.deepEqual(problems, [])
  await context.close()
})
