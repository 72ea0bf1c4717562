// What a newcomer does first: a completion that streams, a chat that is kept, a
// stop, an edit; and that nothing said is lost.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'

import { AxeBuilder } from '@axe-core/playwright'

import { launch, open, shot, sound } from './browser.mjs'

let browser

before(async () => {
  browser = await launch()
})
after(() => browser.close())

// playground opens the page; what the control routes say is asked by ask.
async function playground(options) {
  const all = await open(browser, options)
  const { page } = all
  await page.getByRole('link', { name: 'Playground' }).click()
  await page.getByText('Demo model: completes code only.').waitFor()
  const ask = (path, init) =>
    page.evaluate(
      async ([path, init]) => {
        const headers = { Authorization: `Bearer ${sessionStorage.getItem('tandem-session')}`, 'Content-Type': 'application/json' }
        return (await fetch(path, { headers, ...init })).json()
      },
      [path, init],
    )
  return { ...all, ask }
}

// chat turns to an empty chat, with the demo model all the same.
async function chat(page) {
  await page.getByLabel('Chat', { exact: true }).check()
  await page.getByRole('button', { name: 'Chat with the demo model anyway' }).click()
}

// talk sends a message of a chat and waits for the end of its answer, which is
// short.
async function talk(page, text) {
  await page.getByLabel('Message', { exact: true }).fill(text)
  await page.getByLabel('Message', { exact: true }).press('Enter')
  await page.getByRole('button', { name: 'Send' }).waitFor({ timeout: 60_000 })
}

// short cuts answers and has them always the same.
async function short(page, tokens) {
  await page.route('**/v1/chat/completions', (route) => {
    route.continue({ postData: JSON.stringify({ ...route.request().postDataJSON(), max_tokens: tokens, temperature: 0 }) })
  })
}

// until asks again and again, for a minute at most, and returns the first answer
// that is one.
async function until(what, ask) {
  const end = Date.now() + 60_000
  for (;;) {
    const answer = await ask()
    if (answer) return answer
    assert.ok(Date.now() < end, `no ${what} within a minute`)
    await new Promise((next) => setTimeout(next, 100))
  }
}

// focused names what has the focus.
const focused = (page) => page.evaluate(() => document.activeElement?.textContent?.trim() || document.activeElement?.id)

