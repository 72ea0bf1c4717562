// The page Settings: its tabs and search, keys, the link of the command line tool, the log, the
// report and an endpoint that moves. The test has a server of its own, whose user has a folder of
// their own.

import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, mkdirSync, readFileSync, readlinkSync, rmSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'

import { launch, shot, sound } from './browser.mjs'

const user = mkdtempSync(join(tmpdir(), 'u'))
const env = { ...process.env, HOME: user, TANDEM_HOME: join(user, 'tandem'), HF_ENDPOINT: 'https://mirror.example.org' }
delete env.HF_TOKEN
let browser, server

// tandem runs a command of the program.
const tandem = (...args) => execFileSync(process.env.TANDEM, args, { env, encoding: 'utf8' }).trim()

// freePort returns a port that is free now.
const freePort = () =>
  new Promise((done) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address()
      probe.close(() => done(port))
    })
  })

before(async () => {
  mkdirSync(join(user, 'Downloads'))
  tandem('settings', 'set', `port=${await freePort()}`)
  server = spawn(process.env.TANDEM, ['serve', '--model', 'pocket'], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  await new Promise((done) => server.stdout.once('data', done))
  browser = await launch()
})
after(async () => {
  await browser?.close()
  if (server) {
    server.kill('SIGTERM')
    await new Promise((done) => server.once('exit', done))
  }
  rmSync(user, { recursive: true })
})

// skip closes the first steps, where they are shown.
async function skip(page) {
  await page.locator('.foot').waitFor()
  const first = page.getByRole('dialog', { name: 'Welcome to Tandem' })
  if (!(await first.isVisible())) return
  await page.getByRole('button', { name: 'Skip', exact: true }).click()
  await first.waitFor({ state: 'detached' })
}

// go opens another tab of the settings.
async function go(page, name) {
  await page.getByRole('navigation', { name: 'Parts of the settings' }).getByRole('link', { name, exact: true }).click()
  await page.locator(`.segments [aria-current="page"]`).getByText(name, { exact: true }).waitFor()
}

// visit opens a page with a session, at a width of its own.
async function visit(path, options = {}) {
  const context = await browser.newContext({ locale: 'en-US', viewport: { width: 1280, height: 800 }, permissions: ['clipboard-read', 'clipboard-write'], ...options })
  const page = await context.newPage()
  const problems = []
  page.on('pageerror', (e) => problems.push(String(e)))
  page.on('console', (m) => m.type() === 'error' && problems.push(m.text()))
  await page.goto(`${tandem('open', '--print')}/${path}`)
  await page.locator('main .toolbar').waitFor()
  await skip(page)
  return { context, page, problems }
}

// saved waits until the page says that a setting was saved.
const saved = (page, name) => page.locator('.setting').filter({ has: page.locator(`#set-${name}`) }).getByText('Saved.').waitFor()

const settings = () => JSON.parse(tandem('settings', '--json'))

test('each setting is saved by itself, and a wrong value is explained', async () => {
  const { context, page, problems } = await visit('settings')
  const minutes = page.getByLabel('Unload an idle model after', { exact: true })
  await minutes.fill('30')
  await minutes.press('Tab')
  await saved(page, 'idle_unload_minutes')
  assert.equal(settings().settings.idle_unload_minutes, 30)

  // A part of a minute is refused, not rounded.
  await minutes.fill('1.5')
  await minutes.press('Tab')
  await page.getByText('This must be a whole number').waitFor()
  assert.equal(settings().settings.idle_unload_minutes, 30)

  await minutes.fill('-5')
  await minutes.press('Tab')
  await page.getByText(/This must be between 0/).waitFor()
  assert.equal(settings().settings.idle_unload_minutes, 30)
  await page.getByRole('button', { name: 'Reset to default: Unload an idle model after' }).click()
  await page.getByText(/must be between 0/).waitFor({ state: 'detached' })
  await page.waitForFunction(() => document.activeElement.id === 'set-idle_unload_minutes')
  assert.equal(settings().settings.idle_unload_minutes, 0)

  await go(page, 'Endpoint')
  await page.getByLabel('Allowed host names', { exact: true }).fill('mac.example\nother.example')
  await page.getByLabel('Allowed host names', { exact: true }).press('Tab')
  await saved(page, 'allowed_hosts')
  assert.deepEqual(settings().settings.allowed_hosts, ['mac.example', 'other.example'])
  await go(page, 'History')
  await page.getByLabel('Keep requests', { exact: true }).selectOption('30d')
  await saved(page, 'keep_requests')
  await go(page, 'Disk')
  await page.getByLabel('Maximum disk space for checkpoints', { exact: true }).fill('2')
  await page.getByLabel('Maximum disk space for checkpoints', { exact: true }).press('Tab')
  await saved(page, 'checkpoint_disk')
  await go(page, 'General')
  await page.getByRole('checkbox', { name: 'Show tokens per second' }).check()
  await saved(page, 'menu_speed')
  const { settings: s } = settings()
  assert.deepEqual([s.keep_requests, s.checkpoint_disk, s.menu_speed], ['30d', 2e9, true])
  // The type of numbers counts from the next load on, and pocket is loaded now.
  await page.getByLabel('Weight precision', { exact: true }).selectOption('checkpoint')
  await saved(page, 'dtype')
  assert.equal(settings().settings.dtype, 'checkpoint')
  await page.locator('#set-dtype-more').getByText('takes effect the next time a model is loaded').waitFor()
  // A choice among numbers is sent as a number.
  await page.getByLabel('KV cache precision', { exact: true }).selectOption('8 bits')
  await saved(page, 'kv_bits')
  assert.equal(settings().settings.kv_bits, 8)
  // A setting without a value shows the value that Tandem chooses.
  const memory = page.getByLabel('Maximum memory for checkpoints', { exact: true })
  assert.equal(await memory.inputValue(), '')
  const automatic = settings().automatic.checkpoint_memory
  assert.ok(automatic > 2 ** 20, `automatic is ${automatic}`)
  assert.equal(Number(await memory.getAttribute('placeholder')), Number((automatic / 2 ** 30).toFixed(2)))
  // only the budget of memory is automatic: the disk's is set
  await page.getByText(/Currently [\d.]+ Gi?B\./).waitFor()
  // A number of bytes from the command line is shown rounded, as a person would write it.
  tandem('settings', 'set', 'checkpoint_memory=1234567890')
  await page.reload()
  await page.waitForFunction(() => document.querySelector('#set-checkpoint_memory')?.value === '1.15')

  // The environment sets the hub's address. A lock says so.
  await go(page, 'Disk')
  assert.ok(await page.getByLabel('Hub', { exact: true }).isDisabled())
  await page.locator('.setting', { has: page.locator('#set-hub_endpoint') }).getByRole('button', { name: 'locked' }).click()
  await page.locator('.meaning').getByText(/Set by HF_ENDPOINT in the environment\. Restart without it to change this here/).waitFor()
  assert.match(await page.locator('#set-hub_endpoint-more').textContent(), /Set by HF_ENDPOINT/)
  assert.equal(await page.getByLabel('Hub', { exact: true }).inputValue(), 'https://mirror.example.org')

  // A path that is no folder is refused, and the typed text stays.
  await page.getByLabel('More model folders', { exact: true }).fill('models')
  await page.getByLabel('More model folders', { exact: true }).press('Tab')
  await page.getByText(/This must have whole paths/).waitFor()
  assert.equal(await page.getByLabel('More model folders', { exact: true }).inputValue(), 'models')
  await sound(page, 'settings-refused')
  assert.deepEqual(problems.filter((p) => !/400/.test(p)), [])
  await context.close()
})

test('a search finds settings of all tabs', async () => {
  const { context, page, problems } = await visit('settings')
  await page.getByLabel('Unload an idle model after', { exact: true }).waitFor()
  await page.keyboard.press('Control+f')
  const field = page.getByRole('searchbox', { name: 'Find a setting' })
  await page.waitForFunction(() => document.activeElement?.getAttribute('aria-label') === 'Find a setting')
  await page.keyboard.type('proxy')
  await page.getByLabel('Proxy', { exact: true }).waitFor()
  await page.getByLabel('Allowed host names', { exact: true }).waitFor() // its meaning has the word
  await page.getByLabel('Unload an idle model after', { exact: true }).waitFor({ state: 'hidden' })
  assert.ok(await page.getByRole('log').isHidden())
  await sound(page, 'settings-found')
  await field.fill('no such thing')
  await page.getByText('No settings found.').waitFor()
  // Escape shows the tab again, and a tab ends the search.
  await field.press('Escape')
  await page.getByLabel('Unload an idle model after', { exact: true }).waitFor()
  await field.fill('proxy')
  await go(page, 'History')
  assert.equal(await field.inputValue(), '')
  await page.getByLabel('Keep chats', { exact: true }).waitFor()
  await page.getByLabel('Proxy', { exact: true }).waitFor({ state: 'detached' })
  assert.deepEqual(problems, [])
  await context.close()
})

test('the token can be set and is never shown', async () => {
  const { context, page, problems } = await visit('settings/disk')
  await page.getByLabel('Token', { exact: true }).fill('hf_secret')
  await page.getByRole('button', { name: 'Save the token' }).click()
  await page.getByText('One is set here.').waitFor()
  assert.equal(await page.getByLabel('Token', { exact: true }).inputValue(), '')
  assert.ok(!(await page.content()).includes('hf_secret'))
  assert.equal(statSync(join(env.TANDEM_HOME, 'hub-token')).mode & 0o777, 0o600)
  await go(page, 'General')
  await page.getByRole('button', { name: 'Export settings' }).click()
  const path = join(user, 'Downloads', 'tandem-settings.json')
  await page.getByText(path).waitFor()
  assert.ok(!readFileSync(path, 'utf8').includes('hf_secret'))
  await go(page, 'Disk')
  await page.getByRole('button', { name: 'Remove the token' }).click()
  await page.getByText('One is set here.').waitFor({ state: 'detached' })
  assert.ok(!existsSync(join(env.TANDEM_HOME, 'hub-token')))
  assert.deepEqual(problems, [])
  await context.close()
})

test('a key can be made and deleted, and is shown once', async () => {
  const { context, page, problems } = await visit('settings/endpoint')
  // Without a key no request needs one.
  await page.getByRole('checkbox', { name: /^Require a key on this/ }).click()
  await page.getByText(/This needs a key first/).waitFor()
  assert.ok(!(await page.getByRole('checkbox', { name: /^Require a key on this/ }).isChecked()))

  await page.getByLabel('New key for').fill('Zed')
  await page.getByLabel('New key for').press('Enter')
  const secret = await page.locator('#new-key').textContent()
  assert.match(secret, /^tandem-[a-z2-7]{26}$/)
  await sound(page, 'settings-key')
  await page.getByRole('button', { name: 'Copy the key' }).click()
  await page.getByText('Copied').waitFor()
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), secret)
  await page.reload()
  await page.getByRole('row').filter({ hasText: 'Zed' }).waitFor()
  assert.ok(!(await page.content()).includes(secret))

  await page.getByRole('checkbox', { name: /^Require a key on this/ }).check()
  await saved(page, 'require_key')
  const ask = (headers) => fetch(new URL('/v1/models', page.url()), { headers }).then((r) => r.status)
  assert.deepEqual([await ask({}), await ask({ Authorization: `Bearer ${secret}` })], [401, 200])
  // The page needs no key.
  await page.getByRole('link', { name: 'Playground' }).click()
  await page.locator('form').getByRole('button', { name: 'Complete', exact: true }).click()
  await page.getByRole('region', { name: 'Completion' }).getByText(/\w/).waitFor({ timeout: 60_000 })
  await page.getByRole('button', { name: 'Complete again' }).waitFor({ timeout: 60_000 })

  await page.getByRole('link', { name: 'Settings', exact: true }).click()
  await go(page, 'Endpoint')
  await page.getByRole('button', { name: 'Delete the key for Zed' }).click()
  await page.getByRole('button', { name: 'Delete', exact: true }).click()
  await page.getByText(/is the last key/).waitFor()
  await page.getByRole('checkbox', { name: /^Require a key on this/ }).uncheck()
  await saved(page, 'require_key')
  await page.getByRole('button', { name: 'Delete the key for Zed' }).click()
  await page.getByRole('button', { name: 'Delete', exact: true }).click()
  await page.getByRole('row').filter({ hasText: 'Zed' }).waitFor({ state: 'detached' })
  assert.equal(await ask({ Authorization: `Bearer ${secret}` }), 200) // any key is accepted again
  assert.deepEqual(problems.filter((p) => !/400/.test(p)), [])
  await context.close()
})

