// A newcomer gets a completion that streams, and reads why a request is refused.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'

import { launch, link, open, shot, sound } from './browser.mjs'
import { example, serve, state } from './fixtures.mjs'
import { act, back, figures, focused, given, healthy, options, playground, settings, stopped, talk } from './playground.mjs'

let browser

before(async () => {
  browser = await launch()
})
after(() => browser.close())

test('a completion streams, and can be taken over and continued', async () => {
  const { context, page, problems } = await playground(browser)
  // A fixed depth always drafts. Otherwise a busy machine may decide that drafts do not pay.
  await page.route('**/v1/completions', (route) => {
    route.continue({ postData: JSON.stringify({ ...route.request().postDataJSON(), max_tokens: 100, speculation: { drafter: 'dflash', depth: 4 } }) })
  })
  await page.locator('form').getByRole('button', { name: 'Complete' }).click()
  await figures(page).waitFor({ timeout: 60_000 })
  const completion = page.getByLabel('Completion', { exact: true })
  const text = await completion.textContent()
  assert.ok(text.trim().length > 20, `the completion is ${JSON.stringify(text)}`)
  await options(page)
  await page.getByLabel('Highlight drafted words').check()
  assert.ok((await page.locator('.answer .drafted').count()) > 0, 'no token was drafted')
  assert.equal(await completion.textContent(), text)
  await shot(page, 'completion')
  const form = await page.locator('form:has(#code)').boundingBox()
  assert.ok((await completion.boundingBox()).y >= form.y + form.height + 8, 'the completion touches the line above it')

  // A second completion of the same code. Both can be shown.
  await page.getByRole('button', { name: 'Complete again' }).click()
  await page.getByText('2 of 2').waitFor({ timeout: 60_000 })
  await page.getByRole('button', { name: 'Previous' }).click()
  await page.getByText('1 of 2').waitFor()
  assert.equal(await completion.textContent(), text)

  // The answer becomes part of the code, and the model continues. A reload shows all of it again.
  const code = await page.getByLabel('Your code').inputValue()
  await page.getByRole('button', { name: 'Add it to the code' }).click()
  assert.equal(await completion.count(), 0)
  assert.equal(await focused(page), 'code')
  const whole = code + text.replace(/\n}$/, '\n}\n\n')
  assert.equal(await page.getByLabel('Your code').inputValue(), whole)
  await page.getByLabel('Your code').press('Control+Enter')
  await page.getByRole('button', { name: 'Complete again' }).waitFor({ timeout: 60_000 })
  const next = await completion.textContent()
  const drafted = await page.locator('.answer .drafted').allTextContents()
  await page.reload()
  await page.getByRole('button', { name: 'Complete again' }).waitFor()
  assert.equal(await completion.textContent(), next)
  assert.equal(await page.getByLabel('Your code').inputValue(), whole)
  await options(page)
  assert.ok(await page.getByLabel('Highlight drafted words').isChecked())
  assert.deepEqual(await page.locator('.answer .drafted').allTextContents(), drafted)
  await sound(page, 'completion-drafted')
  assert.deepEqual(problems, [])
  await context.close()
})