async function healthy(page, problems) {
  const { violations } = await new AxeBuilder({ page }).withTags(['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa']).analyze()
  assert.deepEqual(violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.target).join(' ')}`), [])
  const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
  assert.ok(over <= 0, `the page is ${over} px too wide`)
  assert.deepEqual(problems, [])
}

test('a completion', async () => {
  const { context, page, problems } = await playground()
  // A fixed depth always drafts; by itself a busy machine may decide that it does not pay.
  await page.route('**/v1/completions', (route) => {
    route.continue({ postData: JSON.stringify({ ...route.request().postDataJSON(), max_tokens: 100, speculation: { drafter: 'dflash', depth: 4 } }) })
  })
  await page.getByRole('button', { name: 'Complete' }).click()
  await page.getByText(/tokens, \d+ a second/).waitFor({ timeout: 60_000 })
  const completion = page.getByLabel('Completion', { exact: true })
  const text = await completion.textContent()
  assert.ok(text.trim().length > 20, `the completion is ${JSON.stringify(text)}`)
  await page.getByLabel('Show which words were drafted').check()
  assert.ok((await page.locator('.drafted').count()) > 0, 'no token was drafted')
  assert.equal(await completion.textContent(), text)
  await shot(page, 'completion')
  const form = await page.locator('form:has(#code)').boundingBox()
  assert.ok((await completion.boundingBox()).y >= form.y + form.height + 8, 'the completion touches the line above it')

  // A second completion of the same code; both can be turned to.
  await page.getByRole('button', { name: 'Complete again' }).click()
  await page.getByText('2 / 2').waitFor({ timeout: 60_000 })
  await page.getByRole('button', { name: 'The one before' }).click()
  await page.getByText('1 / 2').waitFor()
  assert.equal(await completion.textContent(), text)

  // It is taken over, and goes on; a reload shows it all again.
  const code = await page.getByLabel('Your code').inputValue()
  await page.getByRole('button', { name: 'Add it to the code' }).click()
  assert.equal(await completion.count(), 0)
  assert.equal(await focused(page), 'code')
  const whole = code + text.replace(/\n}$/, '\n}\n\n')
  assert.equal(await page.getByLabel('Your code').inputValue(), whole)
  await page.getByLabel('Your code').press('Control+Enter')
  await page.getByRole('button', { name: 'Complete again' }).waitFor({ timeout: 60_000 })
  const next = await completion.textContent()
  const drafted = await page.locator('.drafted').allTextContents()
  await page.reload()
  await page.getByRole('button', { name: 'Complete again' }).waitFor()
  assert.equal(await completion.textContent(), next)
  assert.equal(await page.getByLabel('Your code').inputValue(), whole)
  assert.equal(await page.locator('.drafted').count(), 0)
  await page.getByLabel('Show which words were drafted').check()
  assert.deepEqual(await page.locator('.drafted').allTextContents(), drafted)
  await sound(page, 'completion-drafted')
  assert.deepEqual(problems, [])
  await context.close()
})

test('the example of the demo', async () => {
  const { context, page, problems } = await playground()
  const code = page.getByLabel('Your code')
  const example = await code.inputValue()
  const asked = page.waitForRequest('**/v1/completions')
  await page.getByRole('button', { name: 'Complete' }).click()
  const { temperature, max_tokens, stop } = (await asked).postDataJSON()
  assert.deepEqual([temperature, max_tokens, stop.length > 0], [0, 160, true])
  await page.getByText(/tokens, \d+ a second/).waitFor({ timeout: 60_000 })
  const text = await page.getByLabel('Completion', { exact: true }).textContent()
  assert.match(text, /\n}$/, 'it does not end as a function does')
  assert.equal(await page.getByText(/cut a/).count(), 0)
  await shot(page, 'example')

  // Behind a whole function the next one is asked for; that it was cut is told.
  await page.getByRole('button', { name: 'Add it to the code' }).click()
  await page.getByText('Sampling', { exact: true }).click()
  await page.getByLabel('Tokens at most').fill('3')
  await code.press('Control+Enter')
  await page.getByRole('button', { name: 'Complete again' }).waitFor({ timeout: 60_000 })
  await page.getByText('cut at its limit of 3 tokens: “Tokens at most” under “Sampling”').waitFor()
  assert.ok((await page.getByLabel('Completion', { exact: true }).textContent()).length > 0)

  // What was typed belongs to its chat alone.
  await code.fill(`${example}// mine`)
  await page.getByRole('button', { name: 'New completion' }).click()
  assert.equal(await code.inputValue(), example)
  await code.fill('func mine() {')
  await page.getByRole('button', { name: 'Complete' }).click()
  await page.getByRole('button', { name: 'Complete again' }).waitFor({ timeout: 60_000 })
  await page.getByRole('button', { name: 'Delete…', exact: true }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('link', { name: /func mine/ }).waitFor({ state: 'detached' })
  // Something to complete is there always.
  assert.equal(await code.inputValue(), example)
  await page.getByRole('button', { name: 'Delete all…' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete all' }).click()
  await page.getByText('No chat yet.').waitFor()
  assert.equal(await code.inputValue(), example)
  assert.deepEqual(problems, [])
  await context.close()
})

test('versions of code', async () => {
  const { context, page, problems, ask } = await playground()
  await page.route('**/v1/completions', (route) => {
    route.continue({ postData: JSON.stringify({ ...route.request().postDataJSON(), max_tokens: 8 }) })
  })
  const code = page.getByLabel('Your code')
  for (const name of ['First', 'Second', 'Third']) {
    await code.fill(`func ${name}() int {\n`)
    await page.getByRole('button', { name: 'Complete', exact: true }).click()
    await page.getByRole('button', { name: 'Complete again' }).waitFor({ timeout: 60_000 })
  }
  const versions = page.getByRole('group', { name: 'Versions of this message' })
  const [{ id: run }] = (await ask('/app/runs?limit=1')).runs
  await versions.getByRole('button', { name: 'The one before' }).click()
  await versions.getByText('2 / 3').waitFor()
  await versions.getByRole('button', { name: 'The one before' }).click()
  await versions.getByText('1 / 3').waitFor()
  assert.equal(await code.inputValue(), 'func First() int {\n')
  assert.equal((await ask('/app/runs?limit=1')).runs[0].id, run, 'to turn to another version computes')

  // A field that is wrong says so, closed away as it was; more than OpenAI's 2 is not, for the endpoint takes it too.
  await page.getByText('Sampling', { exact: true }).click()
  await page.getByLabel('Temperature').fill('-1')
  await page.getByText('Sampling', { exact: true }).click()
  await page.getByRole('button', { name: 'Complete again' }).click()
  await page.getByRole('alert').getByText(/^Temperature: /).waitFor()
  assert.ok(await page.getByLabel('Temperature').isVisible())
  const asked = page.waitForRequest('**/v1/completions')
  await page.getByLabel('Temperature').fill('2.25')
  // By the keyboard: the button has the focus as it turns into another and back.
  await page.getByRole('button', { name: 'Complete again' }).press('Enter')
  assert.equal((await asked).postDataJSON().temperature, 2.25)
  await page.getByRole('group', { name: 'Answers to this message' }).getByText('2 / 2').waitFor({ timeout: 60_000 })
  assert.equal(await focused(page), 'Complete again')
  await healthy(page, problems)
  await context.close()
})

test('a click that a later one overtakes', async () => {
  const { context, page, problems } = await playground()
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

  // The focus stays where one works.
  await page.getByRole('button', { name: 'Edit the message' }).click()
  await page.getByRole('button', { name: 'Cancel' }).click()
  assert.match(await focused(page), /^Edit ?the message$/)
  await page.getByRole('button', { name: 'Answer again' }).press('Enter')
  await page.getByText('2 / 2').waitFor({ timeout: 60_000 })
  assert.equal(await focused(page), 'input')
  await page.getByRole('button', { name: 'Rename' }).click()
  await page.getByLabel('Title').press('Enter')
  assert.equal(await focused(page), 'Rename')
  assert.deepEqual(problems, [])
  await context.close()
})

test('more of the list', async () => {
  const { context, page, problems } = await playground()
  const chat = (id) => ({ id, kind: 'chat', title: `Chat ${id}`, system: '', options: null, leaf: 0, created_at: '2026-01-01T00:00:00Z', updated_at: '2026-01-01T00:00:00Z' })
  let asked = 0
  await page.route(/\/app\/chats\?/, async (route) => {
    const before = new URL(route.request().url()).searchParams.get('before')
    if (before) asked++
    await route.fulfill({ json: { chats: [chat(before ? 1 : 2)], next: before ? 0 : 2, keep: true, count: 2, bytes: 0 } })
  })
  await page.getByRole('searchbox').fill('x')
  await page.getByText('Chat 2').waitFor()
  await page.getByRole('button', { name: 'More' }).dblclick()
  await page.getByText('Chat 1').waitFor()
  assert.equal(asked, 1)
  assert.equal(await page.locator('.chats li').count(), 2)
  assert.deepEqual(problems, [])
  await context.close()
})

test('a chat with branches is kept, found, renamed and deleted', async () => {
  const { context, page, problems, ask } = await playground()
  await short(page, 24)
  // With the demo model choosing one comes first.
  await page.getByLabel('Chat', { exact: true }).check()
  await page.getByRole('link', { name: 'Choose a model' }).waitFor()
  assert.equal(await page.getByLabel('Message', { exact: true }).count(), 0)
  await shot(page, 'chat-demo')
  await page.getByRole('button', { name: 'Chat with the demo model anyway' }).click()
  await page.getByText('System prompt and sampling', { exact: true }).click()
  await page.getByLabel('System prompt').fill('You write Go.')
  await page.getByLabel('Temperature').fill('0.5')
  await talk(page, 'Write Contains.')
  const first = await page.locator('.chat .assistant .markdown').innerText()
  await talk(page, 'Now Index.')
  assert.equal(await page.locator('.chat > li').count(), 4)

  // The first question is edited: what was said stays beside it.
  await page.getByRole('button', { name: 'Edit' }).first().click()
  await page.getByLabel('Edit the message').fill('Write Reverse.')
  await page.getByLabel('Edit the message').press('Enter')
  await page.getByRole('button', { name: 'Send', exact: true }).waitFor({ timeout: 60_000 })
  assert.equal(await page.locator('.chat > li').count(), 2)
  await page.getByRole('button', { name: 'Answer again' }).click()
  await page.getByRole('group', { name: 'Answers to this message' }).getByText('2 / 2').waitFor({ timeout: 60_000 })
  // An answer is put as a person wants it, and is the one that the model goes on from.
  await page.getByRole('button', { name: 'Edit the answer' }).click()
  await page.getByLabel('Edit the answer; the model will take your words for its own').fill('It is')
  await page.getByLabel('Edit the answer').press('Enter')
  await page.getByLabel('Edit the answer').fill('It is **done**.')
  await page.getByLabel('Edit the answer').press('Control+Enter')
  await page.getByRole('group', { name: 'Answers to this message' }).getByText('3 / 3').waitFor()
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
  await page.getByRole('group', { name: 'Versions of this message' }).getByRole('button', { name: 'The one before' }).click()
  await page.getByText('Now Index.').waitFor()
  assert.equal(await page.locator('.chat .assistant .markdown').first().innerText(), first)
  await shot(page, 'chat')

  // A reload brings back the branch that was shown, and the set-up.
  await page.reload()
  await page.getByText('Now Index.').waitFor()
  assert.equal(await page.locator('.chat .assistant .markdown').first().innerText(), first)
  await page.getByText('System prompt and sampling', { exact: true }).click()
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

  // It is searched for by what was said in another branch, renamed and deleted.
  await page.getByRole('searchbox').fill('nothing says this')
  await page.getByText('No chat has that.').waitFor()
  await page.getByRole('searchbox').fill('write reverse')
  const entry = page.locator('.chats li')
  await entry.filter({ hasText: 'Write Contains.' }).waitFor()
  assert.equal(await entry.count(), 1)
  await page.getByRole('button', { name: 'Rename' }).click()
  await page.getByLabel('Title').fill('About strings')
  await page.getByLabel('Title').press('Enter')
  await entry.filter({ hasText: 'About strings' }).waitFor()
  await page.getByRole('button', { name: 'Delete…', exact: true }).click()
  await page.getByRole('button', { name: 'Keep it' }).click()
  assert.equal(await entry.filter({ hasText: 'About strings' }).count(), 1)
  await page.getByRole('button', { name: 'Delete…', exact: true }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  await page.getByText('No chat has that.').waitFor()
  assert.equal(await page.locator('.chat > li').count(), 0)
  assert.equal((await ask(`/app/chats/${id}`)).error.code, 'chat_not_found')
  assert.deepEqual(problems.filter((p) => !p.includes('404')), [])
  await context.close()
})

test('what goes with a chat is said before it goes', async () => {
  const { context, page, problems } = await playground()
  await chat(page)
  await talk(page, 'Write Contains.')
  let gone = { chats: 1, checkpoints: 3, bytes: 12_345_678 }
  await page.route('**/app/chats/*/deletion', (route) => route.fulfill({ json: gone }))
  await page.route('**/app/chats/deletion', (route) => route.fulfill({ json: { ...gone, chats: 7 } }))
  const dialog = page.getByRole('dialog')
  const one = page.getByRole('button', { name: 'Delete…', exact: true })
  await one.click()
  await dialog.getByText('all its messages, and 3 checkpoints that nothing else goes on from: 12.3 MB. Those with a name or a pin stay.').waitFor()
  await page.getByRole('button', { name: 'Keep it' }).click()
  await page.getByRole('button', { name: 'Delete all…' }).click()
  await dialog.getByText('7 chats with all messages, and 3 checkpoints that').waitFor()
  await page.getByRole('button', { name: 'Keep them' }).click()
  gone = { chats: 1, checkpoints: 0, bytes: 0 }
  await one.click()
  await dialog.getByText(/all its messages\.$/).waitFor()
  await dialog.getByRole('button', { name: 'Delete' }).click()
  await one.waitFor({ state: 'detached' })
  assert.deepEqual(problems, [])
  await context.close()
})

test('a stop, and an answer that goes on behind a reload', async () => {
  const { context, page, problems, ask } = await playground()
  // Without this the model may end its answer before it is stopped.
  await page.route('**/v1/chat/completions', (route) => {
    route.continue({ postData: JSON.stringify({ ...route.request().postDataJSON(), ignore_eos: true }) })
  })
  const lastRun = () =>
    until('end of the run', async () => {
      const [run] = (await ask('/app/runs?limit=1')).runs
      return run.ended_at && run
    })
  await chat(page)
  await page.getByText('System prompt and sampling', { exact: true }).click()
  await page.getByLabel('Tokens at most').fill('30000')
  await page.getByLabel('Message', { exact: true }).fill('Write a Go function named Reverse, and a long explanation.')
  await page.getByLabel('Message', { exact: true }).press('Control+Enter')
  await page.locator('.chat .markdown').filter({ hasText: /\w/ }).waitFor({ timeout: 60_000 })
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'Answer again' }).waitFor({ timeout: 20_000 })
  await page.getByText('· stopped').waitFor()
  assert.equal((await lastRun()).finish_reason, 'cancel')

  // It answers again, and the page is loaded anew in the midst of it, twice: each time the
  // answer goes on by itself, from where it was. It is one message, whoever saved it.
  await page.getByRole('button', { name: 'Answer again' }).click()
  const id = page.url().split('/').at(-1)
  const answers = async () => (await ask(`/app/chats/${id}`)).messages.filter((m) => m.role === 'assistant')
  const grown = async (than) => until('answer that grows', async () => {
    const m = (await answers())[1]
    return m?.content.length > than.length && m
  })
  const runs = []
  let kept = await grown('')
  for (let n = 0; n < 2; n++) {
    runs.push(kept.run)
    await page.reload()
    const next = await until('run that goes on with it', async () => {
      const m = (await answers())[1]
      return m.run !== kept.run && m
    })
    assert.ok(next.content.startsWith(kept.content), `${JSON.stringify(kept.content)} became ${JSON.stringify(next.content)}`)
    const { run: before } = await ask(`/app/runs/${kept.run}/report`)
    assert.equal(before.finish_reason, 'interrupted')
    assert.equal((await ask(`/app/runs/${next.run}`)).resumes, kept.run)
    kept = next
  }
  await page.keyboard.press('Escape')
  await page.getByText('· stopped').waitFor({ timeout: 20_000 })
  await page.getByRole('group', { name: 'Answers to this message' }).getByText('2 / 2').waitFor()
  assert.equal((await lastRun()).finish_reason, 'cancel')
  const [, last, ...more] = await answers()
  assert.deepEqual(more, [])
  assert.equal(last.finish, 'stopped')
  assert.ok(last.content.startsWith(kept.content))

  // One that was stopped stays so.
  const asked = []
  page.on('request', (r) => r.url().includes('/resume') && asked.push(r.url()))
  await page.reload()
  await page.getByText('· stopped').waitFor()
  assert.equal(await page.getByRole('button', { name: 'Continue' }).count(), 0)
  assert.deepEqual(asked, [])
  // The same word stands among the runs.
  await page.goto(`${page.url().split('#')[0]}#/runs/${runs[0]}`)
  await page.getByText('Whoever asked for this left before it was done.').waitFor()
  await page.getByText('interrupted', { exact: true }).waitFor()
  assert.deepEqual(problems, [])
  await context.close()
})

