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

// runs opens the list. row finds one in it, and fold opens a part of a run's page.
async function runs(page) {
  await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Runs' }).click()
  await page.getByRole('heading', { name: 'Runs', exact: true }).waitFor()
}
const linkOf = (page, id) => page.getByRole('link', { name: new RegExp(`^Run ${id}, `) })
const rowOf = (page, id) => page.getByRole('row').filter({ has: linkOf(page, id) })
const fold = (page, name) => page.locator('summary').filter({ hasText: name }).click()

before(async () => {
  browser = await launch()
})
after(() => browser.close())

test('the history can be filtered and searched', async () => {
  const short = await complete(`${own}-editor/1.0`, { prompt: 'func A(', max_tokens: 2, ignore_eos: true })
  const long = await complete(`${own}-agent/2.0`, { prompt: 'func B(', max_tokens: 3, ignore_eos: true })
  const { context, page, problems } = await open(browser)
  await runs(page)
  const row = (id) => rowOf(page, id)
  await row(short).waitFor()
  await row(long).waitFor()
  await page.getByLabel('Client').selectOption(`${own}-editor`)
  await row(long).waitFor({ state: 'detached' })
  assert.equal(await page.locator('tbody tr').count(), 1)
  await page.getByRole('button', { name: 'Stopped' }).click()
  await page.getByText('No runs match.').waitFor()
  await page.getByRole('button', { name: 'Clear filters' }).click()
  await row(long).waitFor()
  await page.getByLabel('Search', { exact: true }).fill(`${own}-AGENT`.toUpperCase())
  await row(short).waitFor({ state: 'detached' })
  assert.equal(await row(long).count(), 1)
  await shot(page, 'runs-search')
  // A look at one run keeps the filter of the list.
  await row(long).getByRole('link').click()
  await page.getByRole('heading', { name: `Run ${long}` }).waitFor()
  await page.getByRole('link', { name: 'All runs' }).click()
  await row(long).waitFor()
  assert.equal(await page.getByLabel('Search', { exact: true }).inputValue(), `${own}-AGENT`.toUpperCase())
  assert.equal(await row(short).count(), 0)
  assert.deepEqual(problems, [])
  await context.close()
})

