// Files, presets, exports, branches and pins: what a person does with a chat beside talking.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, test } from 'node:test'

import { launch, shot, sound } from './browser.mjs'
import { act, asking, chat, given, healthy, options, playground, short, talk, until } from './playground.mjs'

let browser

before(async () => {
  browser = await launch()
})
after(() => browser.close())

// more chooses an action of the last answer.
async function more(page, name) {
  await page.getByRole('button', { name: 'More actions for this answer' }).last().click()
  await page.getByRole('button', { name, exact: true }).click()
}

test('a text file goes with a message, and stands there as a chip', async () => {
  const { context, page, problems } = await playground(browser)
  await short(page, 4)
  await chat(page)
  const files = page.locator('input[type=file]')
  await files.setInputFiles({ name: 'photo.png', mimeType: 'image/png', buffer: Buffer.from([0x89, 0x50, 0xff, 0]) })
  await page.getByRole('alert').getByText('photo.png is not a text file.').waitFor()
  await files.setInputFiles([
    { name: 'worker.go', mimeType: 'text/plain', buffer: Buffer.from('package worker\n') },
    { name: 'notes.md', mimeType: 'text/plain', buffer: Buffer.from('# Notes\n') },
  ])
  assert.equal(await page.getByRole('alert').count(), 0)
  const chips = page.locator('.composer').getByRole('list', { name: 'Files' }).getByRole('listitem')
  await chips.filter({ hasText: /worker\.go\d+ tokens/ }).waitFor()
  await page.getByRole('button', { name: 'Remove notes.md' }).click()
  assert.equal(await chips.count(), 1)
  await sound(page, 'attached', [760, 1280])
  await files.setInputFiles({ name: 'photo.png', mimeType: 'image/png', buffer: Buffer.from([0x89, 0x50, 0xff, 0]) })
  await page.getByRole('alert').getByText('photo.png is not a text file.').waitFor()
  const asked = page.waitForRequest('**/v1/chat/completions')
  await talk(page, 'What is in it?')
  const [{ content }] = (await asked).postDataJSON().messages
  assert.equal(content, 'worker.go:\n```\npackage worker\n```\n\nWhat is in it?')
  assert.equal(await chips.count(), 0)
  assert.equal(await page.getByRole('alert').count(), 0, 'what was refused is of the message before')
  await page.locator('.chats').getByText('What is in it?').waitFor()

  // After a reload the chip is still there. The words can be edited, and the file goes again.
  await page.reload()
  const message = page.locator('.chat > li.user')
  await message.getByRole('list', { name: 'Files' }).getByText('worker.go').waitFor()
  assert.equal(await message.locator('.said').textContent(), 'What is in it?')
  await page.getByRole('button', { name: 'Edit the message' }).click()
  assert.equal(await page.getByRole('textbox', { name: 'Edit the message' }).inputValue(), 'What is in it?')
  await page.getByRole('textbox', { name: 'Edit the message' }).fill('And why?')
  await short(page, 4)
  const again = page.waitForRequest('**/v1/chat/completions')
  await page.getByRole('textbox', { name: 'Edit the message' }).press('Enter')
  assert.equal((await again).postDataJSON().messages[0].content, 'worker.go:\n```\npackage worker\n```\n\nAnd why?')
  await page.getByRole('button', { name: 'Retry the answer' }).waitFor({ timeout: 60_000 })
  await healthy(page, problems)
  await context.close()
})

test('instructions are kept as a preset, for other chats too', async () => {
  const { context, page, problems } = await playground(browser)
  await chat(page)
  await options(page)
  await page.getByLabel('System prompt').fill('You review Go. Be brief.')
  const pill = page.locator('.composer .presets .pill')
  await pill.getByText('Custom instructions').waitFor()
  await pill.click()
  await page.getByLabel('Name of the preset').fill('Go reviewer')
  await page.getByLabel('Name of the preset').press('Enter')
  await pill.getByText('Go reviewer').waitFor()
  await sound(page, 'options', [760, 1000, 1280])

  await page.reload()
  await page.getByText('Demo model: completes code only.').waitFor()
  await chat(page).catch(() => {})
  await page.getByRole('button', { name: 'New chat' }).click()
  await pill.getByText('No instructions').waitFor()
  await pill.click()
  await page.getByRole('button', { name: 'Go reviewer', exact: true }).click()
  await short(page, 4)
  const asked = page.waitForRequest('**/v1/chat/completions')
  await talk(page, 'Hello.')
  assert.deepEqual((await asked).postDataJSON().messages[0], { role: 'system', content: 'You review Go. Be brief.' })
  await pill.click()
  // A deletion asks first, and the focus is on the pill then.
  const question = page.getByRole('dialog')
  for (const answer of ['Keep it', 'Delete']) {
    await page.getByRole('button', { name: 'Delete the preset Go reviewer' }).click()
    await question.getByText('This deletes “Go reviewer”.').waitFor()
    if (answer === 'Delete') await sound(page, 'preset-deleted', [760, 1280])
    await question.getByRole('button', { name: answer }).click()
    await pill.and(page.locator(':focus')).waitFor()
    if (answer === 'Keep it') await pill.click()
  }
  await pill.getByText('Custom instructions').waitFor()
  assert.equal(await page.locator('.chat > li.user').count(), 1)
  assert.deepEqual(problems, [])
  await context.close()
})