test('an answer that comes in another tab', async () => {
  const { context, page, problems } = await playground()
  await page.route('**/v1/chat/completions', (route) => {
    route.continue({ postData: JSON.stringify({ ...route.request().postDataJSON(), ignore_eos: true, max_tokens: 30_000 }) })
  })
  // What is kept comes late, which run it is too.
  let keep
  const held = new Promise((go) => (keep = go))
  await page.route('**/app/chats/*/messages/*', async (route) => {
    await held
    await route.continue()
  })
  await chat(page)
  await page.getByLabel('Message', { exact: true }).fill('Two tabs look at this.')
  await page.getByLabel('Message', { exact: true }).press('Enter')
  await page.locator('.chat .markdown').filter({ hasText: /\w/ }).waitFor({ timeout: 60_000 })
  const other = await context.newPage()
  other.on('pageerror', (e) => problems.push(String(e)))
  await other.goto(page.url())
  await other.locator('.said').getByText('Two tabs look at this.').waitFor()
  assert.equal(await other.locator('.chat > li').count(), 1)
  keep()
  await other.getByText('still coming, in another tab').waitFor({ timeout: 60_000 })
  const some = (await other.locator('.chat .markdown').innerText()).length
  await until('more of it', async () => (await other.locator('.chat .markdown').innerText()).length > some)
  assert.equal(await other.getByRole('button', { name: 'Continue' }).count(), 0)
  await shot(other, 'another-tab')
  await page.bringToFront()
  await page.keyboard.press('Escape')
  await page.getByText('· stopped').waitFor({ timeout: 20_000 })
  await other.getByText('· stopped').waitFor({ timeout: 20_000 })
  assert.equal(await other.getByRole('button', { name: 'Continue' }).count(), 0)
  assert.deepEqual(problems, [])
  await context.close()
})

