// Answers can be stopped, left and opened again. A crash loses none.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'

import { launch, shot } from './browser.mjs'
import { asking, back, chat, healthy, long, options, playground, short, stopped, talk, until } from './playground.mjs'

let browser

before(async () => {
  browser = await launch()
})
after(() => browser.close())

test('an answer can be stopped, and continues after a reload', async () => {
  const { context, page, problems, ask } = await playground(browser)
  const lastRun = () =>
    until('end of the run', async () => {
      const [run] = (await ask('/app/runs?limit=1')).runs
      return run.ended_at && run
    })
  await long(page)
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'Retry the answer' }).waitFor({ timeout: 20_000 })
  await stopped(page).waitFor()
  assert.equal((await lastRun()).finish_reason, 'cancel')

  // The model answers again. The page is reloaded twice while the answer grows. Each time the
  // answer continues by itself from its last token. It is one message, whichever page saved it.
  await page.getByRole('button', { name: 'Retry the answer' }).click()
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
  await stopped(page).waitFor({ timeout: 20_000 })
  await page.getByRole('group', { name: 'Answers to this message' }).getByText('2 of 2').waitFor()
  assert.equal((await lastRun()).finish_reason, 'cancel')
  const [, last, ...more] = await answers()
  assert.deepEqual(more, [])
  assert.equal(last.finish, 'stopped')
  assert.ok(last.content.startsWith(kept.content))

  // A stopped answer stays stopped after a reload.
  const asked = []
  page.on('request', (r) => r.url().includes('/resume') && asked.push(r.url()))
  await page.reload()
  await stopped(page).waitFor()
  assert.equal(await page.getByRole('button', { name: 'Continue' }).count(), 0)
  assert.deepEqual(asked, [])
  // The list of runs uses the same word.
  await page.goto(`${page.url().split('#')[0]}#/runs/${runs[0]}`)
  await page.getByText('The client disconnected before the answer was finished.').waitFor()
  await page.goto(`${page.url().split('#')[0]}#/runs`)
  await page.getByRole('row').filter({ has: page.locator(`a[href="#/runs/${runs[0]}"]`) }).getByText('interrupted').waitFor()
  assert.deepEqual(problems, [])
  await context.close()
})

test('an answer in one tab shows in another', async () => {
  const { context, page, problems } = await playground(browser)
  await asking(page, { ignore_eos: true, max_tokens: 30_000 })
  // The other tab reads stored text late, and the number of the run too.
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
  await other.getByText('still being written in another tab').waitFor({ timeout: 60_000 })
  const some = (await other.locator('.chat .markdown').innerText()).length
  await until('more of it', async () => (await other.locator('.chat .markdown').innerText()).length > some)
  assert.equal(await other.getByRole('button', { name: 'Continue' }).count(), 0)
  await shot(other, 'another-tab')
  await page.bringToFront()
  await page.keyboard.press('Escape')
  await stopped(page).waitFor({ timeout: 20_000 })
  await stopped(other).waitFor({ timeout: 20_000 })
  assert.equal(await other.getByRole('button', { name: 'Continue' }).count(), 0)
  assert.deepEqual(problems, [])
  await context.close()
})

test('a page that was left before the first word asks again', async () => {
  const { context, page, problems, ask } = await playground(browser)
  await short(page, 4)
  await chat(page)
  let held = page.waitForRequest('**/v1/chat/completions')
  const hold = () => {}
  await page.route('**/v1/chat/completions', hold)
  await page.getByLabel('Message', { exact: true }).fill('Nothing comes of this.')
  await page.getByLabel('Message', { exact: true }).press('Enter')
  await held
  await page.getByText('Waiting…').waitFor()
  held = page.waitForRequest('**/v1/chat/completions')
  await page.reload()
  // The page sends the same request again, because no text had come.
  assert.deepEqual((await held).postDataJSON().messages, [{ role: 'user', content: 'Nothing comes of this.' }])
  await page.getByText('Waiting…').waitFor()
  assert.equal(await page.locator('.chat > li').count(), 2)
  const id = page.url().split('/').at(-1)
  assert.deepEqual((await ask(`/app/chats/${id}`)).messages.map((m) => m.role), ['user', 'assistant', 'assistant'])

  // Another tab that is opened later does not ask by itself.
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
  await other.getByRole('button', { name: 'Retry the answer' }).waitFor({ timeout: 60_000 })
  assert.equal(asked, 1)
  assert.deepEqual(problems, [])
  await context.close()
})

