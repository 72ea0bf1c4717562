// The page Now unloads the model and loads it again. It stops a program's request, and shows the
// request's end.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'

import { launch, link, open, sound } from './browser.mjs'

let browser
const address = new URL(link()).origin

before(async () => {
  browser = await launch()
})
after(() => browser.close())

// now opens the page.
async function now(options) {
  const all = await open(browser, options)
  await all.page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: /^Now/ }).click()
  await all.page.getByRole('heading', { name: 'Now', exact: true }).waitFor()
  return all
}

test('Now keeps its scroll position while its chart is read again', async () => {
  const { context, page, problems } = await now({ viewport: { width: 1120, height: 400 } })
  const chart = page.locator('.areas svg')
  await chart.waitFor()
  await chart.evaluate((c) => c.setAttribute('data-first', ''))
  const down = () => page.evaluate(() => document.getElementById('pane').scrollTop)
  await page.evaluate(() => document.getElementById('pane').scrollTo(0, 1e6))
  const end = await down()
  assert.ok(end > 0)
  await page.waitForResponse(/\/app\/activity/) // it is read every five seconds
  await page.waitForTimeout(300)
  assert.equal(await down(), end)
  assert.equal(await page.locator('.areas svg[data-first]').count(), 1, 'the chart was made again')
  assert.deepEqual(problems, [])
  await context.close()
})

test('a tab that nobody sees asks for nothing', async () => {
  const { context, page, problems } = await now()
  const asked = []
  page.on('request', (r) => /\/app\/(activity|insights)/.test(r.url()) && asked.push(r.url()))
  const hide = (value) =>
    page.evaluate((value) => {
      Object.defineProperty(document, 'hidden', { configurable: true, value })
      document.dispatchEvent(new Event('visibilitychange'))
    }, value)
  await hide(true)
  await page.waitForTimeout(300)
  asked.length = 0
  await page.waitForTimeout(5500) // longer than the pause between two readings
  assert.deepEqual(asked, [])
  // It has the latest figures when a person looks again.
  const again = page.waitForRequest('**/app/insights')
  await hide(false)
  await again
  assert.deepEqual(problems, [])
  await context.close()
})

test('the model is unloaded and loaded again', async () => {
  const { context, page, problems } = await now()
  const start = page.getByRole('button', { name: 'Start pocket' })
  const unload = page.getByRole('button', { name: 'Unload pocket' })
  // The test before this one may have left no model loaded.
  await start.or(unload).waitFor()
  if (await start.isVisible()) await start.click()
  await unload.click()
  await start.waitFor()
  await unload.waitFor({ state: 'detached' })
  await page.getByText('No model is loaded', { exact: true }).waitFor()
  // The page says why the model cannot be loaded.
  await page.route('**/app/load', (route) => route.fulfill({ status: 507, json: { error: { message: 'There is no room for it.', code: 'no_room' } } }))
  await start.click()
  await page.getByRole('alert').getByText('There is no room for it.').waitFor()
  await sound(page, 'now-unloaded')
  await page.unroute('**/app/load')
  await start.click()
  await page.getByText('Ready', { exact: true }).waitFor({ timeout: 60_000 })
  await unload.waitFor()
  assert.equal(await page.getByRole('alert').count(), 0)
  assert.equal(await start.count(), 0)
  assert.deepEqual(problems.filter((p) => !p.includes('507')), [])
  await context.close()
})

// long sends a request with an answer that does not end.
const long = (client, prompt = 'package main\n') =>
  fetch(`${address}/v1/completions`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'User-Agent': client },
    body: JSON.stringify({ model: 'tandem', prompt, max_tokens: 30_000, ignore_eos: true, stream: true, stream_options: { include_usage: true } }),
  })

