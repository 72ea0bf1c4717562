// The history is filtered and read page by page. A run shows its phases, its rounds and a verdict
// that is kept.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'

import { launch, link, open, shot, sound } from './browser.mjs'

let browser
const address = new URL(link()).origin
const own = `runs${Date.now()}` // begins the names of this test's clients

// complete sends a request as an editor would, under that name.
async function complete(client, body) {
  const answer = await fetch(`${address}/v1/completions`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'User-Agent': client },
    body: JSON.stringify({ model: 'tandem', ...body }),
  })
  assert.equal(answer.status, 200)
  return (await answer.json()).timings.run_id
}

before(async () => {
  browser = await launch()
})
after(() => browser.close())

test('the history can be filtered and searched', async () => {
  const short = await complete(`${own}-editor/1.0`, { prompt: 'func A(', max_tokens: 2, ignore_eos: true })
  const long = await complete(`${own}-agent/2.0`, { prompt: 'func B(', max_tokens: 3, ignore_eos: true })
  const { context, page, problems } = await open(browser)
  await page.getByRole('link', { name: 'Runs' }).click()
  const row = (id) => page.getByRole('row').filter({ has: page.getByRole('link', { name: `${id}`, exact: true }) })
  await row(short).waitFor()
  await row(long).waitFor()
  await page.getByLabel('Client').selectOption(`${own}-editor/1.0`)
  await row(long).waitFor({ state: 'detached' })
  assert.equal(await page.locator('tbody tr').count(), 1)
  await page.getByLabel('How it ended').selectOption('running')
  await page.getByText('No run matches.').waitFor()
  await page.getByRole('button', { name: 'Show all' }).click()
  await row(long).waitFor()
  await page.getByLabel('Search').fill(`${own}-AGENT`.toUpperCase())
  await row(short).waitFor({ state: 'detached' })
  assert.equal(await row(long).count(), 1)
  await shot(page, 'runs-search')
  // A look at one run keeps the filter of the list.
  await row(long).getByRole('link').click()
  await page.getByRole('heading', { name: `Run ${long}` }).waitFor()
  await page.getByRole('link', { name: 'All runs' }).click()
  await row(long).waitFor()
  assert.equal(await page.getByLabel('Search').inputValue(), `${own}-AGENT`.toUpperCase())
  assert.equal(await row(short).count(), 0)
  assert.deepEqual(problems, [])
  await context.close()
})

test('the chart shows short answers, and answers from before the page', async () => {
  await complete(`${own}-chart`, { prompt: 'func A(', max_tokens: 2, ignore_eos: true })
  const { context, page, problems } = await open(browser)
  await page.getByText(/^Tokens per second, all requests together: [\d,]+ at most\.$/).waitFor()
  await page.reload()
  await page.getByText(/^Tokens per second, all requests/).waitFor()
  await shot(page, 'now-chart')
  // After five minutes the chart no longer shows them.
  await page.route('**/app/runs?*', (route) => route.fulfill({ json: { runs: [] } }))
  await page.getByText('No answer in the last five minutes.').waitFor()
  assert.deepEqual(problems, [])
  await context.close()
})

// extent returns where the text of an element begins and ends, in pixels from the left.
const extent = (e) => {
  const words = document.createRange()
  words.selectNodeContents(e)
  const { left, right } = words.getBoundingClientRect()
  return [left, right]
}

test('older runs are on the next page', async () => {
  for (let i = 0; i < 52; i++) await complete(`${own}-many`, { prompt: 'x', max_tokens: 1 })
  const { context, page, problems } = await open(browser)
  await page.getByRole('link', { name: 'Runs' }).click()
  await page.getByLabel('Search').fill(`${own}-many`)
  const rows = page.locator('tbody tr')
  const shows = (n) => page.waitForFunction((n) => document.querySelectorAll('tbody tr').length === n, n)
  await shows(50)
  assert.ok(await page.getByRole('button', { name: 'Newer' }).isDisabled())
  // Two columns are at least 16 pixels apart. The names of the fields stand in one line.
  const [, end] = await page.getByRole('columnheader', { name: 'Time' }).evaluate(extent)
  const [begin] = await page.getByRole('columnheader', { name: 'How it ended' }).evaluate(extent)
  assert.ok(begin - end >= 16, `${begin - end} px between two columns`)
  const tops = await page.locator('.filters label').evaluateAll((all) => all.slice(0, 3).map((e) => e.getBoundingClientRect().top))
  assert.deepEqual(tops, Array(3).fill(tops[0]))
  await page.getByRole('button', { name: 'Older' }).click()
  await shows(2)
  assert.ok(await page.getByRole('button', { name: 'Older' }).isDisabled())
  await page.getByRole('button', { name: 'Newer' }).click()
  await shows(50)
  assert.equal(await rows.count(), 50)
  assert.deepEqual(problems, [])
  await context.close()
})