test('the example of the demo completes a function', async () => {
  const { context, page, problems } = await playground(browser)
  const code = page.getByLabel('Your code')
  const example = await code.inputValue()
  const asked = page.waitForRequest('**/v1/completions')
  await page.locator('form').getByRole('button', { name: 'Complete' }).click()
  const { temperature, max_tokens, stop } = (await asked).postDataJSON()
  assert.deepEqual([temperature, max_tokens, stop.length > 0], [0, 160, true])
  await figures(page).waitFor({ timeout: 60_000 })
  const text = await page.getByLabel('Completion', { exact: true }).textContent()
  assert.match(text, /\n}$/, 'it does not end as a function does')
  assert.equal(await page.getByText(/stopped a/).count(), 0)
  await shot(page, 'example')

  // After a whole function the page asks for the next one. It says where the answer stopped, and where to raise that.
  await page.getByRole('button', { name: 'Add it to the code' }).click()
  await options(page)
  await page.getByLabel('Max tokens').fill('3')
  await code.press('Control+Enter')
  await page.getByRole('button', { name: 'Complete again' }).waitFor({ timeout: 60_000 })
  await page.getByText('stopped at 3 tokens').waitFor()
  await page.getByRole('button', { name: 'Raise the limit' }).click()
  assert.equal(await page.evaluate(() => document.activeElement?.id), 'max-tokens')
  assert.ok((await page.getByLabel('Completion', { exact: true }).textContent()).length > 0)

  // Typed text belongs to its chat alone.
  await code.fill(`${example}// mine`)
  await page.getByRole('button', { name: 'New completion' }).click()
  assert.equal(await code.inputValue(), example)
  await code.fill('func mine() {')
  await page.locator('form').getByRole('button', { name: 'Complete' }).click()
  await page.getByRole('button', { name: 'Complete again' }).waitFor({ timeout: 60_000 })
  await act(page, 'func mine', 'Delete…')
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('link', { name: /func mine/ }).waitFor({ state: 'detached' })
  // There is always a text to complete.
  assert.equal(await code.inputValue(), example)
  await settings(page)
  await page.getByRole('button', { name: /^Delete all .*…$/ }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete all' }).click()
  await page.getByText('No chats yet.').waitFor()
  await back(page)
  assert.equal(await code.inputValue(), example)
  assert.deepEqual(problems, [])
  await context.close()
})

test('each version of the code can be shown again', async () => {
  const { context, page, problems, ask } = await playground(browser)
  await page.route('**/v1/completions', (route) => {
    route.continue({ postData: JSON.stringify({ ...route.request().postDataJSON(), max_tokens: 8 }) })
  })
  const code = page.getByLabel('Your code')
  for (const name of ['First', 'Second', 'Third']) {
    await code.fill(`func ${name}() int {\n`)
    await page.locator('form').getByRole('button', { name: 'Complete', exact: true }).click()
    await page.getByRole('button', { name: 'Complete again' }).waitFor({ timeout: 60_000 })
  }
  const versions = page.getByRole('group', { name: 'Versions of this message' })
  const [{ id: run }] = (await ask('/app/runs?limit=1')).runs
  await versions.getByRole('button', { name: 'Previous' }).click()
  await versions.getByText('2 of 3').waitFor()
  await versions.getByRole('button', { name: 'Previous' }).click()
  await versions.getByText('1 of 3').waitFor()
  assert.equal(await code.inputValue(), 'func First() int {\n')
  assert.equal((await ask('/app/runs?limit=1')).runs[0].id, run, 'to turn to another version computes')

  // A field with a wrong value says so. A temperature above OpenAI's 2 is not wrong, because the
  // endpoint takes it too.
  await options(page)
  await page.getByLabel('Temperature').fill('-1')
  await page.getByRole('button', { name: 'Complete again' }).click()
  await page.getByRole('alert').getByText(/^Temperature: /).waitFor()
  assert.ok(await page.getByLabel('Temperature').isVisible())
  const asked = page.waitForRequest('**/v1/completions')
  await page.getByLabel('Temperature').fill('2.25')
  // The focus of the keyboard stays on the button when it turns into another one and back.
  await page.getByRole('button', { name: 'Complete again' }).press('Enter')
  assert.equal((await asked).postDataJSON().temperature, 2.25)
  await page.getByRole('group', { name: 'Answers to this message' }).getByText('2 of 2').waitFor({ timeout: 60_000 })
  assert.equal(await focused(page), 'Complete again')
  await healthy(page, problems)
  await context.close()
})

