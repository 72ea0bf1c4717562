// A person looks at checkpoints, names, pins and deletes them, and continues them in all ways.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'

import { launch, link, open, overflow, shot, sound, violations } from './browser.mjs'

let browser
const address = new URL(link()).origin

before(async () => {
  browser = await launch()
})
after(() => browser.close())

async function complete(prompt) {
  const body = JSON.stringify({ model: 'tandem', prompt, max_tokens: 80, ignore_eos: true })
  const answer = await fetch(`${address}/v1/completions`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body })
  assert.equal(answer.status, 200)
  return (await answer.json()).timings
}

test('a checkpoint can be named, pinned, continued and deleted', async () => {
  const mark = `Checked${Date.now()}`
  const prompt = `package main\n\n// ${mark} says whether a string is a palindrome, and ${'is told so at length, '.repeat(12)}once.\nfunc ${mark}(s string) bool {\n`
  const first = await complete(prompt)
  const again = await complete(prompt)
  assert.ok(again.cache_n > 0, 'nothing was restored')
  const { context, page, problems } = await open(browser)
  await page.getByRole('link', { name: 'Checkpoints' }).click()
  await page.getByText(/of reading saved so far/).waitFor()
  // Two checkpoints of the first run: the one that the second run restored, and an answer.
  const found = await page.waitForFunction(async (run) => {
    const headers = { Authorization: `Bearer ${sessionStorage.getItem('tandem-session')}` }
    const own = (await (await fetch('/app/checkpoints', { headers })).json()).checkpoints.filter((c) => c.run === run)
    const [given, answer] = [own.find((c) => c.hits > 0), own.find((c) => c.kind === 'answer')]
    return given && answer ? [given.id, answer.id] : null
  }, first.run_id)
  const [given, answer] = await found.jsonValue()
  const button = (name) => page.getByRole('button', { name, exact: true })
  const row = (id) => page.locator(`#of-${id}`)
  for (const fold of await page.getByRole('button', { name: / earlier of / }).all()) await fold.click()
  await row(given).click()
  await page.locator('pre.so-far').getByText(mark).first().waitFor()
  // The text of this checkpoint ends in a prompt.
  assert.equal(await button('Continue from here').count(), 0)
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('not a name')
  await page.getByRole('button', { name: 'Rename', exact: true }).click()
  assert.match(await page.getByRole('textbox', { name: 'Name', exact: true }).evaluate((field) => field.validationMessage), /letters, digits, dots/)
  const name = `kept-${mark}`
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill(name)
  await page.getByRole('button', { name: 'Rename', exact: true }).click()
  const named = page.getByRole('row').filter({ has: page.getByRole('button', { name, exact: true }) })
  await named.waitFor()
  await page.getByRole('button', { name: 'Pin', exact: true }).click()
  await named.getByText('pinned').waitFor()
  assert.match(await named.getByRole('cell').nth(1).textContent(), /(ms|s)$/, 'it does not say what it saved')

  // An answer of a word or two may leave only the checkpoint of its prompt.
  await page.route('**/branch', (route) => route.continue({ postData: JSON.stringify({ ...route.request().postDataJSON(), temperature: 0, ignore_eos: true, max_tokens: 200 }) }))
  await row(answer).click()
  await page.getByRole('button', { name: 'Continue from here', exact: true }).click()
  await page.getByRole('region', { name: 'The text so far' }).getByText(mark).first().waitFor()
  assert.ok(await page.getByRole('button', { name: 'Send', exact: true }).isDisabled())
  await page.getByLabel('Next message').fill('Write Index too.')
  await page.getByLabel('Next message').press('Enter')
  assert.equal(await page.getByLabel('Next message').inputValue(), '')
  await page.getByText(/tokens, \d+ tokens\/s · prompt .* from a checkpoint/).waitFor({ timeout: 60_000 })
  assert.ok((await page.getByRole('region', { name: 'Answer' }).textContent()).length > 0)
  await shot(page, 'conversations-continued')
  assert.deepEqual(await violations(page), [])
  await button('Show the checkpoint of this answer').click()
  await page.waitForFunction(() => document.activeElement.id.startsWith('of-'))
  await button('Continue from here').click()
  await page.getByRole('region', { name: 'The text so far' }).getByText('Write Index too.').waitFor()

  await button(name).click()
  await page.getByRole('button', { name: 'Branch the text', exact: true }).click()
  await page.getByLabel('Text to add (optional)').fill('\treturn ')
  await page.getByRole('button', { name: 'Continue', exact: true }).click()
  await page.getByText(/tokens, \d+ tokens\/s · prompt .* from a checkpoint/).waitFor({ timeout: 60_000 })
  await page.getByRole('button', { name: 'Close', exact: true }).click()
  await page.waitForFunction((name) => document.activeElement.textContent === name, name)

  // A pinned checkpoint stays. A deletion takes all checkpoints that continue the deleted one, and
  // says how much.
  const dialog = page.getByRole('dialog')
  await page.getByRole('button', { name: 'Delete…', exact: true }).click()
  await page.getByRole('alert').getByText('unpin').waitFor()
  await page.getByRole('button', { name: 'Unpin', exact: true }).click()
  await named.getByText('pinned').waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Delete…', exact: true }).click()
  await dialog.getByText(/This also deletes .* in all\./).waitFor()
  await dialog.getByRole('button', { name: 'Keep it' }).click()
  assert.equal(await named.count(), 1)
  await page.getByRole('button', { name: 'Delete…', exact: true }).click()
  await sound(page, 'conversations-delete')
  await dialog.getByRole('button', { name: 'Delete' }).click()
  await named.waitFor({ state: 'detached' })
  assert.deepEqual(problems.filter((p) => !p.includes('400')), [])
  await context.close()
})