test('the command line tool is linked on request', async () => {
  const { context, page } = await visit('settings')
  const link = join(user, '.local', 'bin', 'tandem')
  assert.ok(!existsSync(link))
  await page.getByRole('button', { name: 'Create the link' }).click()
  await page.getByText('runs this Tandem').waitFor()
  await page.getByText('export PATH="$HOME/.local/bin:$PATH"').waitFor()
  assert.ok(existsSync(readlinkSync(link)))
  await context.close()
})

test('the log is live, and the report is saved', async () => {
  const { context, page, problems } = await visit('settings/diagnostics')
  const log = page.getByRole('log')
  await log.getByText('model loaded').first().waitFor()
  const before = await log.getByText('endpoint=/v1/completions').count()
  const answer = await fetch(new URL('/v1/completions', page.url()), { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ model: 'tandem', prompt: 'sesame', max_tokens: 2 }) })
  assert.equal(answer.status, 200)
  await log.getByText('endpoint=/v1/completions').nth(before).waitFor()
  assert.ok(!(await log.textContent()).includes('sesame'))
  await page.getByLabel('Warnings and errors only').check()
  await log.getByText('endpoint=/v1/completions').first().waitFor({ state: 'detached' })
  await page.getByLabel('Warnings and errors only').uncheck()
  await page.getByRole('button', { name: 'Report a Problem…' }).click()
  const shown = await page.getByRole('region', { name: 'The report' }).textContent()
  await page.getByRole('button', { name: 'Save report' }).click()
  const status = page.getByText(/Saved as/)
  await status.waitFor()
  const file = readFileSync(/Saved as (\S+)/.exec(await status.textContent())[1], 'utf8')
  assert.equal(file, `${shown}\n`, 'another report was saved than the one that was shown')
  const report = JSON.parse(file)
  assert.ok(report.runs.length > 0 && report.log.length > 0 && !JSON.stringify(report).includes('sesame'))
  await sound(page, 'settings-diagnostics')
  assert.deepEqual(problems, [])
  await context.close()
})