test('text typed during an answer stays', async () => {
  const { context, page, problems } = await playground(browser)
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  const go = await given(page, '/v1/completions', '\treturn 1\n}')
  const code = page.getByLabel('Your code')
  await code.fill('func one() int {\n')
  // The second of two quick clicks does not stop the request of the first.
  await page.locator('form').getByRole('button', { name: 'Complete', exact: true }).dblclick()
  await page.getByRole('button', { name: 'Stop' }).waitFor()
  await code.fill('// one is 1.\nfunc one() int {\n')
  go()
  await page.locator('form').getByRole('button', { name: 'Complete', exact: true }).waitFor()
  await page.getByLabel('Completion', { exact: true }).getByText('return 1').waitFor()
  assert.equal(await stopped(page).count(), 0)
  await page.getByRole('button', { name: 'Copy the completion' }).click()
  await page.getByText('Copied').waitFor()
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), '\treturn 1\n}')
  assert.equal(await page.getByRole('button', { name: 'Add it to the code' }).count(), 0, 'it would replace what was typed')
  await code.fill('func one() int {\n')
  await page.getByRole('button', { name: 'Complete again' }).click()
  const answers = page.getByRole('group', { name: 'Answers to this message' })
  await answers.getByText('2 of 2').waitFor()
  await page.getByRole('button', { name: 'Add it to the code' }).click()
  assert.equal(await code.inputValue(), 'func one() int {\n\treturn 1\n}\n\n')
  // The other answer is still there.
  await answers.getByRole('button', { name: 'Previous' }).press('Enter')
  await answers.getByText('1 of 2').waitFor()
  assert.equal(await page.evaluate(() => document.activeElement?.ariaLabel), 'Previous')
  assert.equal(await code.inputValue(), 'func one() int {\n\treturn 1\n}\n\n')
  await healthy(page, problems)
  await context.close()
})

test('a refused request shows its error', async () => {
  const { context, page, problems } = await playground(browser)
  await page.route('**/app/chats/keep', (route) => route.fulfill({ status: 507, json: { error: { message: 'The disk is full.', code: 'folder' } } }))
  await settings(page)
  const keep = page.getByLabel('Keep chats')
  await keep.click()
  await page.getByRole('alert').getByText('The disk is full.').waitFor()
  assert.ok(await keep.isChecked())
  assert.deepEqual(problems.filter((p) => !p.includes('507')), [])
  await context.close()
})

test('a page without a session asks for a link', async () => {
  const context = await browser.newContext()
  const page = await context.newPage()
  const { page: other } = await open(browser)
  await page.goto(other.url().split('#')[0])
  await page.getByRole('heading', { name: 'This page needs a link' }).waitFor()
  assert.equal(await page.getByText('Being answered').count(), 0)
  await shot(page, 'locked')
  await context.close()
})

test('a reload finds the kind, the tint and the chat again', async () => {
  const { context, page, problems } = await playground(browser)
  const kind = page.getByRole('button', { name: 'Chat', exact: true })
  const chats = async () => (await kind.getAttribute('aria-pressed')) === 'true'
  const tint = page.getByLabel(/^Highlight/)
  const again = async () => {
    // The menu links to the page's address without a chat.
    await page.getByRole('link', { name: 'Now', exact: true }).click()
    await back(page)
    await page.reload()
    await page.getByText('Demo model: completes code only.').waitFor()
    await options(page)
  }
  await kind.click()
  await options(page)
  await tint.check()
  await again()
  assert.ok((await chats()) && (await tint.isChecked()))
  // The label of the checkbox has the word "drafted", which shows its meaning. A press on the word
  // does not check the box.
  await page.getByRole('button', { name: 'drafted', exact: true }).click()
  await page.locator('.meaning').getByText('Written ahead.').waitFor()
  assert.ok(await tint.isChecked())
  await page.keyboard.press('Escape')
  assert.equal(await page.locator('.meaning').count(), 0)
  await (await given(page, '/v1/chat/completions', 'Yes.'))()
  await page.getByRole('button', { name: 'Chat with the demo model anyway' }).click()
  const title = `Is it you, ${Date.now()}?`
  await talk(page, title)
  await page.getByText('Yes.').waitFor()
  await page.getByLabel('Search chats').fill('nothing has this')
  await page.getByText('No chats found.').waitFor()
  await page.getByLabel('Search chats').fill('')
  await page.locator('.chats').getByText(title).waitFor()
  await again()
  await page.locator('.said').getByText(title).waitFor()
  await page.locator('.chats [aria-current]').getByText(title).waitFor()
  await healthy(page, problems)
  await context.close()
})