// fakes are rows of checkpoints that do not exist.
const fakes = (count) => Array.from({ length: count }, (_, i) => ({ id: `fake-${i}`, title: `fake-${i}`, parent: '', model: 'pocket', kind: 'answer', name: '', pinned: false, run: 0, from_token: 0, to_token: 100 + i, bytes: 1000, hits: 0, saved_ms: 0, created_at: '2025-11-20T10:00:00Z', used_at: '2025-11-20T10:00:00Z' }))

// pageOf returns the only page of a list, or one of several.
const pageOf = (checkpoints, of = { next: '', count: checkpoints.length, bytes: 1000 * checkpoints.length }) => ({ checkpoints, saved_ms: 0, ...of })

test('the list reads its next page on request', async () => {
  const { context, page, problems } = await open(browser)
  const list = fakes(70)
  const all = { count: 70, bytes: 70_000 }
  await page.route('**/app/checkpoints', (route) => route.fulfill({ json: pageOf(list.slice(0, 40), { next: 'a,1,b', ...all }) }))
  // One checkpoint of the first page was used in between.
  await page.route('**/app/checkpoints?before=a%2C1%2Cb', (route) => route.fulfill({ json: pageOf(list.slice(39), { next: '', ...all }) }))
  await page.getByRole('link', { name: 'Checkpoints' }).click()
  await page.getByText(/^70 checkpoints, 70\.0 kB of [\d.]+ [MG]B on disk$/).waitFor()
  const rows = page.locator('[id^="of-fake"]')
  assert.equal(await rows.count(), 40)
  await page.getByRole('button', { name: 'Show more', exact: true }).click()
  await page.getByRole('button', { name: 'fake-69', exact: true }).waitFor()
  assert.equal(await rows.count(), 70)
  assert.equal(await page.getByRole('button', { name: /^Show / }).count(), 0)
  assert.deepEqual(problems, [])
  await context.close()
})