test('a chat is deleted while it answers', async () => {
  const { context, page, problems } = await playground()
  await page.route('**/v1/chat/completions', (route) => {
    route.continue({ postData: JSON.stringify({ ...route.request().postDataJSON(), ignore_eos: true }) })
  })
  const sent = []
  page.on('request', (r) => {
    if (/\/app\/chats\/\d+/.test(r.url()) && r.method() !== 'GET') sent.push(r.method() === 'POST' ? r.postDataJSON().finish : r.method())
  })
  await chat(page)
  await page.getByText('System prompt and sampling', { exact: true }).click()
  await page.getByLabel('Tokens at most').fill('30000')
  await page.getByLabel('Message', { exact: true }).fill('Write a Go function named Reverse, and a long explanation.')
  await page.getByLabel('Message', { exact: true }).press('Control+Enter')
  await page.locator('.chat .markdown').filter({ hasText: /\w/ }).waitFor({ timeout: 60_000 })
  const deleted = page.waitForResponse((r) => r.request().method() === 'DELETE')
  await page.getByRole('button', { name: 'Delete…', exact: true }).first().click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  assert.ok((await deleted).ok())
  // First the answer comes to its end, and names its run: what that left goes with the chat.
  assert.match(sent.slice(-2).join(' '), /^(stopped|length) DELETE$/)
  assert.equal(await page.locator('.chat > li').count(), 0)
  assert.deepEqual(problems, [])
  await context.close()
})

