// Chats are kept, found, branched, edited and deleted. A click that a later one overtook changes no
// chat.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'

import { launch, shot, sound } from './browser.mjs'
import { act, back, chat, focused, given, healthy, long, options, playground, settings, short, stopped, talk, until } from './playground.mjs'

let browser

before(async () => {
  browser = await launch()
})
after(() => browser.close())

test('a later click wins over an earlier one', async () => {
  const { context, page, problems } = await playground(browser)
  await short(page, 4)
  await chat(page)
  for (const name of ['slow', 'fast']) {
    await talk(page, `The ${name} one.`)
    await page.getByRole('button', { name: 'New chat' }).click()
  }
  const slow = page.locator('.chats a').filter({ hasText: 'The slow one.' })
  const fast = page.locator('.chats a').filter({ hasText: 'The fast one.' })
  const path = `/app/chats/${(await slow.getAttribute('href')).split('/').at(-1)}`
  let release
  const held = new Promise((go) => (release = go))
  await page.route(`**${path}`, async (route) => {
    await held
    await route.continue()
  })
  const late = page.waitForResponse(`**${path}`)
  await slow.click()
  await fast.click()
  await page.locator('.said').filter({ hasText: 'The fast one.' }).waitFor()
  release()
  await (await late).finished()
  await page.evaluate(() => new Promise((next) => setTimeout(next)))
  assert.equal(await page.locator('.said').innerText(), 'The fast one.')
  assert.equal(`#/playground/${page.url().split('/').at(-1)}`, await fast.getAttribute('href'))

  // The focus stays where the person works.
  await page.getByRole('button', { name: 'Edit the message' }).click()
  await page.getByRole('button', { name: 'Cancel' }).click()
  assert.match(await focused(page), /^edit-\d+$/)
  await page.getByRole('button', { name: 'Retry the answer' }).press('Enter')
  await page.getByText('2 of 2').waitFor({ timeout: 60_000 })
  assert.equal(await focused(page), 'input')
  await act(page, 'The fast one.', 'Rename')
  await page.getByLabel('Title').press('Enter')
  assert.equal(await focused(page), 'The fast one.')
  assert.deepEqual(problems, [])
  await context.close()
})

test('the list shows more on request', async () => {
  const { context, page, problems } = await playground(browser)
  const chat = (id) => ({ id, kind: 'chat', title: `Chat ${id}`, system: '', options: null, leaf: 0, created_at: '2026-01-01T00:00:00Z', updated_at: '2026-01-01T00:00:00Z' })
  let asked = 0
  const whole = []
  await page.route(/\/app\/chats\?/, async (route) => {
    const query = new URL(route.request().url()).searchParams
    const before = query.get('before')
    if (before) asked++
    if (query.has('limit')) whole.push(query.get('limit'))
    const chats = query.has('limit') ? [chat(2), chat(1)] : [chat(before ? 1 : 2)]
    await route.fulfill({ json: { chats, next: chats.at(-1).id === 1 ? 0 : 2, keep: true, count: 2, bytes: 0 } })
  })
  await page.route('**/app/chats/2', (route) => route.fulfill({ json: chat(2) }))
  const found = page.waitForResponse(/search=x/)
  await page.getByRole('searchbox').fill('x')
  await found
  await page.getByText('Chat 2').waitFor()
  await page.getByRole('button', { name: 'More' }).dblclick()
  await page.getByText('Chat 1').waitFor()
  assert.equal(asked, 1)
  assert.equal(await page.locator('.chats li').count(), 2)
  // A later reading, as after an answer, leaves the list as long as it is.
  await act(page, 'Chat 2', 'Pin')
  await until('reading', () => whole.length > 0)
  assert.deepEqual(whole, ['2'])
  assert.equal(await page.locator('.chats li').count(), 2)
  // A new chat empties the search, which may not match it.
  await page.getByRole('button', { name: 'New chat' }).click()
  assert.equal(await page.getByRole('searchbox').inputValue(), '')
  assert.deepEqual(problems, [])
  await context.close()
})