test('a request can be stopped', async () => {
  const { context, page, problems } = await now()
  const client = `now${Date.now()}/1.0`
  const asked = long(client)
  const card = page.getByRole('article', { name: `Request of ${client}` })
  await card.getByText(/writing, [\d,]+ tokens so far/).waitFor()
  await card.getByText(/tokens\/s/).waitFor()
  await sound(page, 'now-answering')
  const stop = page.getByRole('button', { name: `Stop the request of ${client}` })
  for (const [code, alerts] of [['internal', 1], ['run_not_found', 0]]) {
    await page.route('**/app/runs/*/cancel', (route) => route.fulfill({ status: 500, json: { error: { message: 'It goes on.', code } } }), { times: 1 })
    const answered = page.waitForResponse('**/app/runs/*/cancel')
    await stop.click()
    await (await answered).finished()
    await page.waitForTimeout(200)
    assert.equal(await card.getByText('It goes on.').count(), alerts)
  }
  await stop.click()
  await card.waitFor({ state: 'detached' })
  const { usage } = JSON.parse((await (await asked).text()).split('\n\n').findLast((event) => event.includes('"usage":{')).slice('data: '.length))
  assert.ok(usage.completion_tokens < 30_000, `it has ${usage.completion_tokens} tokens`)
  assert.deepEqual(problems.splice(0).filter((p) => !p.includes('500')), [])
  // The idle line says who came last, and the tiles stay.
  await page.locator('.idle').filter({ hasText: 'Last:' }).getByText(client.split('/')[0]).waitFor()
  await page.getByRole('region', { name: 'Speed' }).getByText(/median today \d+/).waitFor()
  // A click anywhere in the row of a run opens it.
  await page.getByRole('region', { name: 'Latest runs' }).getByText('stopped').first().click()
  await page.getByRole('heading', { name: /^Run \d+/ }).waitFor()
  assert.deepEqual(problems, [])
  await context.close()
})

test('a prompt that is read shows how far it is', async () => {
  const { context, page, problems } = await now()
  const client = `reads${Date.now()}`
  const stop = new AbortController()
  const lines = Array.from({ length: 900 }, (_, i) => `func f${i}(a int) int { return a*${(i * 7919) % 1009} + ${Date.now() % 1000} }`).join('\n')
  const asked = fetch(`${address}/v1/completions`, { method: 'POST', signal: stop.signal, headers: { 'Content-Type': 'application/json', 'User-Agent': client }, body: JSON.stringify({ model: 'tandem', prompt: lines, max_tokens: 5 }) }).catch(() => {})
  const card = page.getByRole('article', { name: `Request of ${client}` })
  await card.getByText(/[\d,]+ of [\d,]+ read$/).waitFor()
  await card.getByText(/^\d+ %$/).waitFor()
  await card.getByText(/first word in about/).waitFor()
  stop.abort()
  await asked
  await card.waitFor({ state: 'detached' })
  assert.deepEqual(problems, [])
  await context.close()
})

test('the chart shows five minutes, an hour and a day, also after a reload', async () => {
  const { context, page, problems } = await now()
  const asked = []
  page.on('request', (r) => r.url().includes('/app/activity') && asked.push(new URL(r.url()).searchParams.get('minutes')))
  const choose = page.getByRole('group', { name: 'Time of the chart' })
  for (const [name, title, minutes] of [['1 h', 'The last hour', '60'], ['24 h', 'The last day', '1440'], ['5 min', 'The last five minutes', '5']]) {
    await choose.getByRole('button', { name }).click()
    await page.getByRole('heading', { name: title }).waitFor()
    assert.equal(await choose.getByRole('button', { name }).getAttribute('aria-pressed'), 'true')
    assert.equal(asked.at(-1), minutes)
  }
  await page.reload()
  await page.getByRole('img', { name: /^Tokens per second: up to [\d,]+ written and [\d,]+ read$/ }).waitFor()
  await page.route('**/app/activity?*', (route) => route.fulfill({ json: { from: '2026-11-27T10:00:00Z', seconds: 5, read: [0, 0, 0], written: [0, 0, 0] } }))
  await choose.getByRole('button', { name: '1 h' }).click()
  await page.getByRole('img', { name: 'Nothing was read or written in this period' }).waitFor()
  assert.deepEqual(problems, [])
  await context.close()
})