test('a page that is left before the first word asks again', async () => {
  const { context, page, problems, ask } = await playground()
  await short(page, 4)
  await chat(page)
  let held = page.waitForRequest('**/v1/chat/completions')
  const hold = () => {}
  await page.route('**/v1/chat/completions', hold)
  await page.getByLabel('Message', { exact: true }).fill('Nothing comes of this.')
  await page.getByLabel('Message', { exact: true }).press('Enter')
  await held
  await page.getByText('Reading…').waitFor()
  held = page.waitForRequest('**/v1/chat/completions')
  await page.reload()
  // The same is asked, of which nothing had come.
  assert.deepEqual((await held).postDataJSON().messages, [{ role: 'user', content: 'Nothing comes of this.' }])
  await page.getByText('Reading…').waitFor()
  assert.equal(await page.locator('.chat > li').count(), 2)
  const id = page.url().split('/').at(-1)
  assert.deepEqual((await ask(`/app/chats/${id}`)).messages.map((m) => m.role), ['user', 'assistant', 'assistant'])

  // In another tab, later, nothing is asked by itself.
  const other = await context.newPage()
  let asked = 0
  await other.route('**/v1/chat/completions', (route) => {
    asked++
    route.continue({ postData: JSON.stringify({ ...route.request().postDataJSON(), max_tokens: 4 }) })
  })
  await other.goto(page.url())
  await other.locator('.said').getByText('Nothing comes of this.').waitFor()
  await other.getByRole('button', { name: 'Answer', exact: true }).waitFor()
  assert.equal(await other.locator('.chat > li').count(), 1)
  assert.equal(await other.getByText('interrupted').count(), 0)
  assert.equal(asked, 0)
  await other.getByRole('button', { name: 'Answer', exact: true }).click()
  await other.getByRole('button', { name: 'Answer again' }).waitFor({ timeout: 60_000 })
  assert.equal(asked, 1)
  assert.deepEqual(problems, [])
  await context.close()
})

// given answers requests of a kind with a text, once go is called.
async function given(page, path, text) {
  let go
  const held = new Promise((done) => (go = done))
  await page.route(`**${path}`, async (route) => {
    await held
    const choice = path === '/v1/completions' ? { text } : { delta: { content: text } }
    const chunk = { model: 'pocket', choices: [{ ...choice, finish_reason: 'stop' }] }
    await route.fulfill({ contentType: 'text/event-stream', body: `data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n` })
  })
  return go
}

test('what is typed while an answer comes stays', async () => {
  const { context, page, problems } = await playground()
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  const go = await given(page, '/v1/completions', '\treturn 1\n}')
  const code = page.getByLabel('Your code')
  await code.fill('func one() int {\n')
  // The second of two quick clicks does not stop what the first began.
  await page.getByRole('button', { name: 'Complete', exact: true }).dblclick()
  await page.getByRole('button', { name: 'Stop' }).waitFor()
  await code.fill('// one is 1.\nfunc one() int {\n')
  go()
  await page.getByRole('button', { name: 'Complete', exact: true }).waitFor()
  await page.getByLabel('Completion', { exact: true }).getByText('return 1').waitFor()
  assert.equal(await page.getByText('· stopped').count(), 0)
  await page.getByRole('button', { name: 'Copy the completion' }).click()
  await page.getByText('Copied').waitFor()
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), '\treturn 1\n}')
  assert.equal(await page.getByRole('button', { name: 'Add it to the code' }).count(), 0, 'it would replace what was typed')
  await code.fill('func one() int {\n')
  await page.getByRole('button', { name: 'Complete again' }).click()
  const answers = page.getByRole('group', { name: 'Answers to this message' })
  await answers.getByText('2 / 2').waitFor()
  await page.getByRole('button', { name: 'Add it to the code' }).click()
  assert.equal(await code.inputValue(), 'func one() int {\n\treturn 1\n}\n\n')
  // The other answer is there still.
  await answers.getByRole('button', { name: 'The one before' }).press('Enter')
  await answers.getByText('1 / 2').waitFor()
  assert.equal(await focused(page), '‹')
  assert.equal(await code.inputValue(), 'func one() int {\n\treturn 1\n}\n\n')
  await healthy(page, problems)
  await context.close()
})

test('an edited message waits for the answer that is coming', async () => {
  const { context, page, problems, ask } = await playground()
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  await (await given(page, '/v1/chat/completions', 'Yes.'))()
  await chat(page)
  await talk(page, 'One?')
  await page.getByRole('button', { name: 'Copy the answer' }).click()
  await page.getByText('Copied').waitFor()
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), 'Yes.')
  await page.getByRole('button', { name: 'Edit the message' }).click()
  await page.getByLabel('Edit the message').fill('Two?')
  await page.unroute('**/v1/chat/completions')
  const go = await given(page, '/v1/chat/completions', 'No.')
  await page.getByLabel('Message', { exact: true }).fill('And now?')
  await page.getByLabel('Message', { exact: true }).press('Enter')
  await page.getByText('Reading…').waitFor()
  assert.ok(await page.getByRole('button', { name: 'Send it again' }).isDisabled())
  await page.getByLabel('Edit the message').evaluate((box) => box.form.requestSubmit())
  assert.equal(await page.getByLabel('Edit the message').inputValue(), 'Two?')
  go()
  await page.getByRole('button', { name: 'Send it again' }).click()
  await page.locator('.said').getByText('Two?').waitFor()
  await page.getByRole('button', { name: 'Send', exact: true }).waitFor()
  assert.deepEqual(await page.locator('.said').allTextContents(), ['Two?'])

  // What is said behind an answer that is not kept yet is kept behind it.
  let keep
  const held = new Promise((done) => (keep = done))
  await page.route('**/app/chats/*/messages', async (route) => {
    if (route.request().postDataJSON().finish === 'edited') await held
    await route.continue()
  })
  await page.getByRole('button', { name: 'Edit the answer' }).click()
  await page.getByLabel('Edit the answer').fill('Maybe.')
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