test('a chat with branches is kept, found, renamed and deleted', async () => {
  const { context, page, problems, ask } = await playground(browser)
  await short(page, 24)
  // The demo model asks to choose a model first.
  await page.getByRole('button', { name: 'Chat', exact: true }).click()
  await page.getByRole('link', { name: 'Choose a model' }).waitFor()
  assert.equal(await page.getByLabel('Message', { exact: true }).count(), 0)
  await shot(page, 'chat-demo')
  // The field comes later than its page, and takes the focus if nothing else has it.
  await page.locator('#main').focus()
  await page.getByRole('button', { name: 'Chat with the demo model anyway' }).evaluate((button) => button.click())
  await page.waitForFunction(() => document.activeElement?.id === 'input')
  await options(page)
  await page.getByLabel('System prompt').fill('You write Go.')
  await page.getByLabel('Temperature').fill('0.5')
  await talk(page, 'Write Contains.')
  const first = await page.locator('.chat .assistant .markdown').innerText()
  await talk(page, 'Now Index.')
  assert.equal(await page.locator('.chat > li').count(), 4)

  // The first question is edited, and the old question stays as another branch.
  await page.getByRole('button', { name: 'Edit the message' }).first().click()
  await page.getByRole('textbox', { name: 'Edit the message' }).fill('Write Reverse.')
  await page.getByRole('textbox', { name: 'Edit the message' }).press('Enter')
  await page.getByRole('button', { name: 'Send', exact: true }).waitFor({ timeout: 60_000 })
  assert.equal(await page.locator('.chat > li').count(), 2)
  await page.getByRole('button', { name: 'Retry the answer' }).click()
  await page.getByRole('group', { name: 'Answers to this message' }).getByText('2 of 2').waitFor({ timeout: 60_000 })
  // A person can edit an answer. Then the model continues from the edited text.
  await page.getByRole('button', { name: 'Edit the answer' }).click()
  await page.getByRole('textbox', { name: 'Edit the answer (the model treats your words as its own)' }).fill('It is')
  await page.getByRole('textbox', { name: 'Edit the answer' }).press('Enter')
  await page.getByRole('textbox', { name: 'Edit the answer' }).fill('It is **done**.')
  await page.getByRole('textbox', { name: 'Edit the answer' }).press('Control+Enter')
  await page.getByRole('group', { name: 'Answers to this message' }).getByText('3 of 3').waitFor()
  await page.locator('.chat .markdown strong').filter({ hasText: 'done' }).waitFor()
  await page.getByText('edited by you', { exact: true }).waitFor()
  const asked = page.waitForRequest('**/v1/chat/completions')
  await talk(page, 'And now?')
  assert.deepEqual((await asked).postDataJSON().messages, [
    { role: 'system', content: 'You write Go.' },
    { role: 'user', content: 'Write Reverse.' },
    { role: 'assistant', content: 'It is **done**.' },
    { role: 'user', content: 'And now?' },
  ])
  await page.getByRole('group', { name: 'Versions of this message' }).getByRole('button', { name: 'Previous' }).click()
  await page.getByText('Now Index.').waitFor()
  assert.equal(await page.locator('.chat .assistant .markdown').first().innerText(), first)
  await shot(page, 'chat')

  // A reload shows the same branch and set-up.
  await page.reload()
  await page.getByText('Now Index.').waitFor()
  assert.equal(await page.locator('.chat .assistant .markdown').first().innerText(), first)
  await options(page)
  assert.equal(await page.getByLabel('System prompt').inputValue(), 'You write Go.')
  assert.equal(await page.getByLabel('Temperature').inputValue(), '0.5')
  const id = Number(page.url().split('/').at(-1))
  const { messages } = await ask(`/app/chats/${id}`)
  assert.deepEqual(
    messages.map((m) => [m.role, m.finish !== '']),
    ['user', 'assistant', 'user', 'assistant', 'user', 'assistant', 'assistant', 'assistant', 'user', 'assistant'].map((role) => [role, true]),
  )
  assert.ok(messages[1].run > 0 && messages[1].facts.timings.predicted_n > 0 && messages[1].model === 'pocket')
  await healthy(page, problems)

  // A search finds the chat by a text in another branch. Then the chat is renamed and deleted.
  await page.getByRole('searchbox').fill('nothing says this')
  await page.getByText('No chats found.').waitFor()
  await page.getByRole('searchbox').fill('write reverse')
  const entry = page.locator('.chats li')
  await entry.filter({ hasText: 'Write Contains.' }).waitFor()
  assert.equal(await entry.count(), 1)
  await act(page, 'Write Contains.', 'Rename')
  await page.getByLabel('Title').fill('About strings')
  await page.getByLabel('Title').press('Enter')
  await entry.filter({ hasText: 'About strings' }).waitFor()
  await act(page, 'About strings', 'Delete…')
  await page.getByRole('button', { name: 'Keep it' }).click()
  assert.equal(await entry.filter({ hasText: 'About strings' }).count(), 1)
  await act(page, 'About strings', 'Delete…')
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  await page.getByText('No chats found.').waitFor()
  assert.equal(await page.locator('.chat > li').count(), 0)
  assert.equal((await ask(`/app/chats/${id}`)).error.code, 'chat_not_found')
  assert.deepEqual(problems.filter((p) => !p.includes('404')), [])
  await context.close()
})

