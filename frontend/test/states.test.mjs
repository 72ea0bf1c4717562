// Rare states of Tandem, in both themes and three widths. Each page says what is wrong and what to
// do. Nothing breaks or overflows.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'

import { launch, link, shot, sound } from './browser.mjs'
import { example, failure, serve, silence, state } from './fixtures.mjs'

// waiting is a state with a request that has not begun beside two that have.
const waiting = () => {
  const st = example('states', 'generating')
  const late = { ...st.active[1], run_id: 19, client: 'late', prompt_done: 0 }
  st.in_memory[0].queued = 1
  return state({ ...st, active: [...st.active, late] })
}

const examples = [
  { name: 'starting', says: [/Starting/] },
  { name: 'no_model', says: [/Start org\/coder-8b/, /No model is loaded/] },
  { name: 'loading', says: [/Loading/] },
  { name: 'ready', says: [/Ready/, /peak 5\.5 GiB since start/], pictures: [/^4\.7 GiB of 24 GiB used/], more: [/0 of 32,768 tokens/] },
  { name: 'measuring', says: [/Measuring, part 2 of 3/] },
  { name: 'two_models', says: [/Ready/, /embed-0\.6b/], more: [/^9 GiB$/] },
  { name: 'memory_pressure', says: [/short of memory since 14:03/, /unloaded org\/chat-4b \(2\.4 GiB\)/, /What is on disk stays/] },
  { name: 'generating', says: [/Answering 2 requests/, /^61 tokens\/s/, /\d\.\d tokens per step/], more: [/4,096 of 32,768 tokens, in the fullest request/] },
  { name: 'waiting', answer: waiting, says: [/Answering 3 requests, 1 waiting/, /waiting for its turn/, /reading 4,096 tokens/, /^12 %/] },
  { name: 'load_failed', says: [/is no longer at \/Volumes\/Models\/coder-8b; put it back/, /Start org\/coder-8b/] },
  { name: 'port_taken', says: [/8263/, /8264/, /closed/] },
  { name: 'endpoint_closed', says: [/too many open files/, /Try again/] },
  { name: 'disk_full', says: [/no space left on device/] },
  { name: 'download_failed', page: 'models', says: [/org\/big-32b/, /there is no room for 15 GB more/] },
  { name: 'download_stalled', page: 'models', says: [/org\/big-32b/, /the hub does not answer; trying again in 8 s/, /org\/small-1b/, /with its draft model org\/small-1b-DFlash/, /the model will answer without it: It needs a licence/] },
  { name: 'forbidden', answer: () => failure(example('failures', 'forbidden')), says: [/answers only its own machine/] },
  { name: 'crashed', answer: () => failure(example('failures', 'crashed')), says: [/ended 3 times and is not started again by itself/, /Start again/] },
  { name: 'no_connection', answer: () => silence, says: [/Tandem does not answer\. This page tries again by itself/] },
]

let browser
let session
const tandem = new URL(link()).origin

before(async () => {
  browser = await launch()
  const code = new URL(link()).hash.slice(1)
  const answer = await fetch(`${tandem}/app/session`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ code }) })
  session = (await answer.json()).session
})
after(() => browser.close())

// follow opens the page on a server that answers requests for the state as the test says.
async function follow(t, answer) {
  const server = await serve(tandem, answer)
  t.after(() => server.close())
  const context = await browser.newContext({ locale: 'en-US', viewport: { width: 1280, height: 800 } })
  t.after(() => context.close())
  await context.addInitScript((s) => sessionStorage.setItem('tandem-session', s), session)
  const page = await context.newPage()
  const problems = []
  page.on('pageerror', (e) => problems.push(String(e)))
  await page.goto(`${server.url}#/now`)
  return { page, problems, server }
}