test('older runs are on the next page', async () => {
  for (let i = 0; i < 52; i++) await complete(`${own}-many`, { prompt: 'x', max_tokens: 1 })
  const { context, page, problems } = await open(browser)
  await runs(page)
  await page.getByLabel('Search', { exact: true }).fill(`${own}-many`)
  const rows = page.locator('tbody tr')
  const shows = (n) => page.waitForFunction((n) => document.querySelectorAll('tbody tr').length === n, n)
  await shows(50)
  assert.ok(await page.getByRole('button', { name: 'Newer', exact: true }).isDisabled())
  // Two columns are at least 16 pixels apart. The fields stand in one line.
  const heads = page.getByRole('columnheader')
  const names = await heads.allTextContents()
  assert.deepEqual(names.map((n) => n.trim()), ['When', 'Client', 'Where the time went', 'Prompt', 'Cached', 'Answer', 'Tokens/s', 'Time'])
  const extents = await heads.evaluateAll((all) => all.map((e) => {
    const words = document.createRange()
    words.selectNodeContents(e)
    const { left, right } = words.getBoundingClientRect()
    return [left, right]
  }))
  for (let i = 1; i < extents.length; i++) assert.ok(extents[i][0] - extents[i - 1][1] >= 16, `${extents[i][0] - extents[i - 1][1]} px between ${names[i - 1]} and ${names[i]}`)
  const tops = await page.locator('.filters select').evaluateAll((all) => all.map((e) => e.getBoundingClientRect().top))
  assert.deepEqual(tops, Array(3).fill(tops[0]))
  // 17 rows are in view, and the header stays.
  const pane = await page.locator('#pane').boundingBox()
  const whole = await rows.evaluateAll((all, end) => all.filter((r) => r.getBoundingClientRect().bottom <= end + 0.5).length, pane.y + pane.height)
  assert.ok(whole >= 17, `${whole} rows are in view`)
  assert.equal(await page.evaluate(() => document.documentElement.scrollHeight > innerHeight), false, 'the page scrolls')
  await page.evaluate(() => document.getElementById('pane').scrollTo(0, 1e6))
  const head = await heads.first().boundingBox()
  assert.ok(head.y >= pane.y - 1 && head.y < pane.y + 40, `the header is at ${head.y}`)
  await page.evaluate(() => document.getElementById('pane').scrollTo(0, 0))
  await page.getByRole('button', { name: 'Older', exact: true }).click()
  await shows(2)
  assert.ok(await page.getByRole('button', { name: 'Older', exact: true }).isDisabled())
  await page.getByRole('button', { name: 'Newer', exact: true }).click()
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
  // The cause stands first, above all figures.
  assert.match(await page.locator('.cause').textContent(), /^[\d.]+ m?s, of which [\d.]+ m?s went into (reading|writing) \d+ tokens\.$/)
  await page.locator('.ribbon.tall').waitFor()
  await fold(page, 'All figures')
  const shares = await page.locator('.timed td:last-child').allTextContents()
  const sum = shares.reduce((n, s) => n + Number.parseInt(s), 0)
  assert.ok(shares.length >= 2 && sum >= 97 && sum <= 103, `shares ${shares}`)
  assert.match(await page.locator('.sentences').textContent(), /dflash/)
  await fold(page, 'Drafts and rounds')
  await page.locator('.plot svg').nth(1).waitFor()
  assert.equal(await page.locator('.plot svg').count(), 2)
  await page.getByText('Show as a table').click()
  assert.ok((await page.locator('.fold details tbody tr').count()) > 5)
  await fold(page, 'Times as JSON')
  assert.equal(JSON.parse(await page.getByRole('region', { name: 'Times as JSON' }).textContent()).id, id)
  await page.getByRole('button', { name: 'Verify' }).click()
  await page.locator('.tools .badge').getByText('same').waitFor({ timeout: 30_000 })
  await page.getByText('The same answer came back without drafts and checkpoints.').waitFor()
  await shot(page, 'run')
  await page.reload()
  await page.locator('.tools .badge').getByText('same').waitFor()
  for (const name of ['Drafts and rounds', 'All figures', 'Times as JSON']) await fold(page, name)
  // The plots follow the theme.
  const drawn = () => page.locator('.plot path:not(.grid)').last().evaluate((line) => getComputedStyle(line).stroke)
  const light = await drawn()
  await page.emulateMedia({ colorScheme: 'dark' })
  assert.notEqual(await drawn(), light)
  await sound(page, 'run')
  await page.getByText(/all 60 tokens are the same/).waitFor()
  await page.getByRole('link', { name: 'All runs' }).click()
  await linkOf(page, id).focus()
  await page.keyboard.press('Space')
  await page.getByRole('complementary', { name: `Run ${id}` }).getByText('Verified: same').waitFor()
  // The page says in plain words why nothing was restored.
  await page.goto(`${page.url().split('#')[0]}#/runs/${exact}`)
  await fold(page, 'All figures')
  await page.getByText('exact requests evaluate their whole text').waitFor()
  await page.goto(`${page.url().split('#')[0]}#/runs/999999`)
  await page.getByRole('alert').getByText('This run isn’t in the history').waitFor()
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
    await fold(page, 'Drafts and rounds')
    await page.locator('.plot svg').first().waitFor()
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
  await page.getByText(/^Error sent to .+:$/).waitFor()
  await page.locator('.failed').getByText('invalid_request').waitFor()
  await fold(page, 'All figures')
  await page.getByText('failed: invalid_request').waitFor()
  await sound(page, 'run-failed')
  assert.equal(await page.getByRole('button', { name: 'Verify' }).count(), 0)
  assert.equal(await page.locator('.ribbon').count(), 0)
  assert.deepEqual(problems, [])
  await context.close()
})

test('a run that was stopped while its prompt was read has no speed and no verdict', async () => {
  const { context, page, problems } = await open(browser)
  const client = `${own}-read`
  const asked = new AbortController()
  const prompt = 'x := 1 // count\n'.repeat(1000)
  const request = fetch(`${address}/v1/completions`, { method: 'POST', signal: asked.signal, headers: { 'Content-Type': 'application/json', 'User-Agent': client }, body: JSON.stringify({ model: 'tandem', prompt, max_tokens: 5 }) })
  await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: /^Now/ }).click()
  const card = page.getByRole('article', { name: `Request of ${client}` })
  await card.waitFor()
  asked.abort()
  await assert.rejects(request)
  await card.waitFor({ state: 'detached' })
  await runs(page)
  const row = page.getByRole('row').filter({ hasText: client })
  await row.getByText('stopped').waitFor()
  await row.getByRole('link').click()
  await page.getByText('There is no answer to check: it was stopped before its first word.').waitFor()
  assert.ok(await page.getByRole('button', { name: 'Verify' }).isDisabled())
  await fold(page, 'All figures')
  const shares = Object.fromEntries(await page.locator('.timed tbody tr').evaluateAll((all) => all.map((r) => [r.cells[0].textContent.trim(), Number.parseInt(r.cells[3].textContent)])))
  assert.ok(shares.prefill > 90 && shares.decode === undefined, JSON.stringify(shares))
  assert.equal(await page.getByText('tokens/s').count(), 0)
  await sound(page, 'run-stopped')
  assert.deepEqual(problems, [])
  await context.close()
})