test('a deletion says first what it takes with the chat', async () => {
  const { context, page, problems } = await playground(browser)
  await chat(page)
  await talk(page, 'Write Contains.')
  let gone = { chats: 1, checkpoints: 3, bytes: 12_345_678 }
  await page.route('**/app/chats/*/deletion', (route) => route.fulfill({ json: gone }))
  await page.route('**/app/chats/deletion', (route) => route.fulfill({ json: { ...gone, chats: 7 } }))
  const dialog = page.getByRole('dialog')
  const ids = await page.locator('.chats li').count()
  const one = () => act(page, 'Write Contains.', 'Delete…')
  await one()
  await dialog.getByText('all its messages, and 3 checkpoints that nothing else uses (12.3 MB). Named and pinned checkpoints stay.').waitFor()
  await page.getByRole('button', { name: 'Keep it' }).click()
  await settings(page)
  await page.getByRole('button', { name: /^Delete all .*…$/ }).click()
  await dialog.getByText('7 chats with all messages, and 3 checkpoints that').waitFor()
  await page.getByRole('button', { name: 'Keep them' }).click()
  gone = { chats: 1, checkpoints: 0, bytes: 0 }
  await one()
  await dialog.getByText(/all its messages\.$/).waitFor()
  await dialog.getByRole('button', { name: 'Delete' }).click()
  await until('shorter list', async () => (await page.locator('.chats li').count()) === ids - 1)
  assert.deepEqual(problems, [])
  await context.close()
})

test('a chat can be deleted while it answers', async () => {
  const { context, page, problems } = await playground(browser)
  const sent = []
  page.on('request', (r) => {
    if (/\/app\/chats\/\d+/.test(r.url()) && r.method() !== 'GET') sent.push(r.method() === 'POST' ? r.postDataJSON().finish : r.method())
  })
  await long(page)
  const deleted = page.waitForResponse((r) => r.request().method() === 'DELETE')
  await act(page, 'Write a Go function named Reverse', 'Delete…')
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  assert.ok((await deleted).ok())
  // First the answer ends and names its run. The checkpoints of this run are deleted with the chat.
  assert.match(sent.slice(-2).join(' '), /^(stopped|length) DELETE$/)
  assert.equal(await page.locator('.chat > li').count(), 0)
  assert.deepEqual(problems, [])
  await context.close()
})