test('the next message stays in sight while the answer grows', async () => {
  const { context, page, problems } = await open(browser, { viewport: { width: 1280, height: 600 } })
  const [own, ...others] = fakes(31)
  await page.route('**/app/checkpoints', (route) => route.fulfill({ json: pageOf([own, ...others]) }))
  await page.route(`**/app/checkpoints/${own.id}**`, (route) => route.fulfill({ json: { ...own, text: 'package main\n' } }))
  await page.route(`**/app/checkpoints/${own.id}/branch`, (route) => {
    const chunk = { model: 'pocket', choices: [{ text: 'a line\n'.repeat(60), finish_reason: 'stop' }] }
    void route.fulfill({ contentType: 'text/event-stream', body: `data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n` })
  })
  await page.getByRole('link', { name: 'Checkpoints' }).click()
  await page.getByRole('button', { name: own.id, exact: true }).click()
  await page.getByRole('button', { name: 'Continue from here', exact: true }).click()
  await page.getByLabel('Next message').fill('Go on.')
  await page.getByLabel('Next message').press('Enter')
  await page.getByRole('region', { name: 'Answer' }).getByText('a line').waitFor()
  await page.getByRole('button', { name: 'Send', exact: true }).waitFor()
  await page.evaluate(() => new Promise((next) => requestAnimationFrame(() => requestAnimationFrame(next))))
  const { top, bottom, end } = await page.locator('#next').evaluate((box) => ({ ...box.getBoundingClientRect().toJSON(), end: innerHeight }))
  assert.ok(top >= 0 && bottom <= end, `what is typed next is at ${top} to ${bottom} of ${end}`)
  await shot(page, 'conversations-follow')
  assert.deepEqual(problems, [])
  await context.close()
})

test('where no message can follow, the typed text continues the branch', async () => {
  const { context, page, problems } = await open(browser)
  const [own] = fakes(1)
  await page.route('**/app/checkpoints', (route) => route.fulfill({ json: pageOf([own]) }))
  await page.route(`**/app/checkpoints/${own.id}**`, (route) => route.fulfill({ json: { ...own, text: 'package main\n' } }))
  await page.route(`**/app/checkpoints/${own.id}/branch`, (route) => {
    if (!route.request().postDataJSON().raw) return route.fulfill({ status: 400, json: { error: { message: 'No message can follow.', code: 'invalid_request' } } })
    const chunk = { model: 'pocket', choices: [{ text: '', finish_reason: 'stop' }], timings: { predicted_n: 1, predicted_per_second: 5, prompt_n: 3, prompt_ms: 1, cache_n: 3, run_id: 1 } }
    return route.fulfill({ contentType: 'text/event-stream', body: `data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n` })
  })
  await page.getByRole('link', { name: 'Checkpoints' }).click()
  await page.getByRole('button', { name: own.id, exact: true }).click()
  assert.equal(await page.locator('pre.so-far').textContent(), 'package main\n')
  await page.getByRole('button', { name: 'Continue from here', exact: true }).click()
  await page.getByLabel('Next message').fill('func f()')
  await page.getByLabel('Next message').press('Enter')
  await page.getByRole('button', { name: 'Branch the text instead', exact: true }).click()
  const box = page.getByLabel('Text to add (optional)')
  assert.equal(await box.inputValue(), 'func f()')
  await box.press('Control+Enter')
  await page.getByText('The model had nothing to add.').waitFor()
  await page.getByText(/^1 token, 5 tokens\/s/).waitFor()
  assert.deepEqual(problems.filter((p) => !p.includes('400')), [])
  await context.close()
})