test('the page comes back by itself when Tandem does', async (t) => {
  let answer = silence
  let streaming
  const { page, problems } = await follow(t, (res) => answer((streaming = res)))
  const notice = page.locator('main .notice')
  await notice.getByText('Tandem does not answer.').waitFor()
  answer = state(example('states', 'ready'))
  await page.getByText('Ready', { exact: true }).waitFor()
  await notice.waitFor({ state: 'detached' })
  // After a stream breaks off, the page asks again and begins with the whole state.
  answer = silence
  streaming.destroy()
  await notice.getByText('Tandem does not answer.').waitFor()
  answer = state(example('states', 'generating'))
  await page.getByText('Answering 2 requests').waitFor()
  await notice.waitFor({ state: 'detached' })
  // The page waits also for a server that ended on purpose.
  answer = silence
  streaming.end()
  await notice.waitFor()
  answer = state(example('states', 'ready'))
  await page.getByText('Ready', { exact: true }).waitFor()
  await notice.waitFor({ state: 'detached' })
  assert.deepEqual(problems, [])
})

test('a page whose file a newer Tandem lacks says so, and the other pages go on', async (t) => {
  let answer = state(example('states', 'ready'))
  let streaming
  const { page, problems } = await follow(t, (res) => answer((streaming = res)))
  const file = '**/assets/Runs-*.js'
  await page.route(file, (route) => route.fulfill({ status: 404 }))
  await page.reload()
  const menu = page.getByRole('navigation', { name: 'Pages' })
  const gone = page.getByRole('heading', { name: 'This page couldn’t be loaded' })
  const reload = page.getByRole('button', { name: 'Reload' })
  await menu.getByRole('link', { name: 'Runs' }).click()
  await page.getByRole('alert').filter({ hasText: 'Reload the window to continue.' }).waitFor()
  await sound(page, 'not-loaded')
  await menu.getByRole('link', { name: 'Connect' }).click()
  await page.getByRole('heading', { name: 'Connect', exact: true }).waitFor()
  await page.goBack()
  await gone.waitFor()
  // A reload without Tandem would leave nothing to see.
  answer = silence
  streaming.destroy()
  await page.locator('main .notice').getByText('Tandem does not answer.').waitFor()
  assert.ok(await reload.isDisabled())
  answer = state(example('states', 'ready'))
  await page.unroute(file)
  await reload.click()
  await page.getByRole('heading', { name: 'Runs', exact: true }).waitFor()
  assert.deepEqual(problems, [])
})