test('options go with a request, and stay with the chat', async () => {
  const { context, page, problems } = await playground(browser)
  await chat(page)
  await options(page)
  await page.getByLabel('Top-p').fill('0.5')
  await page.getByLabel('Max tokens').fill('4')
  await page.getByLabel('Thinking').selectOption('off')
  await page.getByLabel('Speculative decoding').uncheck()
  const asked = page.waitForRequest('**/v1/chat/completions')
  await talk(page, 'Hello.')
  const { top_p, max_tokens, reasoning_effort, speculation } = (await asked).postDataJSON()
  assert.deepEqual({ top_p, max_tokens, reasoning_effort, speculation }, { top_p: 0.5, max_tokens: 4, reasoning_effort: 'none', speculation: { drafter: 'none' } })
  // The ring and the panel tell how much of the context is taken.
  await page.getByRole('button', { name: /^\d+ of [\d.]+k context tokens used$/ }).waitFor()
  await page.locator('.panel').getByText(/of [\d,]+ tokens used \(\d+ from cache\)/).waitFor()
  await page.reload()
  await page.locator('.chat > li.user').waitFor() // the options are those of the chat once it is read
  await options(page)
  assert.equal(await page.getByLabel('Top-p').inputValue(), '0.5')
  assert.equal(await page.getByLabel('Thinking').inputValue(), 'none')
  assert.equal(await page.getByLabel('Speculative decoding').isChecked(), false)
  await healthy(page, problems)
  await context.close()
})