test('that a chat is not there is said until another is looked at', async () => {
  const { context, page, problems } = await playground()
  const refused = page.getByRole('alert').getByText('There is no such chat.')
  const look = async () => {
    await page.evaluate(() => (location.hash = '#/playground/999999'))
    await refused.waitFor()
  }
  await look()
  await page.getByRole('link', { name: 'Help' }).click()
  await page.getByRole('link', { name: 'Playground' }).first().click()
  await page.getByRole('heading', { name: 'Playground' }).waitFor()
  await refused.waitFor({ state: 'detached' })
  await look()
  await chat(page)
  await refused.waitFor({ state: 'detached' })
  assert.deepEqual(problems.filter((p) => !p.includes('404')), [])
  await context.close()
})

test('what is refused is said', async () => {
  const { context, page, problems } = await playground()
  await page.route('**/app/chats/keep', (route) => route.fulfill({ status: 507, json: { error: { message: 'The disk is full.', code: 'folder' } } }))
  const keep = page.getByLabel('Keep chats')
  await keep.click()
  await page.getByRole('alert').getByText('The disk is full.').waitFor()
  assert.ok(await keep.isChecked())
  assert.deepEqual(problems.filter((p) => !p.includes('507')), [])
  await context.close()
})

test('a page that crashes loses next to nothing', async () => {
  const { context, page } = await playground()
  const other = await playground()
  await page.route('**/v1/chat/completions', (route) => {
    route.continue({ postData: JSON.stringify({ ...route.request().postDataJSON(), ignore_eos: true, max_tokens: 30_000 }) })
  })
  await chat(page)
  await page.getByLabel('Message', { exact: true }).fill('Crash in the midst of this.')
  await page.getByLabel('Message', { exact: true }).press('Enter')
  const id = await until('chat', async () => (await other.ask('/app/chats?search=midst+of+this')).chats[0]?.id)
  const kept = await until('answer', async () => (await other.ask(`/app/chats/${id}`)).messages.find((m) => m.role === 'assistant' && m.content !== ''))
  assert.equal(kept.finish, '')
  const cdp = await context.newCDPSession(page)
  const crashed = page.waitForEvent('crash')
  cdp.send('Page.crash').catch(() => {})
  await crashed
  await other.page.goto(`${other.page.url().split('#')[0]}#/playground/${kept.chat}`)
  await other.page.getByText('interrupted').waitFor()
  const cut = await until('end of the run', async () => {
    const r = await other.ask(`/app/runs/${kept.run}`)
    return r.ended_at && r
  })
  assert.equal(cut.finish_reason, 'interrupted')
  // Tinted it is shown as it is.
  await other.page.getByLabel('Show which words were drafted').check()
  const { messages } = await other.ask(`/app/chats/${kept.chat}`)
  assert.equal(await other.page.locator('.chat .answer').textContent(), messages.at(-1).content)
  assert.ok(messages.at(-1).content.startsWith(kept.content))
  await other.page.getByRole('button', { name: 'Answer again' }).waitFor()
  await shot(other.page, 'interrupted')
  // It goes on where it was, when a person wants it.
  await other.page.getByRole('button', { name: 'Continue' }).click()
  const more = await until('more of it', async () => {
    const m = (await other.ask(`/app/chats/${kept.chat}`)).messages.at(-1)
    return m.content.length > messages.at(-1).content.length && m
  })
  assert.ok(more.content.startsWith(messages.at(-1).content))
  assert.equal(more.id, kept.id)
  await other.page.keyboard.press('Escape')
  await other.page.getByText('stopped ·').or(other.page.getByText('· stopped')).waitFor({ timeout: 20_000 })
  assert.equal(await other.page.getByRole('button', { name: 'Continue' }).count(), 0)
  assert.deepEqual(other.problems, [])
  await context.close()
  await other.context.close()
})

test('what came before Tandem was away is kept once it is back', async () => {
  const { context, page, ask } = await playground()
  // Whatever is asked for ends, and nobody answers any more.
  await page.addInitScript(() => {
    const { fetch } = window
    window.away = new AbortController()
    window.fetch = (path, init = {}) =>
      window.away.signal.aborted ? Promise.reject(new TypeError('away')) : fetch(path, { ...init, signal: AbortSignal.any([window.away.signal, init.signal].filter(Boolean)) })
  })
  await page.route('**/v1/chat/completions', (route) => {
    route.continue({ postData: JSON.stringify({ ...route.request().postDataJSON(), ignore_eos: true, max_tokens: 30_000 }) })
  })
  await page.reload()
  await chat(page)
  await page.getByLabel('Show which words were drafted').check()
  await page.getByLabel('Message', { exact: true }).fill('Say this before you go.')
  await page.getByLabel('Message', { exact: true }).press('Enter')
  const answer = page.locator('.chat .answer')
  await until('answer', async () => (await answer.count()) > 0 && (await answer.textContent()).length > 40)
  await page.evaluate(() => window.away.abort())
  const unkept = page.getByRole('alert').getByText('This is not kept: Tandem does not answer.')
  await unkept.waitFor()
  await page.getByText('This page tries again by itself').waitFor()
  assert.equal(await page.getByText('in another tab').count(), 0)
  await page.getByText('interrupted').waitFor()
  const came = await answer.textContent()
  await page.evaluate(() => (window.away = new AbortController()))
  await unkept.waitFor({ state: 'detached' })
  const { messages } = await ask(`/app/chats/${/\d+$/.exec(page.url())[0]}`)
  assert.equal(messages.at(-1).content, came)
  await context.close()
})