test('the page of a run shows its phases and rounds, and keeps the verdict', async () => {
  const prompt = 'package main\n\n// Reverse returns s with its runes in the opposite order.\nfunc Reverse(s string) string {\n'
  const speculation = { drafter: 'dflash', depth: 4 } // otherwise a busy machine may decide that drafts do not pay
  const id = await complete(`${own}-verify`, { prompt, max_tokens: 60, ignore_eos: true, speculation })
  const exact = await complete(`${own}-verify`, { prompt, max_tokens: 2, speculation: { exact: true } })
  const { context, page, problems } = await open(browser)
  await page.goto(`${page.url().split('#')[0]}#/runs/${id}`)
  await page.getByRole('heading', { name: 'Where the time went' }).waitFor()
  const shares = await page.locator('section[aria-labelledby="phases"] td:last-child').allTextContents()
  const sum = shares.reduce((n, s) => n + Number.parseInt(s), 0)
  assert.ok(shares.length === 5 && sum >= 97 && sum <= 103, `shares ${shares}`)
  assert.match(await page.locator('.sentences').textContent(), /dflash/)
  assert.equal(await page.locator('section[aria-labelledby="rounds"] canvas').count(), 2)
  await page.getByText('The same as a table').click()
  assert.ok((await page.locator('section[aria-labelledby="rounds"] tbody tr').count()) > 5)
  await page.getByRole('button', { name: 'Verify' }).click()
  await page.locator('.tools .badge').getByText('same').waitFor({ timeout: 30_000 })
  await page.getByText('The same answer came without drafts and checkpoints.').waitFor()
  await shot(page, 'run')
  await page.reload()
  await page.locator('.tools .badge').getByText('same').waitFor()
  for (const summary of await page.locator('main summary').all()) await summary.click()
  // The plots follow the theme.
  const drawn = () => page.locator('canvas').first().evaluate((c) => c.toDataURL())
  const light = await drawn()
  await page.emulateMedia({ colorScheme: 'dark' })
  await page.waitForFunction((light) => document.querySelector('canvas').toDataURL() !== light, light)
  await sound(page, 'run')
  await page.getByText(/all 60 tokens are the same/).waitFor()
  await page.getByRole('link', { name: 'All runs' }).click()
  await page.getByRole('row').filter({ has: page.getByRole('link', { name: `${id}`, exact: true }) }).getByRole('cell', { name: 'same' }).waitFor()
  // The page says in plain words why nothing was restored.
  await page.goto(`${page.url().split('#')[0]}#/runs/${exact}`)
  await page.getByText('exact requests evaluate their whole text').waitFor()
  await page.goto(`${page.url().split('#')[0]}#/runs/999999`)
  await page.getByRole('alert').getByText('This run is not in the history').waitFor()
  await sound(page, 'run-unknown')
  assert.deepEqual(problems.filter((p) => !p.includes('404')), [])
  await context.close()
})

test('the drawing of a run ends with its page', async () => {
  const body = { prompt: 'package main\n', max_tokens: 80, ignore_eos: true, speculation: { depth: 4 } }
  const ids = [await complete(`${own}-one`, body), await complete(`${own}-two`, body)]
  const { context, page, problems } = await open(browser)
  for (const id of [...ids, ...ids, ...ids]) {
    await page.goto(`${page.url().split('#')[0]}#/runs/${id}`)
    await page.getByRole('heading', { name: `Run ${id}`, exact: true }).waitFor()
    await page.locator('canvas').first().waitFor()
    for (const summary of await page.locator('main summary').all()) await summary.click()
    await page.getByRole('button', { name: 'Verify' }).click()
  }
  assert.deepEqual(problems, [])
  await context.close()
})

test('a run that failed before its first token has nothing to verify', async () => {
  const { context, page, problems } = await open(browser)
  const run = { id: 7, started_at: '2025-11-20T10:00:00Z', ended_at: '2025-11-20T10:01:00Z', client: 'zed', endpoint: '/v1/completions', model: 'pocket', finish_reason: 'error', error: 'invalid_request', completion_tokens: 0, verifies: 0, peak_bytes: 0 }
  await page.route('**/app/runs/7/report', (route) => route.fulfill({ json: { run, facts: [{ name: 'finish', text: 'error: invalid_request' }], phases: [{ name: 'queue', ms: 0 }, { name: 'decode', ms: 0 }], speculation: null } }))
  await page.goto(`${page.url().split('#')[0]}#/runs/7`)
  await page.getByText('failed: invalid_request').waitFor()
  await sound(page, 'run-failed')
  assert.equal(await page.getByRole('button', { name: 'Verify' }).count(), 0)
  assert.equal(await page.getByRole('heading', { name: 'Where the time went' }).count(), 0)
  assert.deepEqual(problems, [])
  await context.close()
})