test('a chat leaves the window as Markdown, JSON and curl', async () => {
  const { context, page, problems } = await playground(browser)
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  await (await given(page, '/v1/chat/completions', 'It is **so**.'))()
  await chat(page)
  await talk(page, "Why isn't it?")
  const clip = async (name) => {
    await page.getByRole('button', { name: 'Export the chat' }).click()
    await page.getByRole('button', { name, exact: true }).click()
    await page.getByText('Copied').first().waitFor()
    return page.evaluate(() => navigator.clipboard.readText())
  }
  assert.equal(await clip('Copy as Markdown'), "# Why isn't it?\n\n**You**\n\nWhy isn't it?\n\n**pocket**\n\nIt is **so**.\n")
  const { messages } = JSON.parse(await clip('Copy as JSON'))
  assert.deepEqual(messages.map((m) => [m.role, m.content]), [['user', "Why isn't it?"], ['assistant', 'It is **so**.']])
  assert.match(await clip('Copy as curl'), /^curl http:\/\/127\.0\.0\.1:\d+\/v1\/chat\/completions .*Why isn'\\''t it\?/s)
  const saved = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Export the chat' }).click()
  await page.getByRole('button', { name: 'Save as Markdown' }).click()
  const file = await saved
  assert.equal(file.suggestedFilename(), 'Why-isn-t-it.md')
  assert.match(readFileSync(await file.path(), 'utf8'), /It is \*\*so\*\*\./)
  await more(page, 'Copy as curl')
  await until('command', async () => (await page.evaluate(() => navigator.clipboard.readText())).startsWith('curl '))
  assert.deepEqual(problems, [])
  await context.close()
})

test('an answer branches into a new chat, and is deleted with what follows', async () => {
  const { context, page, problems, ask } = await playground(browser)
  await (await given(page, '/v1/chat/completions', 'Yes.'))()
  await chat(page)
  const title = `Branch of ${Date.now()}?`
  await talk(page, title)
  await talk(page, 'And two?')
  const first = page.url()
  await page.getByRole('button', { name: 'More actions for this answer' }).first().click()
  await page.getByRole('button', { name: 'Branch into a new chat' }).click()
  await until('other chat', () => /\/\d+$/.test(page.url()) && page.url() !== first)
  assert.deepEqual(await page.locator('.said').allTextContents(), [title])
  await talk(page, 'And three?')
  const id = page.url().split('/').at(-1)
  assert.deepEqual((await ask(`/app/chats/${id}`)).messages.map((m) => m.content), [title, 'Yes.', 'And three?', 'Yes.'])

  await page.getByRole('button', { name: 'More actions for this answer' }).first().click()
  await page.getByRole('button', { name: 'Delete from here…' }).click()
  await page.getByRole('dialog').getByText('This deletes the answer and everything after it').waitFor()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  await until('shorter chat', async () => (await page.locator('.chat > li').count()) === 1)
  assert.deepEqual((await ask(`/app/chats/${id}`)).messages.map((m) => m.content), [title])
  await page.getByRole('button', { name: 'Answer', exact: true }).waitFor()
  // The first chat still has all.
  assert.equal((await ask(`/app/chats/${first.split('/').at(-1)}`)).messages.length, 4)
  await healthy(page, problems)
  await context.close()
})

test('a pinned chat stands before all others', async () => {
  const { context, page, problems } = await playground(browser)
  await (await given(page, '/v1/chat/completions', 'Yes.'))()
  await chat(page)
  const titles = ['Older', 'Newer'].map((name) => `${name} ${Date.now()}`)
  for (const title of titles) {
    await talk(page, title)
    await page.getByRole('button', { name: 'New chat' }).click()
  }
  const list = page.locator('.chats .list')
  await act(page, titles[0], 'Pin')
  await list.getByRole('heading', { name: 'Pinned' }).waitFor()
  await until('pin', async () => (await list.locator('li a').first().textContent())?.includes(titles[0]))
  await shot(page, 'pinned')
  await page.reload()
  await list.getByRole('heading', { name: 'Pinned' }).waitFor()
  await act(page, titles[0], 'Unpin')
  await list.getByRole('heading', { name: 'Pinned' }).waitFor({ state: 'detached' })
  assert.deepEqual(problems, [])
  await context.close()
})

test('a chat opens at its end, with the composer in view, and does not move under a reader', async () => {
  const { context, page, problems } = await playground(browser)
  const long = Array.from({ length: 60 }, (_, i) => `Line ${i} of the answer.`).join('\n\n')
  const lift = await given(page, '/v1/chat/completions', long)
  lift()
  await chat(page)
  for (const text of ['One?', 'Two?', 'Three?', 'Four?', 'Five?', 'Six?', 'Seven?', 'Eight?']) await talk(page, text)
  const url = page.url()
  const down = () => page.evaluate(() => {
    const { scrollHeight, scrollTop, clientHeight } = document.getElementById('pane')
    return { from: scrollTop, left: scrollHeight - scrollTop - clientHeight }
  })
  for (const [width, height] of [[1280, 800], [1440, 900], [1000, 700]]) {
    await page.setViewportSize({ width, height })
    await page.getByRole('button', { name: 'New chat' }).click()
    await page.goto(url)
    await until('all messages', async () => (await page.locator('.chat > li').count()) === 16)
    assert.ok((await down()).left < 2, `at ${width} the end is ${(await down()).left} px below`)
    const composer = await page.locator('.composer').boundingBox()
    assert.ok(composer.y > 0 && composer.y + composer.height <= height, `at ${width} the composer is out of view`)
  }
  // Who reads above stays there, while an answer grows. A button leads to the end.
  await page.unroute('**/v1/chat/completions')
  await asking(page, { ignore_eos: true, max_tokens: 2000 })
  await page.getByLabel('Message', { exact: true }).fill('Nine?')
  await page.getByLabel('Message', { exact: true }).press('Enter')
  await page.getByText(/\d tokens\/s/).waitFor({ timeout: 60_000 })
  await page.mouse.move(600, 300)
  await page.mouse.wheel(0, -2000)
  const up = await until('page at rest', async () => {
    const { from } = await down()
    await page.waitForTimeout(500)
    return from === (await down()).from && from
  })
  const before = (await down()).left
  await until('more of the answer', async () => (await down()).left > before)
  assert.equal((await down()).from, up)
  await page.getByRole('button', { name: 'Latest' }).click()
  await until('end', async () => (await down()).left < 60)
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'Send' }).waitFor()
  assert.deepEqual(problems, [])
  await context.close()
})