test('rows of one chat differ, and folded rows are summed', async () => {
  const { context, page, problems } = await open(browser)
  const [prompt, answer] = fakes(2)
  const line = [
    { ...prompt, title: 'One chat', kind: 'prompt', hits: 3, saved_ms: 4000 },
    { ...answer, title: 'One chat', parent: prompt.id, from_token: prompt.to_token, to_token: prompt.to_token + 9 },
  ]
  await page.route('**/app/checkpoints', (route) => route.fulfill({ json: pageOf(line) }))
  await page.route('**/app/checkpoint-titles?*', (route) => route.fulfill({ json: { titles: [{ id: prompt.id, title: '', ends: 'You write Go.' }, { id: answer.id, title: '', ends: '…return x }' }] } }))
  await page.route(`**/app/checkpoints/${prompt.id}**`, (route) => route.fulfill({ json: { ...line[0], text: '<|im_start|>system\nYou write Go.<|im_end|>\n' } }))
  await page.getByRole('link', { name: 'Checkpoints' }).click()
  const last = page.getByRole('row').filter({ hasText: 'ends “…return x }”' })
  const cells = () => last.getByRole('cell').allTextContents()
  await last.waitFor()
  assert.deepEqual(await cells(), ['109', '4.0 s', '2.0 kB'])
  const columns = () => page.locator('thead th').evaluateAll((all) => all.map((th) => Math.round(th.getBoundingClientRect().left)))
  const before = await columns()
  await page.getByRole('button', { name: '+1 earlier of One chat' }).click()
  const first = page.getByRole('row').filter({ hasText: 'ends “You write Go.”' })
  await first.waitFor()
  assert.deepEqual(await cells(), ['109', '–', '1.0 kB'])
  await shot(page, 'conversations-line')
  // A message may follow the system's message. The page hides a model's own marks.
  await first.getByRole('button', { name: 'One chat', exact: true }).click()
  await page.locator('pre.so-far').waitFor()
  assert.equal(await page.locator('pre.so-far').textContent(), 'System: You write Go.')
  assert.deepEqual(await columns(), before, 'the columns moved')
  await page.getByRole('button', { name: 'Continue from here', exact: true }).click()
  await page.getByRole('region', { name: 'The text so far' }).getByText('You write Go.').waitFor()
  await page.getByLabel('Next message').waitFor()
  await healthy(page, problems)
  await context.close()
})

test('a pressed button stays in sight', async () => {
  const { context, page, problems } = await open(browser, { viewport: { width: 1280, height: 700 } })
  const line = fakes(8).map((c, i) => ({ ...c, parent: i > 0 ? `fake-${i - 1}` : '', from_token: 100 * i, to_token: 100 * i + 100 }))
  const others = fakes(30).map((c) => ({ ...c, id: `other-${c.id}`, title: `other-${c.id}` }))
  const list = [...others.slice(0, 15), ...line, ...others.slice(15)]
  await page.route('**/app/checkpoints', (route) => route.fulfill({ json: pageOf(list) }))
  await page.route('**/app/checkpoints/other-fake-29**', (route) => route.fulfill({ json: { ...others[29], text: 'package main\n'.repeat(40) } }))
  await page.getByRole('link', { name: 'Checkpoints' }).click()
  const fold = page.getByRole('button', { name: /7 earlier of fake-7/ })
  await fold.scrollIntoViewIfNeeded()
  const frames = () => page.evaluate(() => new Promise((next) => requestAnimationFrame(() => requestAnimationFrame(next))))
  const top = async () => {
    await frames()
    return Math.round((await fold.boundingBox()).y)
  }
  const before = await top()
  await fold.click()
  await page.getByText(/^hide 7 earlier/).waitFor()
  assert.equal(await top(), before)
  await fold.click()
  assert.match(await fold.textContent(), /^\+7 earlier/)
  assert.equal(await top(), before)

  await page.getByRole('button', { name: 'other-fake-29', exact: true }).click()
  const seen = async (name) => {
    await page.getByRole('button', { name, exact: true }).waitFor()
    await page.waitForFunction((name) => {
      const button = [...document.querySelectorAll('button')].find((b) => b.textContent === name)
      const { top, bottom } = button.getBoundingClientRect()
      return top >= 0 && bottom <= innerHeight
    }, name)
  }
  await seen('Delete…')
  const atEnd = (region) => page.getByRole('region', { name: region }).evaluate((e) => e.scrollTop > 0 && e.scrollTop + e.clientHeight >= e.scrollHeight - 1)
  assert.ok(await atEnd('How the text ends'))
  await sound(page, 'conversations-text')
  await page.getByRole('button', { name: 'Continue from here', exact: true }).click()
  await page.getByRole('region', { name: 'The text so far' }).waitFor()
  await seen('Close')
  assert.ok(await atEnd('The text so far'))
  await shot(page, 'conversations-last')
  assert.deepEqual(problems, [])
  await context.close()
})