test('an edited message waits for the growing answer', async () => {
  const { context, page, problems, ask } = await playground(browser)
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  await (await given(page, '/v1/chat/completions', 'Yes.'))()
  await chat(page)
  await talk(page, 'One?')
  await page.getByRole('button', { name: 'Copy the answer' }).click()
  await page.getByText('Copied').waitFor()
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), 'Yes.')
  await page.getByRole('button', { name: 'Edit the message' }).click()
  await page.getByRole('textbox', { name: 'Edit the message' }).fill('Two?')
  await page.unroute('**/v1/chat/completions')
  const go = await given(page, '/v1/chat/completions', 'No.')
  await page.getByLabel('Message', { exact: true }).fill('And now?')
  await page.getByLabel('Message', { exact: true }).press('Enter')
  await page.getByText('Waiting…').waitFor()
  assert.ok(await page.getByRole('button', { name: 'Send it again' }).isDisabled())
  await page.getByRole('textbox', { name: 'Edit the message' }).evaluate((box) => box.form.requestSubmit())
  assert.equal(await page.getByRole('textbox', { name: 'Edit the message' }).inputValue(), 'Two?')
  go()
  await page.getByRole('button', { name: 'Send it again' }).click()
  await page.locator('.said').getByText('Two?').waitFor()
  await page.getByRole('button', { name: 'Send', exact: true }).waitFor()
  assert.deepEqual(await page.locator('.said').allTextContents(), ['Two?'])

  // A message waits until the answer before it is stored.
  let keep
  const held = new Promise((done) => (keep = done))
  await page.route('**/app/chats/*/messages', async (route) => {
    if (route.request().postDataJSON().finish === 'edited') await held
    await route.continue()
  })
  await page.getByRole('button', { name: 'Edit the answer' }).click()
  await page.getByRole('textbox', { name: 'Edit the answer' }).fill('Maybe.')
  await page.getByRole('button', { name: 'Save the answer' }).click()
  await page.getByLabel('Message', { exact: true }).fill('Why?')
  await page.getByLabel('Message', { exact: true }).press('Enter')
  keep()
  await page.locator('.said').getByText('Why?').waitFor()
  await page.getByRole('button', { name: 'Send', exact: true }).waitFor()
  const { messages } = await ask(`/app/chats/${page.url().split('/').at(-1)}`)
  const [maybe, why, last] = messages.slice(-3)
  assert.deepEqual([maybe.content, why.content, why.parent, last.parent], ['Maybe.', 'Why?', maybe.id, why.id])
  assert.deepEqual(problems, [])
  await context.close()
})

test('a missing chat is reported until another one is opened', async () => {
  const { context, page, problems } = await playground(browser)
  const refused = page.locator('main').getByRole('alert').getByText('There is no such chat.')
  const look = async () => {
    await page.evaluate(() => (location.hash = '#/playground/999999'))
    await refused.waitFor()
  }
  await look()
  await page.getByRole('link', { name: 'Now', exact: true }).click()
  await page.getByRole('navigation').getByRole('link', { name: 'Playground' }).click()
  await refused.waitFor({ state: 'detached' })
  await look()
  await chat(page)
  await refused.waitFor({ state: 'detached' })
  assert.deepEqual(problems.filter((p) => !p.includes('404')), [])
  await context.close()
})

test('Escape leaves an unchanged message', async () => {
  const { context, page, problems } = await playground(browser)
  await short(page, 8)
  await chat(page)
  await talk(page, 'Write Contains.')
  const edit = page.getByRole('button', { name: 'Edit the message' })
  const again = page.getByRole('button', { name: 'Send it again' })
  await edit.click()
  await page.getByRole('textbox', { name: 'Edit the message' }).press('Escape')
  await again.waitFor({ state: 'detached' })
  await edit.and(page.locator(':focus')).waitFor()
  // One key does not lose the typed text.
  await edit.click()
  await page.getByRole('textbox', { name: 'Edit the message' }).fill('Write Index.')
  await page.getByRole('textbox', { name: 'Edit the message' }).press('Escape')
  assert.equal(await page.getByRole('textbox', { name: 'Edit the message' }).inputValue(), 'Write Index.')
  // The key that edits the last message leads back to it.
  await page.getByRole('button', { name: 'Cancel' }).click()
  await talk(page, 'And more?')
  await edit.first().click()
  await page.getByRole('textbox', { name: 'Edit the message' }).fill('Write Last.')
  await page.getByLabel('Message', { exact: true }).press('ArrowUp')
  assert.equal(await focused(page), 'edit')
  assert.equal(await page.getByRole('textbox', { name: 'Edit the message' }).inputValue(), 'Write Last.')
  assert.deepEqual(problems, [])
  await context.close()
})