test('a file that comes late goes to the chat for which it was chosen', async () => {
  const { context, page, problems } = await playground(browser)
  await (await given(page, '/v1/chat/completions', 'Yes.'))()
  await chat(page)
  await talk(page, 'First?')
  const first = page.url()
  // The reading of the file takes a while.
  await page.evaluate(() => {
    const { arrayBuffer } = File.prototype
    const read = Blob.prototype.arrayBuffer
    Blob.prototype.arrayBuffer = async function () {
      await new Promise((go) => (window.go = go))
      return (arrayBuffer ?? read).call(this)
    }
  })
  await page.locator('input[type=file]').setInputFiles({ name: 'notes.md', mimeType: 'text/plain', buffer: Buffer.from('# Notes\n') })
  await page.waitForFunction(() => window.go)
  await page.getByRole('button', { name: 'New chat' }).click()
  await page.getByRole('heading', { name: 'New chat' }).waitFor()
  await page.evaluate(() => window.go())
  await page.waitForTimeout(300)
  assert.equal(await page.getByText('notes.md').count(), 0)
  assert.notEqual(page.url(), first)
  await page.goto(first)
  await page.locator('.composer').getByText('notes.md').waitFor()
  assert.deepEqual(problems, [])
  await context.close()
})

test('a list keeps the number that it begins with', async () => {
  const { context, page, problems } = await playground(browser)
  ;(await given(page, '/v1/chat/completions', 'Text:\n\n2. Two\n3. Three\n'))()
  await chat(page)
  await talk(page, 'Count.')
  assert.equal(await page.locator('.markdown ol').getAttribute('start'), '2')
  assert.deepEqual(problems, [])
  await context.close()
})

test('earlier messages stay where they are when one is sent', async () => {
  const { context, page, problems } = await playground(browser)
  await short(page, 4)
  await chat(page)
  await talk(page, 'First')
  const place = () => page.locator('.chat > li').nth(1).evaluate((e) => e.getBoundingClientRect().top - e.parentElement.getBoundingClientRect().top)
  const before = await place()
  const go = await given(page, '/v1/chat/completions', 'Yes.')
  await page.getByLabel('Message', { exact: true }).fill('Second')
  await page.getByLabel('Message', { exact: true }).press('Enter')
  await page.getByRole('button', { name: 'Stop', exact: true }).waitFor()
  assert.equal(await place(), before)
  go()
  await page.getByRole('button', { name: 'Send', exact: true }).waitFor()
  assert.equal(await place(), before)
  assert.deepEqual(problems, [])
  await context.close()
})

test('an example is sent at once, or joins what a person typed', async () => {
  const { context, page, problems } = await playground(browser)
  await chat(page)
  const asked = []
  await page.route('**/v1/chat/completions', (route) => {
    asked.push(route.request().postDataJSON().messages.at(-1).content)
    return route.abort()
  })
  const field = page.getByLabel('Message', { exact: true })
  await field.fill('My own words')
  const examples = page.locator('.examples button')
  await examples.nth(2).click()
  assert.equal(await field.inputValue(), 'My own words\nWhat is the capital of France?')
  await field.fill('')
  await examples.nth(3).click()
  assert.equal(await field.inputValue(), 'Turn these notes into an e-mail: ')
  assert.deepEqual(asked, [])
  await examples.nth(2).click()
  await until('the request', () => asked.length === 1)
  assert.deepEqual(asked, ['What is the capital of France?'])
  await page.locator('.said').getByText('What is the capital of France?').waitFor()
  assert.equal(await field.inputValue(), '')
  await context.close()
})