test('a verification shows its progress', async () => {
  const id = await complete(`${own}-far`, { prompt: 'package main\n', max_tokens: 600, ignore_eos: true })
  const { context, page, problems } = await open(browser)
  await page.goto(`${page.url().split('#')[0]}#/runs/${id}`)
  await page.getByRole('button', { name: 'Verify' }).click()
  await page.getByText('Rewriting the answer without drafts…').waitFor()
  const bar = page.getByRole('progressbar', { name: 'Recomputing the answer' })
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
  await page.getByText('Tandem quit before this run finished.').waitFor()
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
  await page.getByText(`3 tokens, stopped at max_tokens (set by ${own}-cut)`).waitFor()
  await shot(page, 'run-cut')
  const run = { id: 7, started_at: '2025-11-20T10:00:00Z', ended_at: '2025-11-20T10:01:00Z', client: 'zed', endpoint: '/v1/completions', model: 'pocket', finish_reason: 'length', prompt_tokens: 32_000, completion_tokens: 768, verifies: 0, peak_bytes: 0 }
  await page.route('**/app/runs/7/report', (route) => route.fulfill({ json: { run, facts: [{ name: 'finish', text: 'length' }], phases: [], speculation: null } }))
  await page.goto(`${page.url().split('#')[0]}#/runs/7`)
  await page.getByText('768 tokens, stopped at the model’s context of 32,768 tokens. No model here has a context of 32,769 tokens').waitFor()
  await page.goto(`${page.url().split('#')[0]}#/runs`)
  await rowOf(page, id).getByTitle('stopped at 3 tokens').waitFor()
  assert.deepEqual(problems, [])
  await context.close()
})

test('Back leads to the old place in the history', async () => {
  const { context, page, problems } = await open(browser, { viewport: { width: 1280, height: 500 } })
  const run = (id) => ({ id, started_at: '2025-11-20T10:00:00Z', ended_at: '2025-11-20T10:01:00Z', client: 'zed', endpoint: '/v1/completions', model: 'pocket', finish_reason: 'stop', prompt_tokens: 1, cached_tokens: 0, completion_tokens: 1, total_ms: 1, verifies: 0, peak_bytes: 0, error: '' })
  await page.route(/\/app\/runs\?/, (route) => route.fulfill({ json: { runs: Array.from({ length: 50 }, (_, i) => run(1000 - i)) } }))
  await page.route(/\/app\/runs\/\d+\/report$/, (route) => route.fulfill({ json: { run: run(960), facts: [], phases: [], speculation: null } }))
  await runs(page)
  await linkOf(page, 960).scrollIntoViewIfNeeded()
  const place = () => page.evaluate(() => new Promise((next) => requestAnimationFrame(() => requestAnimationFrame(() => next(Math.round(document.getElementById('pane').scrollTop))))))
  const before = await place()
  assert.ok(before > 500, `the page is scrolled by ${before} px`)
  await linkOf(page, 960).click()
  await page.getByRole('heading', { name: 'Run 960' }).waitFor()
  assert.equal(await place(), 0)
  await page.goBack()
  await page.waitForFunction((before) => Math.abs(document.getElementById('pane').scrollTop - before) < 2, before)
  assert.deepEqual(problems, [])
  await context.close()
})

const done = { started_at: '2025-11-20T10:00:00Z', ended_at: '2025-11-20T10:01:00Z', client: 'claude-cli/2.0', endpoint: '/v1/messages', model: 'pocket', finish_reason: 'stop', prompt_tokens: 2741, cached_tokens: 20, completion_tokens: 60, queue_ms: 0, load_ms: 0, restore_ms: 0, prefill_ms: 47_000, first_token_ms: 46_500, total_ms: 53_000, verifies: 0, peak_bytes: 1.2e9, error: '' }