test('who comes back to an answer that grows sees its end', async () => {
  const { context, page, problems } = await playground({ viewport: { width: 1000, height: 500 } })
  await page.route('**/v1/chat/completions', (route) => {
    route.continue({ postData: JSON.stringify({ ...route.request().postDataJSON(), ignore_eos: true, max_tokens: 30_000 }) })
  })
  await chat(page)
  await page.getByLabel('Message', { exact: true }).fill('Write for long.')
  await page.getByLabel('Message', { exact: true }).press('Enter')
  const down = () => page.evaluate(() => scrollY)
  await until('long answer', async () => (await down()) > 400)
  await page.getByRole('link', { name: 'Now', exact: true }).click()
  await page.getByText('Answering 1 request').waitFor()
  await page.getByRole('navigation').getByRole('link', { name: 'Playground' }).click()
  const stop = page.getByRole('button', { name: 'Stop' })
  await until('end in sight', async () => (await stop.boundingBox())?.y < 500)
  // Who has scrolled up is left there, and found there again.
  await page.mouse.move(600, 200)
  await page.mouse.wheel(0, -300)
  const up = await until('place further up', async () => (await stop.boundingBox()).y > 600 && (await down()))
  await page.getByRole('link', { name: 'Now', exact: true }).click()
  await page.getByText('Answering 1 request').waitFor()
  await page.goBack()
  await until('place that was left', async () => (await down()) === up)
  await stop.waitFor()
  assert.equal(await down(), up)
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'Send' }).waitFor()
  assert.deepEqual(problems, [])
  await context.close()
})

test('Escape leaves a message that is not changed', async () => {
  const { context, page, problems } = await playground()
  await short(page, 8)
  await chat(page)
  await talk(page, 'Write Contains.')
  const edit = page.getByRole('button', { name: 'Edit the message' })
  const again = page.getByRole('button', { name: 'Send it again' })
  await edit.click()
  await page.getByLabel('Edit the message').press('Escape')
  await again.waitFor({ state: 'detached' })
  await edit.and(page.locator(':focus')).waitFor()
  // What was typed is not lost by one key.
  await edit.click()
  await page.getByLabel('Edit the message').fill('Write Index.')
  await page.getByLabel('Edit the message').press('Escape')
  assert.equal(await page.getByLabel('Edit the message').inputValue(), 'Write Index.')
  assert.deepEqual(problems, [])
  await context.close()
})