test('a preset that is kept sends no message', async () => {
  const { context, page, problems } = await playground(browser)
  await chat(page)
  await options(page)
  await page.getByLabel('System prompt').fill(`Be brief, ${Date.now()}.`)
  await page.getByLabel('Message', { exact: true }).fill('Not yet')
  await page.locator('.composer .presets .pill').click()
  const name = `Brief ${Date.now()}`
  await page.getByLabel('Name of the preset').fill(name)
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.locator('.composer .presets .pill').getByText(name).waitFor()
  assert.equal(await page.getByLabel('Message', { exact: true }).inputValue(), 'Not yet')
  assert.equal(await page.locator('.chat > li').count(), 0)
  await page.locator('.composer .presets .pill').click()
  await page.getByRole('button', { name: `Delete the preset ${name}` }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  await page.locator('.composer .presets .pill').getByText('Custom instructions').waitFor()
  assert.deepEqual(problems, [])
  await context.close()
})

test('own instructions come back after a preset, and a name that is not kept stays', async () => {
  const { context, page, problems } = await playground(browser)
  await chat(page)
  await options(page)
  const field = page.getByLabel('System prompt')
  await field.fill('My own.')
  const pill = page.locator('.composer .presets .pill')
  const entry = (name) => page.getByRole('group', { name: 'Instruction presets' }).getByRole('button', { name, exact: true })
  await pill.click()
  assert.equal(await entry('Custom instructions').count(), 0)
  await entry('No instructions').click()
  assert.equal(await field.inputValue(), '')
  await pill.click()
  await entry('Custom instructions').click()
  assert.equal(await field.inputValue(), 'My own.')

  await page.route('**/app/presets', (route) => (route.request().method() === 'POST' ? route.fulfill({ status: 507, json: { error: { message: 'The disk is full.', code: 'folder' } } }) : route.fallback()))
  await pill.click()
  await page.getByLabel('Name of the preset').fill('Mine')
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.locator('main').getByRole('alert').getByText('The disk is full.').waitFor()
  assert.equal(await page.getByLabel('Name of the preset').inputValue(), 'Mine')
  assert.deepEqual(problems.filter((p) => !p.includes('507')), [])
  await context.close()
})

test('the options stay as a person left them', async () => {
  const { context, page, problems } = await playground(browser)
  const panel = page.locator('aside.panel')
  const button = page.locator('.toolbar').getByRole('button', { name: 'Options' })
  await panel.waitFor()
  await page.setViewportSize({ width: 1000, height: 800 })
  await panel.waitFor({ state: 'detached' }) // it would lie over the chat
  await page.setViewportSize({ width: 1280, height: 800 })
  await panel.waitFor()
  await button.click()
  await panel.waitFor({ state: 'detached' })
  await page.reload()
  await button.waitFor()
  assert.equal(await panel.count(), 0)
  assert.deepEqual(problems, [])
  await context.close()
})

test('the command of a first answer asks as it was asked', async () => {
  const { context, page, problems } = await playground(browser)
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  await (await given(page, '/v1/completions', '\treturn 1\n}'))()
  const curl = async () => {
    await page.getByRole('button', { name: 'Export the chat' }).click()
    await page.getByRole('button', { name: 'Copy as curl', exact: true }).click()
    await page.getByText('Copied').first().waitFor()
    return page.evaluate(() => navigator.clipboard.readText())
  }
  // The demo model completes at temperature 0, and again at its own.
  await page.locator('form').getByRole('button', { name: 'Complete' }).click()
  await page.getByRole('button', { name: 'Complete again' }).waitFor()
  assert.match(await curl(), /"temperature":\s*0\b/)
  await page.getByRole('button', { name: 'Complete again' }).click()
  await page.getByText('2 of 2').waitFor()
  assert.doesNotMatch(await curl(), /"temperature"/)
  await page.getByRole('button', { name: 'Previous' }).click()
  await page.getByText('1 of 2').waitFor()
  assert.match(await curl(), /"temperature":\s*0\b/)
  assert.deepEqual(problems, [])
  await context.close()
})

test('Answer again means the last message', async () => {
  const { context, page, problems } = await playground(browser)
  const again = page.locator('[data-action="again"]')
  // Of code, the button that completes it again.
  await (await given(page, '/v1/completions', '\treturn 1\n}'))()
  await page.locator('form').getByRole('button', { name: 'Complete' }).click()
  await again.and(page.getByRole('button', { name: 'Complete again' })).waitFor()
  await (await given(page, '/v1/chat/completions', 'Yes.'))()
  await chat(page)
  await talk(page, 'First?')
  assert.equal(await again.count(), 1)
  await page.getByRole('button', { name: 'Edit the message' }).click()
  assert.equal(await again.count(), 0)
  await page.getByRole('button', { name: 'Cancel' }).click()
  await page.unroute('**/v1/chat/completions')
  await page.route('**/v1/chat/completions', (route) => route.fulfill({ status: 503, json: { error: { message: 'No memory.', code: 'memory' } } }))
  await talk(page, 'Second?')
  await page.getByRole('alert').getByText('No memory.').waitFor()
  assert.equal(await again.count(), 1)
  const asked = page.waitForRequest('**/v1/chat/completions')
  await again.click()
  assert.deepEqual((await asked).postDataJSON().messages.map((m) => m.content), ['First?', 'Yes.', 'Second?'])
  assert.deepEqual(problems.filter((p) => !p.includes('503')), [])
  await context.close()
})

test('a copy that fails says so', async () => {
  const { context, page, problems } = await playground(browser)
  await (await given(page, '/v1/chat/completions', 'Yes.'))()
  await chat(page)
  await talk(page, 'A copy?')
  await page.evaluate(() => (navigator.clipboard.writeText = () => Promise.reject(new Error('no'))))
  await page.getByRole('button', { name: 'Copy the answer' }).click()
  await page.getByText('Not copied', { exact: true }).waitFor()
  await page.keyboard.press('Control+Shift+c')
  await page.locator('.toolbar').getByText('Not copied', { exact: true }).waitFor()
  assert.deepEqual(problems, [])
  await context.close()
})
