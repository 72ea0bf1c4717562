// A measurement of two minutes can be begun, followed and cancelled. The results of several stand
// beside each other.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'

import { launch, open, overflow, shot, violations } from './browser.mjs'

let browser

before(async () => {
  browser = await launch()
})
after(() => browser.close())

// speed opens the tab of the page Models that measures this computer.
async function speed(page) {
  await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: /^Models/ }).click()
  await page.getByRole('link', { name: 'Speed', exact: true }).click()
}

test('a measurement can be cancelled', async () => {
  const { context, page, problems } = await open(browser)
  await speed(page)
  await page.getByRole('button', { name: 'Measure' }).click()
  await page.getByRole('status').getByText('Part 1 of 3: Writing code, with and without drafts. 1 of 2: the built-in draft model.', { exact: true }).waitFor({ timeout: 60_000 })
  await page.getByText(/^Up to \d+ measurements? left/).waitFor({ timeout: 60_000 })
  await shot(page, 'mac-measuring')
  const cancelled = page.waitForResponse('**/app/benches/cancel')
  await page.getByRole('button', { name: 'Cancel' }).click()
  await (await cancelled).finished()
  await page.getByRole('status').getByText('Measurement cancelled.').waitFor({ timeout: 20_000 })
  const measure = page.getByRole('button', { name: 'Measure' })
  await measure.waitFor()
  assert.ok(await measure.evaluate((b) => b === document.activeElement), 'the focus got lost')
  assert.equal(await page.getByRole('alert').count(), 0)
  // A measurement continues while another page is open, and after a reload.
  await page.getByRole('button', { name: 'Measure' }).click()
  await page.getByText(/^Up to \d+ measurements? left/).waitFor({ timeout: 60_000 })
  await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Runs' }).click()
  await page.getByRole('heading', { name: 'Runs', exact: true }).waitFor()
  await speed(page)
  await page.getByText(/^Up to \d+ measurements? left/).waitFor({ timeout: 60_000 })
  await page.reload()
  await page.getByRole('status').getByText(/^Part \d of 3/).waitFor({ timeout: 60_000 })
  await page.getByText(/^Up to \d+ measurements? left/).waitFor({ timeout: 60_000 })
  await shot(page, 'mac-reloaded')
  await page.getByRole('button', { name: 'Cancel' }).click()
  await measure.waitFor()
  assert.deepEqual(problems, [])
  await context.close()
})

test('a measurement that another page began is followed to its end', async () => {
  const { context, page, problems } = await open(browser)
  let running = true
  let progress
  await page.route('**/app/benches', (route) => route.fulfill({ json: { benches: [], running, progress } }))
  await speed(page)
  await page.getByText('A measurement is running.').waitFor()
  progress = { part: 'restore', done: 3, total: 15 }
  await page.getByText('Part 2 of 3').waitFor()
  await page.getByText('Up to 12 measurements left').waitFor()
  await page.getByRole('button', { name: 'Cancel' }).waitFor()
  running = false
  await page.getByRole('button', { name: 'Measure' }).waitFor()
  assert.deepEqual(problems, [])
  await context.close()
})