test('help that is asked for while a page loads opens over that page', async (t) => {
  const answer = state(example('states', 'ready'))
  const { page, problems } = await follow(t, (res) => answer(res))
  let load
  await page.route('**/assets/Runs-*.js', (route) => (load = () => route.continue()))
  const asked = page.waitForRequest('**/assets/Runs-*.js')
  await page.reload()
  // go changes the address, and waits until the page has read it.
  const go = (to) =>
    page.evaluate(async (to) => {
      const changed = new Promise((done) => addEventListener('hashchange', () => setTimeout(done), { once: true }))
      location.hash = to
      await changed
    }, to)
  await asked
  await go('#/runs')
  await go('#/help')
  load()
  await page.getByRole('dialog', { name: 'Help' }).waitFor()
  await page.getByRole('heading', { name: 'Runs', exact: true }).waitFor()
  assert.match(await page.evaluate(() => location.hash), /^#\/runs\/?$/)
  assert.deepEqual(problems, [])
})

test('an address that names no page leads to the playground', async (t) => {
  const answer = state(example('states', 'ready'))
  const { page, problems } = await follow(t, (res) => answer(res))
  for (const name of ['nothing', 'constructor', '__proto__']) {
    await page.goto(new URL(`#/${name}`, page.url()).href)
    await page.reload()
    await page.getByPlaceholder('Message').waitFor()
  }
  assert.deepEqual(problems, [])
})

test('a tab that Tandem knew before is told why it needs a link again', async (t) => {
  let answer = state(example('states', 'ready'))
  let streaming
  const { page, problems } = await follow(t, (res) => answer((streaming = res)))
  await page.getByText('Ready', { exact: true }).waitFor()
  answer = failure({ status: 401, error: { message: 'This page needs a link.', code: 'no_session' } })
  streaming.end()
  await page.getByText('This tab’s session has ended, because Tandem was restarted. Choose “Open Tandem”').waitFor()
  await page.reload()
  await page.getByText('Only you can see what Tandem shows here. Choose “Open Tandem”').waitFor()
  assert.deepEqual(problems, [])
})

test('a server that crashed too often is started again by a button', async (t) => {
  let answer = failure(example('failures', 'crashed'))
  const { page, problems } = await follow(t, (res) => answer(res))
  const again = page.getByRole('button', { name: 'Start again' })
  // The page says why Tandem cannot be started.
  await page.route('**/supervisor/again', (route) => route.fulfill({ status: 502, json: { error: { message: 'The program is gone.', code: 'internal' } } }))
  await again.click()
  await page.getByRole('alert').getByText('The program is gone.').waitFor()
  await page.unroute('**/supervisor/again')
  const asked = page.waitForRequest('**/supervisor/again')
  await page.route('**/supervisor/again', (route) => {
    answer = state(example('states', 'ready'))
    return route.fulfill({ json: {} })
  })
  await again.click()
  assert.equal((await asked).method(), 'POST')
  await page.getByText('Ready', { exact: true }).waitFor()
  await again.waitFor({ state: 'detached' })
  assert.deepEqual(problems, [])
})

test('after a lost event the page asks for the whole state again', async (t) => {
  let asked = 0
  const { page, problems } = await follow(t, (res) => {
    state(example('states', asked++ === 0 ? 'ready' : 'generating'))(res)
    if (asked === 1) res.write(`data: ${JSON.stringify({ rev: 3, phase: 'draining' })}\n\n`)
  })
  await page.getByText('Answering 2 requests').waitFor()
  await page.locator('main .notice').waitFor({ state: 'detached' })
  assert.deepEqual(problems, [])
})

for (const { name, page: path = 'now', answer, says, pictures = [], more = [] } of examples) {
  test(name, async (t) => {
    const server = await serve(tandem, answer ? answer() : state(example('states', name)))
    t.after(() => server.close())
    const context = await browser.newContext({ locale: 'en-US', viewport: { width: 1280, height: 800 } })
    t.after(() => context.close())
    await context.addInitScript((s) => sessionStorage.setItem('tandem-session', s), session)
    const page = await context.newPage()
    const problems = []
    page.on('pageerror', (e) => problems.push(String(e)))
    await page.goto(`${server.url}#/${path}`)
    for (const text of says) await page.locator('main').getByText(text).first().waitFor()
    for (const name of pictures) await page.locator('main').getByRole('img', { name }).waitFor()
    if (more.length > 0) await page.locator('main summary').filter({ hasText: 'in memory' }).click()
    for (const text of more) await page.locator('main').getByText(text).first().waitFor()
    assert.doesNotMatch(await page.locator('main').innerText(), /`|\btandem [a-z]/) // a command of the terminal
    await sound(page, `state-${name}`, [500, 800, 1280])
    assert.deepEqual(problems, [])
  })
}

// The menu bar knows whether Tandem starts at login.
test('only the window shows and sets whether Tandem starts at login', async (t) => {
  let on = false
  let refuses = false
  const asked = []
  const login = (req, res) => {
    asked.push(req.method)
    let body = ''
    req.on('data', (part) => (body += part)).on('end', () => {
      if (refuses && req.method === 'POST') return failure({ status: 502, error: { message: 'It was not changed: allow Tandem in System Settings.', code: 'internal' } })(res)
      if (req.method === 'POST') on = JSON.parse(body).on
      res.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify({ known: true, on }))
    })
  }
  const server = await serve(tandem, state(example('states', 'ready')), { '/supervisor/login': login })
  t.after(() => server.close())
  const context = await browser.newContext({ locale: 'en-US', viewport: { width: 800, height: 800 } })
  t.after(() => context.close())
  await context.addInitScript((s) => sessionStorage.setItem('tandem-session', s), session)
  const page = await context.newPage()
  const box = page.getByRole('checkbox', { name: 'Start Tandem at login' })

  await page.goto(`${server.url}#/settings`)
  await page.getByText('To start Tandem at login, use the switch in its menu.').waitFor()
  assert.deepEqual(asked, [])

  const answered = (act) => Promise.all([page.waitForResponse(/supervisor/), act()])
  await page.goto(`${server.url.replace('127.0.0.1', 'wails.localhost')}#/settings`)
  assert.ok(!(await box.isChecked()))
  await answered(() => box.click())
  assert.ok(on)
  await page.reload()
  assert.ok(await box.isChecked())
  await shot(page, 'login')
  refuses = true
  await answered(() => box.click())
  await page.getByRole('alert').getByText('allow Tandem in System Settings').waitFor()
  assert.ok(await box.isChecked())
})