test('a run that was stopped while its prompt was read has no speed and no verdict', async () => {
  const { context, page, problems } = await open(browser)
  const client = `${own}-read`
  const asked = new AbortController()
  const prompt = 'x := 1 // count\n'.repeat(1000)
  const request = fetch(`${address}/v1/completions`, { method: 'POST', signal: asked.signal, headers: { 'Content-Type': 'application/json', 'User-Agent': client }, body: JSON.stringify({ model: 'tandem', prompt, max_tokens: 5 }) })
  const row = page.getByRole('row').filter({ hasText: client })
  await row.waitFor()
  asked.abort()
  await assert.rejects(request)
  await row.waitFor({ state: 'detached' })
  await page.getByRole('link', { name: 'Runs' }).click()
  await row.getByText('stopped').waitFor()
  await row.getByRole('link').click()
  await page.getByText('There is no answer to check: it was stopped before its first word.').waitFor()
  assert.ok(await page.getByRole('button', { name: 'Verify' }).isDisabled())
  const shares = Object.fromEntries(await page.locator('section[aria-labelledby="phases"] tbody tr').evaluateAll((all) => all.map((r) => [r.cells[0].textContent.trim(), Number.parseInt(r.cells[3].textContent)])))
  assert.ok(shares.prefill > 90 && shares.decode === 0, JSON.stringify(shares))
  assert.equal(await page.getByText('Tokens/s').count(), 0)
  await sound(page, 'run-stopped')
  assert.deepEqual(problems, [])
  await context.close()
})

test('a verification shows its progress', async () => {
  const id = await complete(`${own}-far`, { prompt: 'package main\n', max_tokens: 600, ignore_eos: true })
  const { context, page, problems } = await open(browser)
  await page.goto(`${page.url().split('#')[0]}#/runs/${id}`)
  await page.getByRole('button', { name: 'Verify' }).click()
  await page.getByText('Writing the answer again, without drafts…').waitFor()
  const bar = page.getByRole('progressbar', { name: 'Computing the answer again' })
  const at = () => bar.evaluate((b) => b.value)
  const first = await at()
  await page.waitForFunction((first) => document.querySelector('progress')?.value > first, first)
  assert.equal(await bar.getAttribute('max'), '600')
  await page.locator('.tools .badge').getByText('same').waitFor({ timeout: 60_000 })
  assert.equal(await bar.count(), 0)
  assert.deepEqual(problems, [])
  await context.close()
})

test('the answer of an interrupted run can be completed once', async () => {
  const { context, page, problems } = await open(browser)
  const run = { id: 7, started_at: '2025-11-20T10:00:00Z', ended_at: '2025-11-20T10:01:00Z', client: 'zed', endpoint: '/v1/completions', model: 'pocket', finish_reason: 'interrupted', verifies: 0, peak_bytes: 0 }
  let by
  await page.route('**/app/runs/7/report', (route) => route.fulfill({ json: { run, facts: [{ name: 'finish', text: 'interrupted' }], phases: [], speculation: null, resumed_by: by } }))
  await page.route('**/app/runs/7/resume', (route) => {
    assert.equal(route.request().postDataJSON().stream, true)
    by = 8
    const chunk = (text, more = {}) => `data: ${JSON.stringify({ model: 'pocket', choices: [{ text, finish_reason: null }], ...more })}\n\n`
    void route.fulfill({ headers: { 'Content-Type': 'text/event-stream' }, body: `${chunk('what was there ')}${chunk('and the rest', { timings: { run_id: 8 } })}data: [DONE]\n\n` })
  })
  await page.goto(`${page.url().split('#')[0]}#/runs/7`)
  await page.getByText('Tandem ended before this run did.').waitFor()
  assert.equal(await page.getByRole('button', { name: 'Verify' }).count(), 0)
  await page.getByRole('button', { name: 'Complete the answer' }).click()
  await page.getByRole('region', { name: 'The whole answer' }).getByText('what was there and the rest').waitFor()
  await sound(page, 'run-completed')
  await page.getByText('Run 8 completed its answer.').waitFor()
  assert.equal(await page.getByRole('link', { name: 'Run 8' }).getAttribute('href'), '#/runs/8')
  // A completed run cannot be completed again.
  await page.reload()
  await page.getByText('Run 8 completed its answer.').waitFor()
  assert.equal(await page.getByRole('button', { name: 'Complete the answer' }).count(), 0)
  assert.deepEqual(problems, [])
  await context.close()
})