test('an answer that the end of its page broke is asked for again', async () => {
  const { context, page, problems, ask } = await playground(browser)
  // Some browsers end the requests of a page before the page hears that it goes away.
  await page.addInitScript(() => {
    const { fetch } = window
    window.asked = 0
    window.fetch = (path, init) => {
      if (path !== '/v1/chat/completions') return fetch(path, init)
      window.asked++
      return new Promise((_, broke) => addEventListener('beforeunload', () => broke(new TypeError('gone'))))
    }
  })
  await page.reload()
  await page.getByText('Demo model: completes code only.').waitFor()
  await chat(page)
  await page.getByLabel('Message', { exact: true }).fill('Is this broken?')
  await page.getByLabel('Message', { exact: true }).press('Enter')
  await page.waitForFunction(() => window.asked === 1)
  const id = page.url().split('/').at(-1)
  // The page is left a second time before it has asked again.
  let cancels = 0
  await page.route('**/app/runs/*/cancel', (route) => (++cancels > 1 ? route.continue() : undefined))
  const held = page.waitForRequest('**/app/runs/*/cancel')
  await page.reload()
  await held
  assert.equal(await page.evaluate(() => window.asked), 0)
  await page.reload()
  await page.waitForFunction(() => window.asked === 1)
  await page.getByText('Waiting…').waitFor()
  assert.deepEqual((await ask(`/app/chats/${id}`)).messages.map((m) => m.role), ['user', 'assistant', 'assistant'])
  assert.deepEqual(problems.filter((p) => !p.includes('Failed to load')), [])
  await context.close()
})

test('a key stops the answer from another page', async () => {
  const { context, page, problems } = await playground(browser)
  await long(page)
  await page.keyboard.press('Control+2')
  await page.getByRole('heading', { name: 'Now', exact: true }).waitFor()
  await page.keyboard.press('Escape')
  await page.keyboard.press('Control+1')
  await stopped(page).waitFor({ timeout: 20_000 })
  // The palette stops it as well.
  await page.getByRole('button', { name: 'Retry the answer' }).click()
  await page.getByText(/\d tokens\/s/).waitFor({ timeout: 60_000 })
  await page.keyboard.press('Control+3')
  await page.getByRole('heading', { name: 'Runs', exact: true }).waitFor()
  await page.keyboard.press('Control+k')
  await page.getByRole('dialog', { name: 'Search', exact: true }).getByRole('combobox').fill('stop')
  await page.getByRole('option', { name: 'Stop the answer' }).click()
  await page.keyboard.press('Control+1')
  await page.getByText('2 of 2').waitFor({ timeout: 20_000 })
  await stopped(page).waitFor()
  assert.deepEqual(problems, [])
  await context.close()
})

test('a crashed page loses at most a moment of an answer', async () => {
  const { context, page } = await playground(browser)
  const other = await playground(browser)
  await asking(page, { ignore_eos: true, max_tokens: 30_000 })
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
  // The tint does not change the text.
  await options(other.page)
  await other.page.getByLabel('Highlight drafted words').check()
  const { messages } = await other.ask(`/app/chats/${kept.chat}`)
  assert.equal(await other.page.locator('.chat .answer').textContent(), messages.at(-1).content)
  assert.ok(messages.at(-1).content.startsWith(kept.content))
  await other.page.getByRole('button', { name: 'Retry the answer' }).waitFor()
  await shot(other.page, 'interrupted')
  // The answer continues from its last token after a person's click.
  await other.page.getByRole('button', { name: 'Continue' }).click()
  const more = await until('more of it', async () => {
    const m = (await other.ask(`/app/chats/${kept.chat}`)).messages.at(-1)
    return m.content.length > messages.at(-1).content.length && m
  })
  assert.ok(more.content.startsWith(messages.at(-1).content))
  assert.equal(more.id, kept.id)
  await other.page.keyboard.press('Escape')
  await stopped(other.page).waitFor({ timeout: 20_000 })
  assert.equal(await other.page.getByRole('button', { name: 'Continue' }).count(), 0)
  assert.deepEqual(other.problems, [])
  await context.close()
  await other.context.close()
})