test('the page does not move when parts come and go', async () => {
  for (const width of [800, 1280]) {
    const { context, page, problems } = await playground(browser, { viewport: { width, height: 800 } })
    await (await given(page, '/v1/completions', '\treturn 1\n}'))()
    const code = page.getByLabel('Your code')
    const top = async () => (await code.boundingBox()).y
    const fresh = page.getByRole('button', { name: 'New completion' })
    assert.ok(await fresh.isDisabled())
    const before = await top()
    await code.fill('func one() int {\n')
    await page.locator('form').getByRole('button', { name: 'Complete', exact: true }).click()
    await page.getByRole('button', { name: 'Complete again' }).waitFor()
    assert.ok(await fresh.isEnabled())
    assert.equal(await top(), before, `at ${width}`)
    assert.deepEqual(problems, [])
    await context.close()
  }
})

test('the pill and the chat say what an answer waits for', async (t) => {
  const { context: first, page: tab } = await open(browser)
  const session = await tab.evaluate(() => sessionStorage.getItem('tandem-session'))
  await first.close()
  let streaming
  let rev = 1
  const server = await serve(new URL(link()).origin, (res) => state(example('states', 'loading'))((streaming = res)))
  t.after(() => server.close())
  const tell = (news) => streaming.write(`data: ${JSON.stringify({ rev: ++rev, ...news })}\n\n`)
  const context = await browser.newContext({ locale: 'en-US', viewport: { width: 1280, height: 800 } })
  t.after(() => context.close())
  await context.addInitScript((s) => sessionStorage.setItem('tandem-session', s), session)
  const page = await context.newPage()
  const problems = []
  page.on('pageerror', (e) => problems.push(String(e)))
  await page.goto(`${server.url}#/playground`)
  await page.getByRole('button', { name: /^coder-8b.*loading, 40 %$/ }).waitFor()
  await page.route('**/v1/chat/completions', () => {})
  await page.getByLabel('Message', { exact: true }).fill('How long?')
  await page.getByLabel('Message', { exact: true }).press('Enter')
  await page.locator('.chat').getByText('Loading coder-8b, 40 %').waitFor()
  const own = { run_id: 18, endpoint: '/v1/chat/completions', model: 'org/coder-8b', client: 'Tandem', started_at: new Date().toISOString(), prompt_done: 0, prompt_tokens: 4096, completion_tokens: 0, per_second: 0, verifies: 0, accepted: 0 }
  const other = { ...own, run_id: 17, client: 'Zed', prompt_done: 100, completion_tokens: 12 }
  tell({ phase: 'ready', loading: null, active: [other, own] })
  await page.locator('.chat').getByText('Waiting for run 17').waitFor()
  await page.getByRole('button', { name: 'coder-8b', exact: true }).waitFor()
  tell({ active: [{ ...own, prompt_done: 1024, prompt_restored: 512 }] })
  await page.locator('.chat').getByText('Reading 1,024 of 4,096').waitFor()
  await page.waitForTimeout(600)
  tell({ active: [{ ...own, prompt_done: 2048, prompt_restored: 512 }] })
  await page.locator('.chat').getByText(/^Reading 2,048 of 4,096, about .+ left$/).waitFor()
  const parts = await page.locator('.reading .ribbon > span').evaluateAll((all) => all.map((e) => [e.className, Math.round(parseFloat(e.style.width))]))
  assert.deepEqual(parts.map(([name, share]) => [name.split(' ')[0], share]), [['phase-restored', 13], ['phase-read', 38]])
  await sound(page, 'reading', [760, 1280])
  assert.deepEqual(problems, [])
})

test('a closed endpoint gives no curl command', async (t) => {
  const { context: first, page: tab } = await open(browser)
  const session = await tab.evaluate(() => sessionStorage.getItem('tandem-session'))
  await first.close()
  const server = await serve(new URL(link()).origin, state(example('states', 'endpoint_closed')))
  t.after(() => server.close())
  const context = await browser.newContext({ locale: 'en-US', viewport: { width: 1280, height: 800 } })
  t.after(() => context.close())
  await context.addInitScript((s) => sessionStorage.setItem('tandem-session', s), session)
  const page = await context.newPage()
  await page.goto(`${server.url}#/playground`)
  await (await given(page, '/v1/chat/completions', 'Yes.'))()
  await talk(page, 'Is it open?')
  await page.keyboard.press('Control+Shift+c')
  await page.getByText('Not copied: the endpoint is closed').waitFor()
})