test('several measurements stand beside each other', async () => {
  const spread = (median) => ({ median, low: median * 0.9, high: median * 1.1 })
  const bench = (id, model, times) => ({
    id,
    at: `2025-11-${20 + id}T10:00:00Z`,
    model,
    machine: 'a chip, 8 cores',
    version: '0.1.0',
    result: {
      seconds: 99, waited: 12, again: 2, device: 'gpu', dtype: 'bfloat16', mlx: '0.32.2', drafter: 'dflash',
      decode: { plain: spread(100), drafted: spread(100 * times), times: spread(times), tokens_per_verify: 3.3, pairs: 27, prompts: 27, left: 24, differing: 0 },
      restore: { tokens: 2048, bytes: 4.7e6, recomputed: spread(1100), restored: spread(14), times: spread(78), pairs: 16 },
      verify: { context: 512, step: spread(10), rows: [1, 2, 4, 8, 16].map((rows) => ({ rows, ms: spread(9 + rows / 2), steps: spread(0.9 + rows / 20) })), turns: 15 },
    },
  })
  let list = [bench(3, 'org/coder-8b', 1.8), bench(2, 'org/coder-8b', 1.5), bench(1, 'pocket', 1.2)]
  for (const colorScheme of ['light', 'dark']) {
    const { context, page, problems } = await open(browser, { colorScheme, viewport: { width: 800, height: 800 } })
    await page.route('**/app/benches', (route) => route.fulfill({ json: { benches: list, running: false } }))
    await page.route('**/app/benches/*', (route) => {
      list = list.filter((b) => !route.request().url().endsWith(`/${b.id}`))
      void route.fulfill({ json: {} })
    })
    await speed(page)
    await page.getByRole('heading', { name: /org\/coder-8b, 23 Nov 2025/ }).waitFor()
    await page.getByText('2 measurements were repeated').waitFor()
    await page.getByText('24 prompts excluded because the answers repeat themselves or are too short').waitFor()
    const row = (day) => page.getByRole('row').filter({ hasText: `${day} Nov 2025` })
    assert.match(await row(22).textContent(), /1\.50× 1\.20/)
    assert.doesNotMatch(await row(21).textContent(), /×/, 'another model is compared')
    await shot(page, `mac-${colorScheme}-800`)
    const over = await overflow(page)
    assert.ok(over <= 0, `${over} px too wide`)
    assert.deepEqual(await violations(page), [])
    if (colorScheme === 'dark') {
      await row(22).getByRole('button', { name: /^Delete/ }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click()
      await row(22).waitFor({ state: 'detached' })
    }
    assert.deepEqual(problems, [])
    await context.close()
  }
})

test('the drafters of a model stand side by side, and one can be taken', async () => {
  const spread = (median, off = 0.1) => ({ median, low: median * (1 - off), high: median * (1 + off) })
  const drafter = (name, source, kind, times, more = {}) => ({
    name, source, choice: source || 'none', kind, bytes: source ? 1.2e9 : 0, ...more,
    decode: { plain: spread(20), drafted: spread(20 * times), times: spread(times), tokens_per_verify: times * 1.4, pairs: times > 0 ? 20 : 0, prompts: 12, left: 3, differing: 0 },
  })
  const drafters = [
    drafter('z-lab/coder-8b-DFlash', '/hub/dflash', 'dflash', 1.8, { served: true }),
    drafter('lab/coder-8b-DSpark', '/hub/dspark', 'dspark', 2.4),
    drafter('its own MTP head', '/models/coder', 'mtp', 1.6),
    drafter('lab/coder-8b-MTP', '/hub/mtp', '', 0, { why: 'Its vocabulary has 100 tokens, the model’s 200.' }),
    drafter('earlier text only', '', 'ngram', 1.1),
  ]
  const bench = {
    id: 1, at: '2025-11-23T10:00:00Z', model: 'org/coder-8b', machine: 'a chip, 8 cores', version: '0.1.0',
    result: {
      seconds: 240, waited: 0, again: 0, device: 'gpu', dtype: 'bfloat16', mlx: '0.32.2', drafter: 'dflash', decode: drafters[0].decode, drafters,
      restore: { tokens: 2048, bytes: 4.7e6, recomputed: spread(1100), restored: spread(14), times: spread(78), pairs: 16 },
      verify: { context: 512, step: spread(10), rows: [1, 2, 4, 8, 16].map((rows) => ({ rows, ms: spread(9 + rows / 2), steps: spread(0.9 + rows / 20) })), turns: 15 },
    },
  }
  const plan = { model: 'org/coder-8b', drafters: drafters.slice(0, 4).map((d) => d.name), seconds: 310 }
  for (const colorScheme of ['light', 'dark']) {
    const { context, page, problems } = await open(browser, { colorScheme, viewport: { width: 800, height: 1100 } })
    let source = '/hub/dflash'
    const asked = []
    await page.route('**/app/benches', (route) => route.fulfill({ json: { benches: [bench], running: false, plan } }))
    await page.route('**/app/drafter', (route) => {
      const r = route.request().postDataJSON()
      asked.push(r)
      if (r.drafter) source = r.drafter === 'none' ? '' : r.drafter
      return route.fulfill({ json: { model: r.model, choice: source || 'none', source, loaded: true } })
    })
    await speed(page)
    await page.getByText('Each of its 4 draft models is measured: z-lab/coder-8b-DFlash, lab/coder-8b-DSpark,').waitFor()
    await page.getByText('It takes about five minutes, and pauses while requests are answered.').waitFor()
    await page.getByText('The fastest here is lab/coder-8b-DSpark, 2.40 times as fast as without drafts.').waitFor()
    const row = (name) => page.getByRole('row').filter({ hasText: name })
    assert.match(await row('lab/coder-8b-MTP').textContent(), /Skipped: Its vocabulary has 100 tokens/)
    assert.equal(await row('lab/coder-8b-MTP').getByRole('button').count(), 0, 'a drafter that was left out can be taken')
    await row('z-lab/coder-8b-DFlash').getByText('in use').waitFor()
    await page.getByRole('heading', { name: 'Draft models compared' }).scrollIntoViewIfNeeded()
    await shot(page, `mac-drafters-${colorScheme}`)
    const over = await overflow(page)
    assert.ok(over <= 0, `${over} px too wide`)
    assert.deepEqual(await violations(page), [])
    await page.getByRole('button', { name: 'Use lab/coder-8b-DSpark' }).click()
    await page.getByText('org/coder-8b now uses lab/coder-8b-DSpark.').waitFor()
    await row('lab/coder-8b-DSpark').getByText('in use').waitFor()
    await page.getByRole('button', { name: 'Use earlier text only' }).click()
    await page.getByText('org/coder-8b now has no draft model and drafts from earlier text only.').waitFor()
    assert.deepEqual(asked.map((r) => r.drafter), [undefined, '/hub/dspark', 'none'])
    assert.deepEqual(problems, [])
    await context.close()
  }
})

test('the page describes this computer, and why a measurement failed', async () => {
  for (const colorScheme of ['light', 'dark']) {
    const { context, page, problems } = await open(browser, { colorScheme, viewport: { width: 800, height: 800 } })
    await page.route('**/app/benches', (route) => route.fulfill({ json: { benches: [], running: false, failure: 'The model left the memory.' } }))
    await speed(page)
    await page.getByText(/[\d.]+ Gi?B; models may use [\d.]+ [GM]i?B/).waitFor()
    for (const fact of ['Chip', 'Cores', 'System']) assert.match(await page.locator('dl div').filter({ hasText: fact }).locator('dd').textContent(), /\w/)
    await page.getByText(/^MLX \d.* on the [CG]PU$/).waitFor()
    await page.getByText('The last measurement failed: The model left the memory.').waitFor()
    await shot(page, `mac-computer-${colorScheme}`)
    assert.deepEqual(await violations(page), [])
    assert.deepEqual(problems, [])
    await context.close()
  }
})