test('text that came before Tandem stopped is stored after its return', async () => {
  const { context, page, ask } = await playground(browser)
  // After away.abort() every answer breaks off, and no further request is answered.
  await page.addInitScript(() => {
    const { fetch } = window
    window.away = new AbortController()
    window.fetch = (path, init = {}) =>
      window.away.signal.aborted ? Promise.reject(new TypeError('away')) : fetch(path, { ...init, signal: AbortSignal.any([window.away.signal, init.signal].filter(Boolean)) })
  })
  await asking(page, { ignore_eos: true, max_tokens: 30_000 })
  await page.reload()
  await chat(page)
  await options(page)
  await page.getByLabel('Highlight drafted words').check()
  await page.getByLabel('Message', { exact: true }).fill('Say this before you go.')
  await page.getByLabel('Message', { exact: true }).press('Enter')
  const answer = page.locator('.chat .answer')
  await until('answer', async () => (await answer.count()) > 0 && (await answer.textContent()).length > 40)
  await page.evaluate(() => window.away.abort())
  const unkept = page.getByRole('alert').getByText('This couldn’t be kept: Tandem does not answer.')
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

test('a return to a growing answer shows its end', async () => {
  const { context, page, problems } = await playground(browser, { viewport: { width: 1000, height: 500 } })
  // The lines are short, because a long line grows sideways. Without a drafter the answer lasts for
  // minutes; with one it ends within 30 seconds, before a busy browser comes back to it.
  await asking(page, { ignore_eos: true, max_tokens: 30_000, temperature: 0, speculation: { drafter: 'none' } })
  await chat(page)
  await page.getByLabel('Message', { exact: true }).fill('Write a Go function named Reverse, and a long explanation.')
  await page.getByLabel('Message', { exact: true }).press('Enter')
  const down = () => page.evaluate(() => document.getElementById('pane').scrollTop)
  await until('long answer', async () => (await down()) > 400)
  await page.getByRole('link', { name: /^Now/ }).click()
  await page.locator('.job').waitFor()
  await back(page)
  const below = () => page.evaluate(() => {
    const { scrollHeight, scrollTop, clientHeight } = document.getElementById('pane')
    return scrollHeight - scrollTop - clientHeight
  })
  await until('end in sight', async () => (await below()) < 60)
  // A page that was scrolled up stays there, also after a return to it.
  await page.mouse.move(600, 200)
  await page.mouse.wheel(0, -300)
  await until('place further up', async () => (await below()) > 200)
  const up = await until('page at rest', async () => {
    const at = await down()
    await page.waitForTimeout(300) // a turn of the wheel takes time
    return at === (await down()) && at
  })
  await page.getByRole('link', { name: /^Now/ }).click()
  await page.locator('.job').waitFor()
  await page.goBack()
  await until('place that was left', async () => (await down()) === up)
  await page.getByRole('button', { name: 'Stop' }).waitFor()
  assert.equal(await down(), up)
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'Send' }).waitFor()
  assert.deepEqual(problems, [])
  await context.close()
})

test('an answer cannot run code or load files', async () => {
  const { context, page, problems } = await playground(browser)
  const said = [
    '# Title', '<img src="https://example.com/x.png" onerror="alert(1)">', '<script>alert(2)</script>', '[bad](javascript:alert(3)) and [good](https://example.com/)',
    '![alt](https://example.com/y.png)', '<div class="broken" style="position:fixed">over</div><input value="key"><form action="/x"><button>Go</button></form>',
    '<svg><a href="javascript:alert(4)">drawn</a><style>*{color:red}</style></svg><math><mtext><img src="x" onerror="alert(5)"></mtext></math>', 'x'.repeat(3000), '| a | b |\n| --- | --- |\n| ' + 'wide '.repeat(80) + '| ' + 'y'.repeat(400) + ' |', '```go\nfunc f() { ' + 'z'.repeat(400) + ' }\n```', '- item\n  ```sh\n  make\n  ```', '- [x] done',
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
  assert.equal(await answer.locator('img, script, form, style, svg, math, mtext, [onerror], [style], .broken').count(), 0)
  assert.deepEqual(await answer.locator('a').evaluateAll((list) => list.map((a) => [a.textContent, a.getAttribute('href'), a.target, a.rel])), [
    ['good', 'https://example.com/', '_blank', 'noopener noreferrer'],
    ['alt', 'https://example.com/y.png', '_blank', 'noopener noreferrer'],
    ['drawn', null, '_blank', 'noopener noreferrer'],
  ])
  assert.deepEqual(await answer.locator('input').evaluateAll((list) => list.map((i) => [i.type, i.disabled, i.value])), [['checkbox', true, 'on']])
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
  // The page's policy also reports a violation while the page closes.
  await healthy(page, problems.filter((p) => !p.includes('Content Security Policy')))
  await context.close()
})

test('thoughts stand folded above their answer', async () => {
  const { context, page, problems } = await playground(browser)
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
  await thought.getByText('Thoughts').click()
  await thought.getByText('Hm, six.').waitFor()
  await shot(page, 'thought')
  // The thought is stored with the answer, and the next request of the chat has it.
  await page.reload()
  await back(page)
  await page.getByText('Thoughts').waitFor()
  await talk(page, 'And eight?')
  assert.deepEqual(sent[1].messages.slice(0, 2), [
    { role: 'user', content: 'What is six times seven?' },
    { role: 'assistant', content: 'It is 42.', reasoning: 'Hm, six.' },
  ])
  await healthy(page, problems)
  await context.close()
})

test('a page that is left while the model reads the prompt leaves the run', async () => {
  const { context, page, problems, ask } = await playground(browser)
  await chat(page)
  // The run has begun and has sent nothing yet.
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
  await page.route('**/v1/chat/completions', () => {}) // the page sends the request again
  await page.reload()
  await until('run', async () => (await ask(`/app/chats/${id}`)).messages[1].run === 4711)
  const other = await context.newPage()
  await other.goto(page.url())
  await other.getByText('The last answer to this was left before its first word').waitFor()
  assert.equal(await other.getByRole('link', { name: 'run 4711' }).getAttribute('href'), '#/runs/4711')
  assert.equal(await other.locator('.chat > li').count(), 1)
  await healthy(other, problems)
  await context.close()
})