test('a verdict can say that the answers differ', async () => {
  const { context, page, problems } = await open(browser)
  const run = { id: 7, started_at: '2025-11-20T10:00:00Z', ended_at: '2025-11-20T10:01:00Z', client: 'an editor of a very long name/1.2.3 (Macintosh; Intel Mac OS X 10_15_7) and more that it says of itself', endpoint: '/v1/completions', model: 'org/a-model-of-quite-a-long-name-instruct-4bit', finish_reason: 'stop', completion_tokens: 60, verifies: 9, peak_bytes: 4.9e9 }
  const verdict = { run: 7, at: '2025-11-20T10:02:00Z', tokens: 60, same: 12, answered: ' and', now: ' or' }
  await page.route('**/app/runs/7/report', (route) => route.fulfill({ json: { run: { ...run, verdict }, facts: [{ name: 'verified', text: 'parts at token 13' }], phases: [], speculation: null } }))
  await page.goto(`${page.url().split('#')[0]}#/runs/7`)
  const badge = page.locator('.tools .badge')
  await badge.getByText('differs').waitFor()
  await sound(page, 'run-differs')
  verdict.tie = true
  await page.reload()
  await badge.getByText('tie').waitFor()
  await sound(page, 'run-tie')
  assert.deepEqual(problems, [])
  await context.close()
})

test('a run that was cut off says at which limit', async () => {
  const id = await complete(`${own}-cut`, { prompt: 'func C(', max_tokens: 3, ignore_eos: true })
  const { context, page, problems } = await open(browser)
  await page.goto(`${page.url().split('#')[0]}#/runs/${id}`)
  await page.getByText(`cut after 3 tokens, the most that was asked for: max_tokens, which ${own}-cut sets`).waitFor()
  await shot(page, 'run-cut')
  const run = { id: 7, started_at: '2025-11-20T10:00:00Z', ended_at: '2025-11-20T10:01:00Z', client: 'zed', endpoint: '/v1/completions', model: 'pocket', finish_reason: 'length', prompt_tokens: 32_000, completion_tokens: 768, verifies: 0, peak_bytes: 0 }
  await page.route('**/app/runs/7/report', (route) => route.fulfill({ json: { run, facts: [{ name: 'finish', text: 'length' }], phases: [], speculation: null } }))
  await page.goto(`${page.url().split('#')[0]}#/runs/7`)
  await page.getByText('cut after 768 tokens, where the model’s context of 32,768 tokens ends: a longer one is set under Models').waitFor()
  await page.goto(`${page.url().split('#')[0]}#/runs`)
  await page.getByRole('row').filter({ has: page.getByRole('link', { name: `${id}`, exact: true }) }).getByText('cut at 3 tokens').waitFor()
  assert.deepEqual(problems, [])
  await context.close()
})

test('Back leads to the old place in the history', async () => {
  const { context, page, problems } = await open(browser, { viewport: { width: 1280, height: 500 } })
  const run = (id) => ({ id, started_at: '2025-11-20T10:00:00Z', ended_at: '2025-11-20T10:01:00Z', client: 'zed', endpoint: '/v1/completions', model: 'pocket', finish_reason: 'stop', prompt_tokens: 1, cached_tokens: 0, completion_tokens: 1, total_ms: 1, verifies: 0, peak_bytes: 0, error: '' })
  await page.route(/\/app\/runs\?/, (route) => route.fulfill({ json: { runs: Array.from({ length: 50 }, (_, i) => run(1000 - i)) } }))
  await page.route(/\/app\/runs\/\d+\/report$/, (route) => route.fulfill({ json: { run: run(960), facts: [], phases: [], speculation: null } }))
  await page.getByRole('link', { name: 'Runs' }).click()
  await page.getByRole('link', { name: '960', exact: true }).scrollIntoViewIfNeeded()
  const place = () => page.evaluate(() => new Promise((next) => requestAnimationFrame(() => requestAnimationFrame(() => next(Math.round(scrollY))))))
  const before = await place()
  assert.ok(before > 500, `the page is scrolled by ${before} px`)
  await page.getByRole('link', { name: '960', exact: true }).click()
  await page.getByRole('heading', { name: 'Run 960' }).waitFor()
  assert.equal(await place(), 0)
  await page.goBack()
  await page.waitForFunction((before) => Math.abs(scrollY - before) < 2, before)
  assert.deepEqual(problems, [])
  await context.close()
})