test('nothing is kept', async () => {
  const { context, page, problems, ask } = await playground()
  await short(page, 16)
  const before = (await ask('/app/chats')).count
  await page.getByLabel('Keep chats').uncheck()
  await page.getByText('This is not kept').waitFor()
  await chat(page)
  await talk(page, 'Write Contains.')
  await page.getByRole('button', { name: 'Answer again' }).click()
  await page.getByText('2 / 2').waitFor({ timeout: 60_000 })
  assert.equal((await ask('/app/chats')).count, before)
  await page.getByLabel('Keep chats').check()
  await page.getByRole('button', { name: 'Delete all…' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete all' }).click()
  await page.getByText('No chat yet.').waitFor()
  assert.equal((await ask('/app/chats')).count, 0)
  assert.deepEqual(problems, [])
  await context.close()
})

test('an answer does no harm', async () => {
  const { context, page, problems } = await playground()
  const said = [
    '# Title', '<img src="https://example.com/x.png" onerror="alert(1)">', '<script>alert(2)</script>', '[bad](javascript:alert(3)) and [good](https://example.com/)',
    '![alt](https://example.com/y.png)', '<div class="broken" style="position:fixed">over</div><input value="key"><form action="/x"><button>Go</button></form>',
    'x'.repeat(3000), '| a | b |\n| --- | --- |\n| ' + 'wide '.repeat(80) + '| ' + 'y'.repeat(400) + ' |', '```go\nfunc f() { ' + 'z'.repeat(400) + ' }\n```', '- item\n  ```sh\n  make\n  ```', '- [x] done',
  ].join('\n\n')
  const requested = []
  page.on('request', (r) => requested.push(r.url()))
  await page.route('**/v1/chat/completions', (route) => {
    const chunk = { id: 'x', model: 'pocket', choices: [{ index: 0, delta: { content: said }, finish_reason: 'stop' }] }
    route.fulfill({ contentType: 'text/event-stream', body: `data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n` })
  })
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  await chat(page)
  // The Enter that ends a composition sends nothing.
  await page.getByLabel('Message', { exact: true }).fill('あ')
  await page.getByLabel('Message', { exact: true }).evaluate((box) => box.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', keyCode: 229, bubbles: true })))
  assert.equal(await page.getByLabel('Message', { exact: true }).inputValue(), 'あ')
  await talk(page, 'Be bad.')
  const answer = page.locator('.chat .markdown')
  await answer.getByRole('heading', { name: 'Title' }).waitFor()
  assert.equal(await answer.locator('img, script, form, style, [onerror], [style], .broken').count(), 0)
  assert.deepEqual(await answer.locator('a').evaluateAll((list) => list.map((a) => [a.textContent, a.getAttribute('href'), a.target, a.rel])), [
    ['bad', null, '_blank', 'noopener noreferrer'],
    ['good', 'https://example.com/', '_blank', 'noopener noreferrer'],
  ])
  assert.deepEqual(await answer.locator('input').evaluateAll((list) => list.map((i) => [i.type, i.disabled, i.value])), [['checkbox', true, 'on'], ['checkbox', true, 'on']])
  const [copy, code] = await Promise.all([answer.getByRole('button', { name: 'Copy' }), answer.locator('.coded code')].map((l) => l.first().boundingBox()))
  assert.ok(copy.y + copy.height <= code.y, 'the button covers the code')
  await answer.getByRole('button', { name: 'Copy' }).first().click()
  assert.match(await page.evaluate(() => navigator.clipboard.readText()), /^func f\(\) \{ z+ \}$/)
  await answer.getByRole('button', { name: 'Copy', exact: true }).last().click()
  assert.equal((await page.evaluate(() => navigator.clipboard.readText())).trim(), 'make')
  await page.evaluate(() => (navigator.clipboard.writeText = () => Promise.reject(new Error('no'))))
  await answer.getByRole('button', { name: /Cop/ }).first().click()
  await answer.getByRole('button', { name: 'Not copied' }).waitFor()
  assert.equal(await page.locator('.broken').count(), 0)
  await page.setViewportSize({ width: 800, height: 800 })
  await shot(page, 'markdown')
  assert.deepEqual(requested.filter((u) => u.includes('example.com')), [])
  // As it is taken apart the policy speaks up too.
  await healthy(page, problems.filter((p) => !p.includes('Content Security Policy')))
  await context.close()
})

test('what a model thinks stands folded above its answer', async () => {
  const { context, page, problems } = await playground()
  const sent = []
  await page.route('**/v1/chat/completions', (route) => {
    sent.push(route.request().postDataJSON())
    const deltas = [{ role: 'assistant', content: '' }, { reasoning_content: 'Hm, ', reasoning: 'Hm, ' }, { reasoning_content: 'six.', reasoning: 'six.' }, { content: 'It is 42.' }]
    const chunks = deltas.map((delta) => ({ model: 'thinker', choices: [{ index: 0, delta, finish_reason: null }] }))
    chunks.push({ model: 'thinker', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })
    void route.fulfill({ contentType: 'text/event-stream', body: chunks.map((c) => `data: ${JSON.stringify(c)}\n\n`).join('') + 'data: [DONE]\n\n' })
  })
  await chat(page)
  await talk(page, 'What is six times seven?')
  const thought = page.locator('.chat details')
  await page.locator('.chat').getByText('It is 42.').waitFor()
  assert.equal(await thought.getByText('Hm, six.').isVisible(), false)
  await thought.getByText('What it thought').click()
  await thought.getByText('Hm, six.').waitFor()
  await shot(page, 'thought')
  // It is kept with the answer, and goes back with the chat.
  await page.reload()
  await page.getByRole('link', { name: 'Playground' }).click()
  await page.getByText('What it thought').waitFor()
  await talk(page, 'And eight?')
  assert.deepEqual(sent[1].messages.slice(0, 2), [
    { role: 'user', content: 'What is six times seven?' },
    { role: 'assistant', content: 'It is 42.', reasoning: 'Hm, six.' },
  ])
  await healthy(page, problems)
  await context.close()
})

test('no session', async () => {
  const context = await browser.newContext()
  const page = await context.newPage()
  const { page: other } = await open(browser)
  await page.goto(other.url().split('#')[0])
  await page.getByRole('heading', { name: 'This page needs a link' }).waitFor()
  assert.equal(await page.getByText('Being answered').count(), 0)
  await shot(page, 'locked')
  await context.close()
})

test('a page that is left while it reads leaves the run', async () => {
  const { context, page, problems, ask } = await playground()
  await chat(page)
  // The run has begun, and says nothing yet.
  await page.evaluate(() => {
    const { fetch } = window
    window.fetch = (path, init) => {
      if (path !== '/v1/chat/completions') return fetch(path, init)
      const headers = { 'Content-Type': 'text/event-stream', 'X-Tandem-Run': '4711' }
      return Promise.resolve(new Response(new ReadableStream({ start: (c) => c.enqueue(new TextEncoder().encode(': nothing yet\n\n')) }), { headers }))
    }
  })
  await page.getByLabel('Message', { exact: true }).fill('Is this read?')
  await page.getByLabel('Message', { exact: true }).press('Enter')
  await page.getByText('Reading…').waitFor()
  const id = await until('chat', () => /\d+$/.exec(page.url())?.[0])
  await until('answer', async () => (await ask(`/app/chats/${id}`)).messages.length === 2)
  await page.route('**/v1/chat/completions', () => {}) // it asks again
  await page.reload()
  await until('run', async () => (await ask(`/app/chats/${id}`)).messages[1].run === 4711)
  const other = await context.newPage()
  await other.goto(page.url())
  await other.getByText('No word of the last answer to this was kept').waitFor()
  assert.equal(await other.getByRole('link', { name: 'run 4711' }).getAttribute('href'), '#/runs/4711')
  assert.equal(await other.locator('.chat > li').count(), 1)
  await healthy(other, problems)
  await context.close()
})

test('what comes and goes moves nothing', async () => {
  for (const width of [800, 1280]) {
    const { context, page, problems } = await playground({ viewport: { width, height: 800 } })
    await (await given(page, '/v1/completions', '\treturn 1\n}'))()
    const code = page.getByLabel('Your code')
    const top = async () => (await code.boundingBox()).y
    const fresh = page.getByRole('button', { name: 'New completion' })
    assert.ok(await fresh.isDisabled())
    const before = await top()
    await code.fill('func one() int {\n')
    await page.getByRole('button', { name: 'Complete', exact: true }).click()
    await page.getByRole('button', { name: 'Complete again' }).waitFor()
    assert.ok(await fresh.isEnabled())
    assert.equal(await top(), before, `at ${width}`)
    assert.deepEqual(problems, [])
    await context.close()
  }
})