test('Escape in the title and in the presets gives the focus back, and stops nothing', async () => {
  const { context, page, problems } = await playground(browser)
  await chat(page)
  const go = await given(page, '/v1/chat/completions', 'Yes.')
  await page.getByLabel('Message', { exact: true }).fill('A title?')
  await page.getByLabel('Message', { exact: true }).press('Enter')
  await page.getByRole('heading', { name: 'A title?' }).dblclick()
  await page.getByLabel('Title', { exact: true }).press('Escape')
  assert.equal(await focused(page), 'input')
  const pill = page.locator('.composer .presets .pill')
  await pill.click()
  await page.keyboard.press('Escape')
  await pill.and(page.locator(':focus')).waitFor()
  await pill.click()
  await page.getByRole('group', { name: 'Instruction presets' }).getByRole('button', { name: 'No instructions' }).click()
  await pill.and(page.locator(':focus')).waitFor()
  assert.equal(await stopped(page).count(), 0)
  go()
  await page.getByText('Yes.').waitFor()
  assert.equal(await stopped(page).count(), 0)
  assert.deepEqual(problems, [])
  await context.close()
})

test('a typed title is kept when the person goes on elsewhere', async () => {
  const { context, page, problems, ask } = await playground(browser)
  await (await given(page, '/v1/chat/completions', 'Yes.'))()
  await chat(page)
  await talk(page, 'A first title?')
  const id = page.url().split('/').at(-1)
  const title = page.getByLabel('Title', { exact: true })
  const rename = async (from, to) => {
    await page.locator('main').getByRole('heading', { name: from }).dblclick()
    await title.fill(to)
  }
  await rename('A first title?', 'Not this')
  await title.press('Escape')
  await rename('A first title?', 'By a click')
  await page.locator('.chat .said').click()
  await page.locator('main').getByRole('heading', { name: 'By a click' }).waitFor()
  await rename('By a click', 'By Enter')
  await title.press('Enter')
  await page.locator('main').getByRole('heading', { name: 'By Enter' }).waitFor()
  await rename('By Enter', 'Elsewhere')
  await page.getByRole('button', { name: 'New chat' }).click()
  await until('the title', async () => (await ask(`/app/chats/${id}`)).chat.title === 'Elsewhere')

  // A refusal shows on the page, also while the sidebar is hidden.
  await page.locator('.chats').getByText('Elsewhere').click()
  await page.route(`**/app/chats/${id}`, (route) => (route.request().method() === 'POST' ? route.fulfill({ status: 507, json: { error: { message: 'The disk is full.', code: 'folder' } } }) : route.fallback()))
  await page.getByRole('button', { name: 'Hide the sidebar' }).click()
  await rename('Elsewhere', 'Refused')
  await title.press('Enter')
  await page.getByRole('alert').getByText('The disk is full.').waitFor()
  await sound(page, 'chats-refused', [760, 1280])
  assert.deepEqual(problems.filter((p) => !p.includes('507')), [])
  await context.close()
})