test('a run says first why it was slow, what to do, and what was different in the run before', async () => {
  const { context, page, problems } = await open(browser)
  const parted = { at: 20, kept: '4', given: '5', answer: false, run: 202 }
  const run = { ...done, id: 203, parted }
  await page.route('**/app/runs/203/report', (route) => route.fulfill({ json: { run, facts: [{ name: 'finish', text: 'stop' }], phases: [], speculation: null, parting: { ...parted, before: 'Today is 2026-11-2', kept_text: '4. You are', given_text: '5. You are' } } }))
  await page.route('**/app/runs/202', (route) => route.fulfill({ json: { ...done, id: 202, cached_tokens: 2700, prefill_ms: 100, first_token_ms: 100, total_ms: 5900 } }))
  await page.goto(`${page.url().split('#')[0]}#/runs/203`)
  await page.getByText('53 s, of which 47 s went into re-reading 2,721 tokens.').waitFor()
  await page.getByText('The prompt is the same as run 202’s up to token 20. There “…Today is 2026-11-24” became “2026-11-25”.').waitFor()
  await page.getByText('What to do:').waitFor()
  await page.getByText('Run 202 took 5.9 s, from the same client. Here: reading +47 s').waitFor()
  const order = await page.locator('.cause, .advice, .ribbon.tall, .compared, .facts').evaluateAll((all) => all.map((e) => e.className.split(' ')[0]))
  assert.deepEqual(order, ['cause', 'advice', 'ribbon', 'compared', 'facts'])
  assert.ok((await page.locator('.cause').boundingBox()).y < 120)
  await sound(page, 'run-parted')
  // Without the texts the position stands alone.
  await page.unroute('**/app/runs/203/report')
  await page.route('**/app/runs/203/report', (route) => route.fulfill({ json: { run: { ...run, parted: { ...parted, run: 0 } }, facts: [], phases: [], speculation: null, parting: null } }))
  await page.reload()
  await page.getByText('The prompt is the same as an earlier text up to token 20. There “4” became “5”.').waitFor()
  assert.deepEqual(problems, [])
  await context.close()
})

test('a failure shows what the program was told, and the remedy', async () => {
  const { context, page, problems } = await open(browser)
  const message = 'This model’s maximum context length is 8192 tokens. However, you requested 9031 tokens in the prompt.'
  const run = { ...done, id: 7, finish_reason: 'error', error: 'invalid_request', message, completion_tokens: 0, total_ms: 2, load_ms: 2, prefill_ms: 0, first_token_ms: 0 }
  await page.route('**/app/runs/7/report', (route) => route.fulfill({ json: { run, facts: [], phases: [], speculation: null } }))
  await page.route(/\/app\/runs\?/, (route) => route.fulfill({ json: { runs: [run, { ...done, id: 6 }] } }))
  await runs(page)
  // A failed row says why, in place of figures.
  await rowOf(page, 7).getByText(message).waitFor()
  assert.equal(await rowOf(page, 7).getByRole('cell').count(), 2)
  let longest = 32_768
  await page.route('**/app/model-settings*', (route) => route.fulfill({ json: { settings: { model: 'pocket' }, defaults: {}, context_length: 32_768, longest, serving: 8192, drafter: 'auto' } }))
  await linkOf(page, 7).click()
  await page.locator('.failed').getByText(message).waitFor()
  assert.equal(await page.getByRole('link', { name: 'Set a longer context' }).getAttribute('href'), '#/models/?settings=pocket')
  await sound(page, 'run-too-long')
  // The model is at its own limit, and no other one is here.
  longest = 8192
  await page.reload()
  await page.locator('.failed').getByText('No model here has a context of 9,031 tokens').waitFor()
  assert.equal(await page.getByRole('link', { name: 'download one' }).getAttribute('href'), '#/models/more')
  assert.equal(await page.getByRole('link', { name: 'Set a longer context' }).count(), 0)
  await sound(page, 'run-at-its-limit')
  assert.deepEqual(problems, [])
  await context.close()
})