test('each reason why requests were slow has its cost, its evidence and one button', async () => {
  const { context: tab, page, problems } = await open(browser)
  const today = { requests: 214, failed: 3, stopped: 11, per_second: 39, prompt_tokens: 2.2e6, restored_tokens: 1.9e6, checkpoints_ms: 72 * 60_000, drafts_ms: 36 * 60_000 }
  const parted = { at: 6144, kept: '13:31', given: '13:42', answer: false, run: 7 }
  let slow = [
    { kind: 'changed', cost_ms: 360_000, runs: 14, latest: 9, client: 'claude-cli/2.0', models: ['m'], parted, tokens: 18_166 },
    { kind: 'swapped', cost_ms: 130_000, runs: 9, latest: 8, models: ['a', 'b'] },
    { kind: 'queued', cost_ms: 9000, runs: 2, latest: 7, client: 'zed', behind: 'claude-cli/2.0' },
  ]
  await page.route('**/app/insights', (route) => route.fulfill({ json: { today, slow } }))
  await page.route('**/app/runs/9/report', (route) => route.fulfill({ json: { run: {}, facts: [], phases: [], parting: { ...parted, before: 'Be brief. Today is 2026-11-27, ', kept_text: '13:31. Rules', given_text: '13:42. Rules' } } }))
  const kept = []
  const context = []
  const asked = { settings: 0, model: 0 } // how often the page asks what would help
  await page.route('**/app/model-settings*', (route) => {
    if (route.request().method() === 'POST') context.push(route.request().postDataJSON())
    else asked.model++
    return route.fulfill({ json: { settings: { model: 'm', depth: 3 }, defaults: {}, context_length: 32_768, longest, serving: 8192, drafter: 'auto' } })
  })
  let longest = 32_768 // tokens of the longest context that the model and the machine can have
  let models = ['a', 'b'].map((id) => ({ id, needs: { bytes: 9, context: 8192, fits: true }, least: 4 }))
  await page.route('**/app/memory', (route) => route.fulfill({ json: { total: 20, room: 8, models } }))
  await page.route('**/app/settings', (route) => {
    if (route.request().method() !== 'POST') {
      asked.settings++
      return route.fulfill({ json: { settings: { load_on_request: 'replace' } } })
    }
    kept.push(route.request().postDataJSON())
    return route.fulfill({ json: {} })
  })
  await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: /^Now/ }).click()
  const why = page.getByRole('region', { name: 'Why it was slow' })
  await why.getByText('Claude Code puts the time into its prompt, so 18,166 tokens are re-read on every request.').waitFor()
  await why.getByText('“…Be brief. Today is 2026-11-27, 13:31” became “13:42”. It cost 6 min in 14 runs today.').waitFor()
  await why.getByText('Zed waited in 2 runs for requests from Claude Code.').waitFor()
  assert.equal(await why.locator('.slow').count(), 3)
  for (const reason of await why.locator('.slow').all()) assert.equal(await reason.locator('button, a.button').count(), 1)
  await page.getByText('1 h 48 min').waitFor()
  await page.getByText('86 %').waitFor()
  await sound(page, 'now-slow')
  for (let i = 0; i < 2; i++) await page.waitForResponse('**/app/insights')
  assert.equal(asked.settings, 1, 'the same reason asked again')
  await why.getByRole('button', { name: 'Keep both in memory' }).click()
  await why.getByRole('button', { name: 'Both stay in memory' }).waitFor()
  assert.deepEqual(kept, [{ load_on_request: 'beside' }])
  slow = [
    { kind: 'plain', cost_ms: 5000, runs: 3, latest: 6, models: ['m'], why: 'the drafter failed' },
    { kind: 'long', cost_ms: 0, runs: 1, latest: 5, client: 'zed', models: ['m'], tokens: 9031 },
  ]
  await why.getByText('3 answers from m came without drafts.').waitFor({ timeout: 10_000 })
  await why.getByText('1 prompt from Zed didn’t fit into the context of m.').waitFor()
  await why.getByText('The longest had 9,031 tokens. A longer context needs more memory.').waitFor()
  await why.getByRole('button', { name: 'Use a context of 12,288' }).click()
  await why.getByRole('button', { name: 'Applies from its next load' }).waitFor()
  assert.deepEqual(context, [{ model: 'm', depth: 3, context: 12_288 }])
  await page.waitForResponse('**/app/insights')
  assert.equal(asked.model, 1, 'the same reason asked again')
  // Nothing is offered that would not help: no longer context than the model can have, and no place beside
  // each other for models that do not fit.
  longest = 8192
  slow = [{ ...slow[1], client: 'codex' }, { kind: 'swapped', cost_ms: 130_000, runs: 9, latest: 8, models: ['a', 'c'] }]
  models = [...models, { id: 'org/long', needs: { bytes: 8, context: 65_536, fits: true }, least: 8 }, { id: 'c', needs: { bytes: 8, context: 8192, fits: true }, least: 5 }]
  await page.reload()
  await why.getByText('The longest had 9,031 tokens. long has a context of 65,536 tokens.').waitFor()
  assert.equal(await why.getByRole('link', { name: 'Choose long' }).getAttribute('href'), '#/models')
  await why.getByRole('link', { name: 'See what fits in memory' }).waitFor()
  assert.equal(await why.getByRole('button').count(), 0)
  await sound(page, 'now-slow-other')
  models = models.slice(0, 2)
  await page.reload()
  assert.equal(await why.getByRole('link', { name: 'Get a model with a longer context' }).getAttribute('href'), '#/models/more')
  // The button of a client leads to its runs.
  slow = [{ kind: 'queued', cost_ms: 9000, runs: 2, latest: 7, client: 'nobody/1', behind: 'nobody/1' }]
  await why.getByRole('link', { name: 'Show the runs' }).click({ timeout: 10_000 })
  await page.getByText('No runs match.').waitFor()
  assert.deepEqual(problems, [])
  await tab.close()
})
