// Opens the Playground for its tests, and holds the steps that they share.

import assert from 'node:assert/strict'

import { open, overflow, violations } from './browser.mjs'

// playground opens the page. ask calls the control routes.
export async function playground(browser, options) {
  const all = await open(browser, options)
  const { page } = all
  await page.getByRole('navigation').getByRole('link', { name: 'Playground' }).click()
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

// chat opens an empty chat, with the demo model.
export async function chat(page) {
  await page.getByRole('button', { name: 'Chat', exact: true }).click()
  await page.getByRole('button', { name: 'Chat with the demo model anyway' }).click()
}

// options opens the panel of options, unless it is open.
export async function options(page) {
  const button = page.locator('.toolbar').getByRole('button', { name: 'Options' })
  if ((await button.getAttribute('aria-pressed')) !== 'true') await button.click()
}

// act chooses an action of a kept chat, by its title.
export async function act(page, title, name) {
  await page.getByRole('button', { name: `Actions for ${title}` }).first().click()
  await page.getByRole('button', { name, exact: true }).click()
}

// settings shows the settings of the history, and back comes back from them.
export async function settings(page) {
  await page.getByRole('link', { name: 'Settings', exact: true }).click()
  await page.getByRole('link', { name: 'History', exact: true }).click()
}
export const back = (page) => page.getByRole('navigation').getByRole('link', { name: 'Playground' }).click()

// figures is the line of figures below an answer that has ended.
export const figures = (page) => page.locator('.timings[title*=" tokens/s"]')

// stopped is the word below an answer that was stopped.
export const stopped = (page) => page.locator('.timings').getByText('stopped', { exact: true })

// talk sends a message of a chat and waits for the end of its short answer.
export async function talk(page, text) {
  await page.getByLabel('Message', { exact: true }).fill(text)
  await page.getByLabel('Message', { exact: true }).press('Enter')
  await page.getByRole('button', { name: 'Send' }).waitFor({ timeout: 60_000 })
}

// asking adds fields to the page's requests in a chat.
export async function asking(page, more) {
  await page.route('**/v1/chat/completions', (route) => {
    route.continue({ postData: JSON.stringify({ ...route.request().postDataJSON(), ...more }) })
  })
}

// short limits answers, and makes them the same each time.
export const short = (page, tokens) => asking(page, { max_tokens: tokens, temperature: 0 })

// long begins a chat with a long answer and waits for its first words.
export async function long(page) {
  await asking(page, { ignore_eos: true }) // otherwise the model may end the answer before the stop
  await chat(page)
  await options(page)
  await page.getByLabel('Max tokens').fill('30000')
  await page.getByLabel('Message', { exact: true }).fill('Write a Go function named Reverse, and a long explanation.')
  await page.getByLabel('Message', { exact: true }).press('Control+Enter')
  await page.locator('.chat .markdown').filter({ hasText: /\w/ }).waitFor({ timeout: 60_000 })
}

// until asks again and again, for a minute at most, and returns the first answer that is true.
export async function until(what, ask) {
  const end = Date.now() + 60_000
  for (;;) {
    const answer = await ask()
    if (answer) return answer
    assert.ok(Date.now() < end, `no ${what} within a minute`)
    await new Promise((next) => setTimeout(next, 100))
  }
}

// focused returns the name of the element with the focus.
export const focused = (page) => page.evaluate(() => document.activeElement?.textContent?.trim() || document.activeElement?.id)

export async function healthy(page, problems) {
  assert.deepEqual(await violations(page), [])
  const over = await overflow(page)
  assert.ok(over <= 0, `the page is ${over} px too wide`)
  assert.deepEqual(problems, [])
}

// given answers requests of a kind with a text, after go is called.
export async function given(page, path, text) {
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