test('the list goes by the keyboard, and shows a run beside it', async () => {
  const { context, page, problems } = await open(browser)
  const list = Array.from({ length: 30 }, (_, i) => ({ ...done, id: 100 - i, total_ms: 1000 * (i + 1) }))
  const asked = []
  await page.route(/\/app\/runs\?/, (route) => {
    asked.push(new URL(route.request().url()).searchParams)
    return route.fulfill({ json: { runs: list } })
  })
  await page.route('**/app/runs/98/report', (route) => route.fulfill({ json: { run: list[2], facts: [], phases: [], speculation: null } }))
  await runs(page)
  await linkOf(page, 100).waitFor()
  await page.locator('#main').focus()
  const at = () => page.evaluate(() => document.activeElement.getAttribute('aria-label'))
  await page.keyboard.press('ArrowDown')
  assert.match(await at(), /^Run 100, Claude Code/)
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Space')
  const beside = (id) => page.getByRole('complementary', { name: `Run ${id}` })
  await beside(99).getByText(/went into (re-)?reading 2,721 tokens/).waitFor()
  await page.keyboard.press('ArrowDown')
  await beside(98).waitFor()
  await sound(page, 'runs-preview', [1000, 1280])
  await page.keyboard.press('Escape')
  assert.equal(await beside(98).count(), 0)
  assert.match(await at(), /^Run 98,/)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Run 98', exact: true }).waitFor()
  // Columns sort: the largest first, then the smallest, then the newest again.
  await page.getByRole('link', { name: 'All runs' }).click()
  const time = page.getByRole('columnheader', { name: 'Time' }).last()
  for (const [sort, up, says] of [['time', null, 'descending'], ['time', 'true', 'ascending'], [null, null, null]]) {
    const before = asked.length
    await time.getByRole('button').click()
    while (asked.length === before) await page.waitForTimeout(50)
    assert.deepEqual([asked.at(-1).get('sort'), asked.at(-1).get('up')], [sort, up])
    assert.equal(await time.getAttribute('aria-sort'), says)
  }
  for (const [name, query] of [['Slow', 'slow'], ['Failed', 'failed'], ['Stopped', 'finish']]) {
    const before = asked.length
    await page.getByRole('button', { name, exact: true }).click()
    while (asked.length === before) await page.waitForTimeout(50)
    assert.ok(asked.at(-1).has(query), `${asked.at(-1)}`)
  }
  assert.deepEqual(problems, [])
  await context.close()
})

test('a list without slow runs says what would make a run slow', async () => {
  const { context, page, problems } = await open(browser)
  await page.route(/\/app\/runs\?/, (route) => route.fulfill({ json: { runs: [] } }))
  await page.goto(`${page.url().split('#')[0]}#/runs/?only=slow`)
  await page.getByText('No slow runs: none took more than twice its client’s median or re-read most of its prompt.').waitFor()
  assert.deepEqual(problems, [])
  await context.close()
})

test('the address has the filter, and Back leads to the same list', async () => {
  const { context, page, problems } = await open(browser)
  const base = page.url().split('#')[0]
  const kind = (name) => page.locator('.segments [aria-pressed="true"]').getByText(name, { exact: true }).waitFor()
  await page.goto(`${base}#/runs/?only=failed`)
  await kind('Failed')
  await page.getByRole('button', { name: 'Stopped' }).click()
  await page.getByLabel('Search', { exact: true }).fill('a b/c')
  await page.waitForURL(`${base}#/runs/?search=a+b%2Fc&only=stopped`)
  // Neither another page nor another filter loses it.
  await page.getByRole('link', { name: /^Models/ }).click()
  await page.goBack()
  await kind('Stopped')
  assert.equal(await page.getByLabel('Search', { exact: true }).inputValue(), 'a b/c')
  await page.evaluate(() => void (location.hash = '#/runs/?only=failed'))
  await kind('Failed')
  assert.equal(await page.getByLabel('Search', { exact: true }).inputValue(), '')
  await page.goBack()
  await kind('Stopped')
  await page.reload()
  await kind('Stopped')
  await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Runs' }).click()
  await kind('All')
  assert.deepEqual(problems, [])
  await context.close()
})

test('a run that read its prompt again is marked, and clients have names', async () => {
  const { context, page, problems } = await open(browser)
  const parted = { at: 20, kept: '4', given: '5', answer: false, run: 202 }
  await page.route(/\/app\/runs\?/, (route) => route.fulfill({ json: { runs: [{ ...done, id: 203, parted }, { ...done, id: 202, client: 'claude-cli/1.0' }, { ...done, id: 201, client: 'Zed/1.2' }] } }))
  await page.route('**/app/runs/values', (route) => route.fulfill({ json: { models: [], clients: ['claude-cli/2.0', 'claude-cli/1.0', 'Zed/1.2'], endpoints: [], finishes: [], days: [] } }))
  await runs(page)
  await rowOf(page, 203).getByText('re-read 2,721 tokens').waitFor()
  assert.equal(await page.getByText(/^\s*re-read/).count(), 1)
  assert.deepEqual(await page.getByLabel('Client').locator('option').allTextContents(), ['Client: any', 'Claude Code', 'Zed'])
  await sound(page, 'runs-reread', [760, 1280])
  assert.deepEqual(problems, [])
  await context.close()
})