test('the rows stay in place while a person types', async () => {
  const { context, page, problems } = await open(browser)
  const list = fakes(3)
  let asked = 0
  await page.route('**/app/checkpoints', (route) => {
    asked++
    void route.fulfill({ json: pageOf(list) })
  })
  await page.route('**/app/checkpoints/fake-0**', (route) => route.fulfill({ json: { ...list.find((c) => c.id === 'fake-0'), text: 'package main\n' } }))
  await page.clock.install()
  await page.getByRole('link', { name: 'Checkpoints' }).click()
  const rows = () => page.locator('[id^="of-fake"]').allTextContents()
  await page.getByRole('button', { name: 'fake-0', exact: true }).click()
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('na')
  await page.clock.runFor(10_000)
  const before = asked
  list.reverse()
  await page.clock.runFor(10_000)
  await page.keyboard.type('me')
  assert.equal(await page.getByRole('textbox', { name: 'Name', exact: true }).inputValue(), 'name')
  await page.getByRole('button', { name: 'Continue from here', exact: true }).click()
  await page.getByLabel('Next message').fill('half ')
  await page.clock.runFor(10_000)
  await page.keyboard.type('a sentence')
  assert.equal(await page.getByLabel('Next message').inputValue(), 'half a sentence')
  assert.equal(asked, before)
  assert.deepEqual(await rows(), ['fake-0', 'fake-1', 'fake-2'])
  await page.getByRole('button', { name: 'Close', exact: true }).click()
  await page.waitForFunction(() => document.activeElement.id === 'of-fake-0')
  assert.deepEqual(await rows(), ['fake-2', 'fake-1', 'fake-0'])
  assert.deepEqual(problems, [])
  await context.close()
})