test('a newer version is offered, and its page opens outside of the window', async () => {
  const { context, page, problems } = await visit('settings')
  await page.getByText('Updates are turned off in this build').waitFor()
  const known = { offered: true, newer: false }
  await page.route('**/app/updates', (route) => {
    if (route.request().method() === 'POST') Object.assign(known, { newer: true, version: '9.1.0', page: 'https://example.org/tandem', checked_at: new Date().toISOString() })
    route.fulfill({ contentType: 'application/json', body: JSON.stringify(known) })
  })
  await page.reload()
  await page.getByRole('checkbox', { name: 'Check for updates daily' }).waitFor()
  await page.getByRole('button', { name: 'Check now' }).click()
  // Wails defines this function in the window
  await page.evaluate(() => (window.runtime = { BrowserOpenURL: (url) => (window.opened = url) }))
  await page.getByRole('link', { name: 'download page' }).click()
  assert.equal(await page.evaluate(() => window.opened), 'https://example.org/tandem')
  assert.equal(context.pages().length, 1)
  assert.deepEqual(problems, [])
  await context.close()
})

test('a page with a taken port offers the ways out', async () => {
  const { context, page } = await visit('now')
  const state = JSON.parse(readFileSync(new URL('../../app/control/testdata/states/port_taken.json', import.meta.url), 'utf8'))
  await page.route('**/app/state', (route) => route.fulfill({ contentType: 'text/event-stream', body: `data: ${JSON.stringify({ ...state, rev: 1 })}\n\n` }))
  const asked = []
  await page.route('**/app/port', (route) => {
    asked.push(route.request().postDataJSON())
    route.fulfill({ status: 409, contentType: 'application/json', body: JSON.stringify({ error: { message: 'Nothing was changed: port 8263 is taken.', code: 'port_taken' } }) })
  })
  await page.reload()
  await page.getByText('Port 8263 is taken by python3 (pid 812)').waitFor()
  await page.getByRole('button', { name: 'Use 8264' }).click()
  await page.getByText('Nothing was changed').waitFor()
  await page.getByRole('button', { name: 'Try again' }).click()
  await page.waitForFunction(() => !document.querySelector('.notice button[disabled]'))
  await shot(page, 'port-taken')
  assert.deepEqual(asked, [{ port: 8264 }, {}])
  await context.close()
})

test('the page follows an endpoint that moves', async (t) => {
  const { context, page } = await visit('settings/endpoint')
  const field = page.getByLabel('Port', { exact: true })
  const before = new URL(page.url()).port

  const other = createServer().listen(0, '127.0.0.1')
  t.after(() => other.close())
  await new Promise((done) => other.once('listening', done))
  await field.fill(`${other.address().port}`)
  await field.press('Tab')
  await page.getByText(new RegExp(`Nothing was changed: port ${other.address().port} is taken by node`)).waitFor()
  assert.equal(settings().settings.port, Number(before))

  const next = await freePort()
  await field.fill(`${next}`)
  await field.press('Tab')
  await page.waitForURL(`http://127.0.0.1:${next}/#/settings/endpoint`)
  await page.getByText(`http://127.0.0.1:${next}/v1`).waitFor()
  await assert.rejects(fetch(`http://127.0.0.1:${before}/health`))
  await context.close()
})