test('a search shows the words, and opens the chat at them', async () => {
  const { context, page, problems, ask } = await playground(browser)
  const word = `needle${Date.now()}`
  const body = (of) => ({ method: 'POST', body: JSON.stringify(of) })
  const message = { finish: 'stop', run: 0, facts: null, model: 'pocket' }
  const { id } = await ask('/app/chats', body({ kind: 'chat', title: 'A long one', system: '', options: null }))
  const first = await ask(`/app/chats/${id}/messages`, body({ ...message, parent: 0, role: 'user', content: 'Where is it?' }))
  await ask(`/app/chats/${id}/messages`, body({ ...message, parent: first.id, role: 'assistant', content: `The ${word} is here.${'\n\nAnd more.'.repeat(100)}` }))
  const field = page.getByRole('searchbox', { name: 'Search chats' })
  await field.fill(word)
  const row = page.locator('.chats li').filter({ hasText: 'A long one' })
  await row.locator('mark').getByText(word).waitFor()
  await sound(page, 'chats-searched', [760, 1280])
  // Enter opens the first one, and does not wait for the list.
  await field.fill('')
  await row.locator('mark').waitFor({ state: 'detached' })
  await field.fill(word)
  await field.press('Enter')
  await page.getByRole('search', { name: 'In the page' }).getByText('1 of 1').waitFor()
  assert.ok(await page.locator('.said').getByText('Where is it?').isVisible())
  const box = await page.evaluate(() => {
    const { top, bottom } = [...CSS.highlights.get('here')][0].getBoundingClientRect()
    return [top > 52, bottom < innerHeight]
  })
  assert.deepEqual(box, [true, true], 'the word is in view')
  // The search belongs to this chat.
  await field.fill('')
  await page.getByRole('button', { name: 'New chat' }).click()
  await page.locator('.find-bar').waitFor({ state: 'detached' })
  assert.deepEqual(problems, [])
  await context.close()
})

test('Chat and Complete lead back to what was shown there', async () => {
  const { context, page, problems } = await playground(browser)
  await short(page, 4)
  await chat(page)
  await talk(page, 'Stay here.')
  const at = page.url()
  await page.getByRole('button', { name: 'Complete', exact: true }).click()
  await page.getByRole('heading', { name: 'New completion' }).waitFor()
  // A chosen model leads on to the text.
  await page.locator('[data-action="model"]').click()
  await page.getByRole('group', { name: 'Models' }).locator('button[aria-pressed="true"]').click()
  await page.waitForFunction(() => document.activeElement?.matches('[data-action="composer"]'))
  await page.getByRole('button', { name: 'Chat', exact: true }).click()
  await page.locator('.said').getByText('Stay here.').waitFor()
  assert.equal(page.url(), at)
  // A chosen button changes nothing.
  await page.getByRole('button', { name: 'Chat', exact: true }).click()
  assert.equal(page.url(), at)
  // A chat that is deleted meanwhile does not come back.
  await page.getByRole('button', { name: 'Complete', exact: true }).click()
  await act(page, 'Stay here.', 'Delete…')
  await page.getByRole('button', { name: 'Delete', exact: true }).click()
  await page.locator('.chats').getByText('Stay here.').waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Chat', exact: true }).click()
  await page.getByRole('heading', { name: 'New chat' }).waitFor()
  assert.deepEqual(problems, [])
  await context.close()
})

test('Escape closes the options where they lie over the chat', async () => {
  const { context, page, problems } = await playground(browser, { viewport: { width: 1000, height: 700 } })
  await chat(page)
  const panel = page.getByRole('complementary', { name: 'Options' })
  await options(page)
  await panel.waitFor()
  await page.keyboard.press('Escape')
  await panel.waitFor({ state: 'detached' })
  await page.setViewportSize({ width: 1280, height: 800 })
  await options(page)
  await page.keyboard.press('Escape')
  assert.ok(await panel.isVisible(), 'options beside the chat stay')
  assert.deepEqual(problems, [])
  await context.close()
})

test('no chat is stored when keeping is off', async () => {
  const { context, page, problems, ask } = await playground(browser)
  await short(page, 16)
  const before = (await ask('/app/chats')).count
  await settings(page)
  await page.getByLabel('Keep chats').uncheck()
  await back(page)
  await page.getByText('This isn’t kept').waitFor()
  await chat(page)
  await talk(page, 'Write Contains.')
  await page.getByRole('button', { name: 'Retry the answer' }).click()
  await page.getByText('2 of 2').waitFor({ timeout: 60_000 })
  assert.equal((await ask('/app/chats')).count, before)
  await settings(page)
  await page.getByLabel('Keep chats').check()
  await page.getByRole('button', { name: /^Delete all .*…$/ }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete all' }).click()
  await page.getByText('No chats yet.').waitFor()
  assert.equal((await ask('/app/chats')).count, 0)
  assert.deepEqual(problems, [])
  await context.close()
})
