// The tests of the interface share this file: it opens Chromium and a page with a session.
//
//   CHROMIUM  path of the browser
//   TANDEM    path of the program; with TANDEM_HOME it makes links
//   OUT       folder for screenshots
//   FUZZ      how many answers of repeated characters are tried

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'

import axe from 'axe-core'
import { chromium } from 'playwright-core'

const flags = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync']

export const out = process.env.OUT ?? '.'
mkdirSync(out, { recursive: true })

export const launch = (options = {}) => chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium-headless-shell', args: flags, ...options })

// link asks the running Tandem for a link that opens the page with a session.
export const link = () => execFileSync(process.env.TANDEM, ['open', '--print'], { encoding: 'utf8' }).trim()

// open returns a page with a session, and the list of its problems. The page skips the first steps
// unless a test asks for them.
export async function open(browser, { link: from = link, welcome = false, ...options } = {}) {
  const context = await browser.newContext({ locale: 'en-US', viewport: { width: 1280, height: 800 }, ...options })
  const page = await context.newPage()
  const problems = []
  page.on('pageerror', (e) => problems.push(String(e)))
  page.on('console', (m) => (m.type() === 'error' || /svelte\.dev/.test(m.text())) && problems.push(m.text()))
  await page.goto(from())
  await page.locator('.foot').waitFor()
  const first = page.getByRole('dialog', { name: 'Welcome to Tandem' })
  if (!welcome && (await first.isVisible())) {
    await page.getByRole('button', { name: 'Skip', exact: true }).click()
    await first.waitFor({ state: 'hidden' })
  }
  return { context, page, problems }
}

export const shot = (page, name) => page.screenshot({ path: join(out, `${name}.png`), fullPage: true })

// violations returns what axe finds wrong on a page: each rule with its elements. axe's own package
// for Playwright opens a second page for every look, which takes ten times as long.
export async function violations(page) {
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe.source)
  return page.evaluate(async () => {
    const found = await window.axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'], resultTypes: ['violations'] })
    return found.violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.target).join(' ')}`)
  })
}

// overflow returns how many pixels a page or an open dialog on it is wider than the window.
export const overflow = (page) =>
  page.evaluate(() => Math.max(...[document.documentElement, ...document.querySelectorAll('main, .pane, .sidebar, dialog[open]')].map((e) => e.scrollWidth - e.clientWidth)))

// look takes a screenshot at each width. It expects at each that nothing is too wide, dialogs
// included, and that axe finds no violations.
async function look(page, name, widths) {
  for (const width of widths) {
    await page.setViewportSize({ width, height: 800 })
    const at = `${name}-${width}`
    await shot(page, at)
    const over = await overflow(page)
    assert.ok(over <= 0, `${at} is ${over} px too wide`)
    assert.deepEqual(await violations(page), [], at)
  }
}

// sound looks at the page as it is now, in both themes and at each width. It leaves the page dark.
export async function sound(page, name, widths = [800, 1280]) {
  const before = page.viewportSize()
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    await look(page, `${name}-${colorScheme}`, widths)
  }
  await page.setViewportSize(before)
}

// ask calls a control route from a page with a session: with a body by POST.
export const ask = (page, path, body) =>
  page.evaluate(
    async ([path, body]) => {
      const headers = { Authorization: `Bearer ${sessionStorage.getItem('tandem-session')}`, 'Content-Type': 'application/json' }
      const answer = await fetch(path, { headers, method: body ? 'POST' : 'GET', body: body && JSON.stringify(body) })
      if (!answer.ok) throw new Error(`${path}: ${await answer.text()}`)
      return answer.json()
    },
    [path, body],
  )