test('a conversation shows its subject', async () => {
  const mark = `Ask${Date.now()}`
  const messages = [{ role: 'system', content: `You write Go, ${'and nothing else, '.repeat(12)}ever.` }, { role: 'user', content: `What does ${mark} do?\nSay it at length.` }]
  const body = JSON.stringify({ model: 'tandem', messages, max_tokens: 80, ignore_eos: true })
  const answer = await fetch(`${address}/v1/chat/completions`, { method: 'POST', headers: { 'Content-Type': 'application/json', 'User-Agent': 'editor/1.0' }, body })
  assert.equal(answer.status, 200)
  const { context, page, problems } = await open(browser)
  // A checkpoint of the window itself, whose chat has a title.
  await page.evaluate(async (mark) => {
    const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${sessionStorage.getItem('tandem-session')}`, 'X-Tandem-Client': 'Tandem' }
    const post = (path, body) => fetch(path, { method: 'POST', headers, body: JSON.stringify(body) })
    const content = `Write ${mark}. ${'It is long. '.repeat(20)}`
    const answer = await post('/v1/chat/completions', { model: 'tandem', messages: [{ role: 'user', content }], max_tokens: 80, ignore_eos: true })
    const run = Number(answer.headers.get('X-Tandem-Run'))
    const said = (await answer.json()).choices[0].message.content
    const chat = await (await post('/app/chats', { kind: 'chat', title: `All of ${mark}`, system: '', options: null })).json()
    const message = { parent: 0, role: 'user', content, model: '', finish: 'said', run: 0, facts: null }
    const first = await (await post(`/app/chats/${chat.id}/messages`, message)).json()
    await post(`/app/chats/${chat.id}/messages`, { ...message, parent: first.id, role: 'assistant', content: said, finish: 'length', run })
  }, mark)

  await page.getByRole('link', { name: 'Checkpoints' }).click()
  const said = page.getByRole('row').filter({ has: page.getByRole('button', { name: `What does ${mark} do?`, exact: true }) })
  await said.first().waitFor()
  await page.locator('.group').getByText('editor', { exact: true }).waitFor()
  await page.locator('.group').getByText('Playground', { exact: true }).waitFor()
  await page.getByRole('button', { name: `All of ${mark}`, exact: true }).first().waitFor()
  await shot(page, 'conversations-titles')
  // A checkpoint without a title shows its time, below its client.
  const [bare] = fakes(1)
  await page.route(/\/app\/checkpoints(\?.*)?$/, async (route) => {
    const found = await (await route.fetch()).json()
    return route.fulfill({ json: { ...found, checkpoints: [{ ...bare, title: '', client: 'zed/1.2' }, ...found.checkpoints] } })
  })
  await page.reload()
  await page.getByRole('button', { name: /^20 Nov 2025, / }).waitFor()
  await page.locator('.group').getByText('Zed', { exact: true }).waitFor()
  await said.first().waitFor()
  await healthy(page, problems)
  await context.close()
})

// healthy checks the rules that hold for every page.
async function healthy(page, problems) {
  assert.deepEqual(await violations(page), [])
  const over = await overflow(page)
  assert.ok(over <= 0, `the page is ${over} px too wide`)
  assert.deepEqual(problems, [])
}

test('a text without its model says so, and what to do', async () => {
  const { context, page, problems } = await open(browser)
  const [own, gone] = fakes(2)
  let text = ''
  await page.route(/\/app\/checkpoints(\?.*)?$/, (route) => route.fulfill({ json: pageOf([own, { ...gone, model: 'org/gone' }]) }))
  await page.route('**/app/checkpoints/fake-0**', (route) => route.fulfill({ json: { ...own, text } }))
  await page.route('**/app/checkpoints/fake-1**', (route) => route.fulfill({ json: { ...gone, model: 'org/gone', text: '' } }))
  await page.getByRole('link', { name: 'Checkpoints' }).click()
  await page.getByRole('button', { name: 'fake-1', exact: true }).click()
  await page.getByText('org/gone, which wrote it, is no longer in the list of models').waitFor()
  await page.getByRole('button', { name: 'fake-0', exact: true }).click()
  const loaded = page.waitForResponse('**/app/load')
  await page.getByRole('button', { name: 'Load pocket' }).waitFor()
  await shot(page, 'conversations-unread')
  text = 'package main\n'
  await page.getByRole('button', { name: 'Load pocket' }).click()
  assert.equal((await loaded).status(), 200)
  await page.locator('pre.so-far').getByText('package main').waitFor()
  // The button for the whole text says the same.
  text = ''
  await page.getByRole('button', { name: 'Continue from here', exact: true }).click()
  await page.getByRole('button', { name: 'Load pocket' }).waitFor()
  text = 'package main\n'
  await page.getByRole('button', { name: 'Load pocket' }).click()
  await page.getByRole('region', { name: 'The text so far' }).getByText('package main').waitFor()
  await healthy(page, problems)
  await context.close()
})

test('an abandoned answer links to its run, and a cut one names its limit', async () => {
  const { run_id: run } = await complete(`package left\n\n// ${'It is long. '.repeat(20)}\nfunc left() {\n`)
  const { context, page, problems } = await open(browser)
  await page.getByRole('link', { name: 'Checkpoints' }).click()
  const found = await page.waitForFunction(async (run) => {
    const headers = { Authorization: `Bearer ${sessionStorage.getItem('tandem-session')}` }
    return (await (await fetch('/app/checkpoints', { headers })).json()).checkpoints.find((c) => c.run === run && c.kind === 'answer')?.id
  }, run)
  await page.locator(`#of-${await found.jsonValue()}`).click()
  await page.getByRole('button', { name: 'Branch the text', exact: true }).click()
  await page.getByLabel('Max tokens').fill('3')
  await page.route('**/branch', (route) => route.continue({ postData: JSON.stringify({ ...route.request().postDataJSON(), ignore_eos: true }) }))
  await page.getByRole('button', { name: 'Continue', exact: true }).click()
  await page.getByText('stopped at 3 tokens').waitFor({ timeout: 60_000 })
  await page.getByLabel('Max tokens').fill('20000')
  await page.getByRole('button', { name: 'Continue', exact: true }).click()
  await page.getByRole('region', { name: 'Answer' }).getByText(/\w/).waitFor({ timeout: 60_000 })
  await page.getByRole('button', { name: 'Close', exact: true }).click()
  await page.getByText('You left an answer here').waitFor()
  await shot(page, 'conversations-left')
  await page.getByRole('link', { name: /^run \d+$/ }).first().click()
  await page.locator('main').getByText(/stopped/i).first().waitFor({ timeout: 60_000 })
  assert.deepEqual(problems, [])
  await context.close()
})

test('Back leads to the old place in the list', async () => {
  const { context, page, problems } = await open(browser, { viewport: { width: 1280, height: 600 } })
  const list = fakes(90)
  await page.route(/\/app\/checkpoints(\?.*)?$/, async (route) => {
    // the page is short until its list has come
    await new Promise((wait) => setTimeout(wait, 100))
    await route.fulfill({ json: pageOf(list) })
  })
  await page.getByRole('link', { name: 'Checkpoints' }).click()
  await page.getByRole('button', { name: 'Show 40 more of 90' }).click()
  await page.getByRole('button', { name: 'fake-80', exact: true }).scrollIntoViewIfNeeded()
  const place = () => page.evaluate(() => new Promise((next) => requestAnimationFrame(() => requestAnimationFrame(() => next(Math.round(document.getElementById('pane').scrollTop))))))
  const before = await place()
  assert.ok(before > 1000, `it is scrolled by ${before}`)
  await page.getByRole('link', { name: 'Connect' }).click()
  await page.getByText('OpenCode').waitFor()
  assert.equal(await place(), 0)
  await page.goBack()
  await page.waitForFunction((before) => Math.abs(document.getElementById('pane').scrollTop - before) < 2, before)
  assert.equal(await page.getByRole('button', { name: /^fake-/ }).count(), 90)
  // A link opens the list at its top. Forward leads back to the place where the person was.
  await page.goForward()
  await page.getByRole('link', { name: 'Checkpoints' }).first().click()
  await page.getByRole('button', { name: 'fake-80', exact: true }).waitFor()
  assert.equal(await place(), 0)
  assert.deepEqual(problems, [])
  await context.close()
})

test('18 texts are in view, and only panes scroll', async () => {
  const { context, page, problems } = await open(browser)
  const list = fakes(60).map((c, i) => ({ ...c, client: i % 2 ? 'claude-cli/1.0' : 'Zed/1.2', parent: i > 0 && i < 4 ? 'fake-0' : '', from_token: i > 0 && i < 4 ? 100 : 0 }))
  await page.route('**/app/checkpoints', (route) => route.fulfill({ json: pageOf(list) }))
  await page.route('**/app/checkpoints/fake-2**', (route) => route.fulfill({ json: { ...list[2], text: 'package main\n'.repeat(60) } }))
  await page.getByRole('link', { name: 'Checkpoints' }).click()
  await page.locator('.group').getByText('Claude Code', { exact: true }).waitFor()
  const inView = await page.locator('.texts .text').evaluateAll((all) => all.filter((r) => { const { top, bottom } = r.getBoundingClientRect(); return top >= 0 && bottom <= innerHeight }).length)
  assert.ok(inView >= 18, `${inView} texts are in view`)
  assert.equal(await page.evaluate(() => document.scrollingElement.scrollHeight), 800)
  // The family hangs on lines, and leads from text to text.
  assert.ok((await page.locator('.guide.branch').count()) >= 1)
  await page.getByRole('button', { name: 'fake-2', exact: true }).click()
  await page.getByRole('heading', { name: 'Related checkpoints' }).waitFor()
  assert.equal(await page.locator('.family li').count(), 4)
  await page.keyboard.press('ArrowDown')
  await page.waitForFunction(() => document.activeElement.id === 'of-fake-3')
  await sound(page, 'checkpoints-family', [760, 1000, 1280])
  assert.deepEqual(problems, [])
  await context.close()
})

test('a text goes on in the Playground', async () => {
  const mark = `Onward${Date.now()}`
  const { run_id: run } = await complete(`package ${mark}\n\n// ${'It is long. '.repeat(20)}\nfunc left() {\n`)
  const { context, page, problems } = await open(browser)
  await page.getByRole('link', { name: 'Checkpoints' }).click()
  const found = await page.waitForFunction(async (run) => {
    const headers = { Authorization: `Bearer ${sessionStorage.getItem('tandem-session')}` }
    return (await (await fetch('/app/checkpoints', { headers })).json()).checkpoints.find((c) => c.run === run && c.kind === 'answer')?.id
  }, run)
  await page.locator(`#of-${await found.jsonValue()}`).click()
  await page.getByRole('button', { name: 'Continue in Playground' }).click()
  await page.waitForURL(/#\/playground\/\d+$/)
  await page.waitForFunction((mark) => document.querySelector('#code')?.value.includes(mark), mark)
  assert.deepEqual(problems, [])
  await context.close()
})

test('a text goes on once, and a failure leaves no chat and stands beside the text', async () => {
  const { context, page, problems } = await open(browser)
  const [own] = fakes(1)
  await page.route('**/app/checkpoints', (route) => route.fulfill({ json: pageOf([{ ...own, hits: 1 }]) }))
  await page.route(`**/app/checkpoints/${own.id}**`, (route) => route.fulfill({ json: { ...own, hits: 1, text: 'package main\n' } }))
  const asked = []
  await page.route('**/app/chats{,/*}', (route) => {
    const { method, url } = { method: route.request().method(), url: new URL(route.request().url()).pathname }
    if (method !== 'GET') asked.push(`${method} ${url}`)
    return method === 'POST' ? route.fulfill({ json: { id: 999_999 } }) : method === 'DELETE' ? route.fulfill({ json: {} }) : route.continue()
  })
  const held = new Promise((hold) => page.route('**/app/chats/999999/messages', hold))
  await page.getByRole('link', { name: 'Checkpoints' }).click()
  await page.getByRole('button', { name: own.id, exact: true }).click()
  const chosen = page.getByRole('region', { name: 'The chosen text' })
  await chosen.getByText(/^1 time,/).waitFor()
  const onward = chosen.getByRole('button', { name: 'Continue in Playground' })
  await onward.dblclick({ force: true })
  const route = await held
  assert.ok(await onward.isDisabled())
  await route.fulfill({ status: 507, json: { error: { message: 'The disk is full.', code: 'folder' } } })
  await chosen.getByRole('alert').getByText('The disk is full.').waitFor()
  assert.equal(await page.getByRole('alert').count(), 1)
  assert.ok(await onward.isEnabled())
  assert.deepEqual(asked, ['POST /app/chats', 'DELETE /app/chats/999999'])
  assert.deepEqual(problems.filter((p) => !p.includes('507')), [])
  await context.close()
})

test('an answer to a text shows how far it is', async () => {
  const { context, page, problems } = await open(browser)
  const [own] = fakes(1)
  await page.route('**/app/checkpoints', (route) => route.fulfill({ json: pageOf([own]) }))
  await page.route(`**/app/checkpoints/${own.id}**`, (route) => route.fulfill({ json: { ...own, text: 'package main\n' } }))
  const held = new Promise((hold) => page.route(`**/app/checkpoints/${own.id}/branch`, hold))
  await page.getByRole('link', { name: 'Checkpoints' }).click()
  await page.getByRole('button', { name: own.id, exact: true }).click()
  await page.getByRole('button', { name: 'Branch the text', exact: true }).click()
  await page.getByRole('button', { name: 'Continue', exact: true }).click()
  const ribbon = page.locator('.chosen .ribbon')
  await ribbon.waitFor()
  assert.equal(await ribbon.getAttribute('aria-label'), 'Waiting…')
  const chunk = { model: 'pocket', choices: [{ text: 'func f() {}', finish_reason: 'stop' }], timings: { predicted_n: 4, predicted_per_second: 5, prompt_n: 3, prompt_ms: 1, cache_n: 3, run_id: 1 } }
  await (await held).fulfill({ contentType: 'text/event-stream', body: `data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n` })
  await page.getByText(/^4 tokens, 5 tokens\/s/).waitFor()
  assert.equal(await ribbon.count(), 0)
  assert.deepEqual(problems, [])
  await context.close()
})
