// The palette finds chats, runs, models and actions. Every key of the table does its action, and the
// menu of a Mac's window as well. A search finds words in the shown page. A model that is dropped is
// added.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, test } from 'node:test'

import { launch, link, open, sound, violations } from './browser.mjs'
import { serve } from './fixtures.mjs'

let browser
const tandem = new URL(link()).origin
const table = JSON.parse(readFileSync(new URL('../src/parts/shortcuts.json', import.meta.url), 'utf8'))

before(async () => {
  browser = await launch()
})
after(() => browser.close())

// ask calls a control route from the page.
const ask = (page, path, body) =>
  page.evaluate(
    async ([path, body]) => {
      const headers = { Authorization: `Bearer ${sessionStorage.getItem('tandem-session')}`, 'Content-Type': 'application/json' }
      return (await fetch(path, { headers, method: body ? 'POST' : 'GET', body: body && JSON.stringify(body) })).json()
    },
    [path, body],
  )

// chat keeps a chat with an answer.
async function chat(page, question, answer) {
  const { id } = await ask(page, '/app/chats', { kind: 'chat', title: '', system: '', options: null })
  const first = await ask(page, `/app/chats/${id}/messages`, { parent: 0, role: 'user', content: question, model: '', finish: '', run: 0, facts: null })
  await ask(page, `/app/chats/${id}/messages`, { parent: first.id, role: 'assistant', content: answer, model: 'pocket', finish: 'stop', run: 0, facts: null })
  return id
}

// focused waits until an element with an id, a name or a tag has the focus, which comes after what is drawn.
const focused = (page, name) => page.waitForFunction((name) => [document.activeElement?.id, document.activeElement?.getAttribute('aria-label'), document.activeElement?.tagName].includes(name), name)

test('the palette finds a chat by a word that was said in it, and shows the words', async () => {
  const { context, page, problems } = await open(browser)
  const word = `needle${Date.now()}`
  const id = await chat(page, 'How does a loop retry?', `It waits a little longer each time.\n\nThe ${word.toUpperCase()} is the longest wait, and then it gives up.${'\n\nIt waits again.'.repeat(100)}`)
  const palette = page.getByRole('dialog', { name: 'Search', exact: true })
  const rows = palette.getByRole('option')
  await page.keyboard.press('Control+k')
  await palette.waitFor()
  await palette.getByText('Latest chats').waitFor()
  // With nothing typed it shows the latest chats, then what can be done, with keys.
  assert.deepEqual(await palette.locator('.caption').allTextContents(), ['Latest chats', 'Commands'])
  assert.equal(await rows.filter({ hasText: 'New chat' }).last().locator('kbd').count(), 0, 'a tab cannot have this key')
  assert.match(await rows.filter({ hasText: 'Settings…' }).textContent(), /Ctrl\+,$/)
  await sound(page, 'palette-empty', [760, 1280])
  await page.keyboard.type(word)
  await rows.filter({ hasText: 'is the longest wait' }).waitFor()
  assert.equal(await rows.count(), 1)
  assert.equal(await rows.locator('mark').textContent(), word.toUpperCase(), 'the words are shown as they were written')
  await sound(page, 'palette-chat', [760, 1280])
  await page.keyboard.press('Enter')
  await page.getByText('How does a loop retry?').first().waitFor()
  assert.equal(new URL(page.url()).hash, `#/playground/${id}`)
  assert.equal(await palette.count(), 0)
  // The chat is shown at the word, far above its end.
  await page.getByRole('search', { name: 'In the page' }).getByText('1 of 1').waitFor()
  await page.waitForFunction(() => {
    const { top } = [...CSS.highlights.get('here')][0].getBoundingClientRect()
    return top > 0 && top < innerHeight
  })
  await page.keyboard.press('Escape')
  await page.locator('.find-bar').waitFor({ state: 'detached' })
  // Two Enters before the rows are there choose once.
  await page.evaluate(() => (location.hash = '#/now'))
  await page.getByRole('heading', { name: 'Now', exact: true }).waitFor()
  await page.keyboard.press('Control+k')
  await page.keyboard.insertText(word)
  await page.keyboard.press('Enter')
  await page.keyboard.press('Enter')
  await page.waitForFunction((to) => location.hash === to, `#/playground/${id}`)
  await palette.waitFor({ state: 'detached' })
  assert.deepEqual(problems, [])
  await context.close()
})

test('the palette finds runs and models, and leads with arrow keys', async () => {
  const { context, page, problems } = await open(browser)
  const client = `palette${Date.now()}`
  const answer = await fetch(`${tandem}/v1/completions`, { method: 'POST', headers: { 'Content-Type': 'application/json', 'User-Agent': `${client}/1.0` }, body: JSON.stringify({ model: 'tandem', prompt: 'func A(', max_tokens: 3 }) })
  const { timings } = await answer.json()
  const palette = page.getByRole('dialog', { name: 'Search', exact: true })
  const field = palette.getByRole('combobox')
  const rows = palette.getByRole('option')
  const chosen = palette.locator('[aria-selected="true"]')
  await page.getByRole('button', { name: 'Search…' }).click()
  await field.fill(client)
  const run = rows.filter({ hasText: `Run ${timings.run_id}, ${client}` })
  await run.waitFor()
  await run.getByRole('img').waitFor()
  await run.click()
  await page.getByRole('heading', { name: `Run ${timings.run_id}` }).waitFor()
  // The palette does not wait for the load of a model. A failure stands on the page.
  const loads = []
  let load
  const loaded = new Promise((done) => (load = done))
  await page.route('**/app/load', async (route) => {
    loads.push(route.request().postDataJSON())
    await loaded
    return loads.length === 1 ? route.fulfill({ status: 507, json: { error: { message: 'There is no room for it.', code: 'no_room' } } }) : route.fulfill({ json: {} })
  })
  await page.keyboard.press('Control+k')
  await field.fill('pocket')
  await rows.filter({ hasText: 'pocket' }).first().waitFor()
  const model = rows.filter({ hasText: 'current' })
  for (let i = 0; i < 20 && !/current/.test(await chosen.textContent()); i++) await page.keyboard.press('ArrowDown')
  assert.equal(await field.getAttribute('aria-activedescendant'), await model.getAttribute('id'))
  await page.keyboard.press('Enter')
  await palette.waitFor({ state: 'detached' })
  load()
  const refused = page.getByRole('alert').filter({ hasText: 'There is no room for it.' })
  await refused.getByRole('button', { name: 'Close' }).click()
  await refused.waitFor({ state: 'detached' })
  assert.deepEqual(loads, [{ model: 'pocket' }])
  // Escape closes it, and the focus goes back.
  const back = page.getByRole('link', { name: 'All runs' })
  await back.focus()
  await page.keyboard.press('Control+k')
  await field.fill('no such thing anywhere')
  await palette.getByText('No results.').waitFor()
  await page.keyboard.press('Escape')
  await palette.waitFor({ state: 'detached' })
  await focused(page, 'All runs')
  assert.deepEqual(problems.filter((p) => !p.includes('507')), [])
  await context.close()
})

// does says for each action what a person sees then. Each check begins on the page of a chat with an
// answer.
const heading = (name) => (page) => page.getByRole('heading', { name, exact: true }).waitFor()
const does = {
  palette: async (page) => {
    await page.getByRole('dialog', { name: 'Search', exact: true }).waitFor()
    await page.keyboard.press('Escape')
  },
  chat: async (page) => {
    await page.getByRole('heading', { name: 'New chat' }).waitFor()
  },
  completion: async (page) => {
    await page.getByRole('heading', { name: 'New completion' }).waitFor()
    await focused(page, 'code')
  },
  again: async (page) => {
    await page.waitForFunction(() => window.asked > 0)
    await page.locator('.chat [data-action="edit"]:enabled').first().waitFor() // the answer is kept, and the next key counts
  },
  edit: async (page) => {
    await page.getByRole('textbox', { name: /^Edit the message/ }).waitFor()
    await page.getByRole('button', { name: 'Cancel' }).click()
  },
  curl: (page) => page.getByText('Copied as curl').first().waitFor(),
  settings: (page) => page.waitForFunction(() => location.hash === '#/settings'),
  find: async (page) => {
    await page.getByRole('searchbox', { name: 'Find in the page' }).waitFor()
    await page.keyboard.press('Escape')
  },
  playground: (page) => page.waitForFunction(() => location.hash.startsWith('#/playground')),
  now: heading('Now'),
  runs: heading('Runs'),
  checkpoints: (page) => page.waitForFunction(() => location.hash === '#/checkpoints'),
  models: heading('Models'),
  connect: (page) => page.waitForFunction(() => location.hash === '#/connect'),
  composer: (page) => focused(page, 'input'),
  model: async (page) => {
    await page.getByRole('group', { name: 'Models' }).waitFor()
    await page.keyboard.press('Escape')
  },
  panel: (page) => page.locator('aside.panel').waitFor({ state: 'detached' }), // it is open at first
  sidebar: async (page) => {
    await page.getByRole('button', { name: 'Show the sidebar' }).waitFor()
    assert.equal(await page.locator('.sidebar').count(), 0)
    await page.getByRole('button', { name: 'Show the sidebar' }).click()
    await page.locator('.sidebar').waitFor()
  },
  help: async (page) => {
    const sheet = page.getByRole('dialog', { name: 'Help' })
    await sheet.waitFor()
    await page.keyboard.press('Escape')
    await sheet.waitFor({ state: 'detached' }) // and the next key counts
  },
}

// stroke is the chord of a row as Playwright writes it.
const stroke = (s) => [...s.with.split('+').filter((m) => m).map((m) => ({ cmd: 'Control', shift: 'Shift', alt: 'Alt' })[m]), s.key === '?' ? 'Shift+?' : s.key === 'up' ? 'ArrowUp' : s.key].join('+')

// each opens the chat again for each row, does its action by press, and looks.
async function each(page, id, list, press) {
  await page.route('**/v1/chat/completions', (route) => {
    void page.evaluate(() => (window.asked = (window.asked ?? 0) + 1))
    const chunk = { model: 'pocket', choices: [{ delta: { content: 'Yes.' }, finish_reason: 'stop' }] }
    return route.fulfill({ contentType: 'text/event-stream', body: `data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n` })
  })
  for (const s of list) {
    await page.evaluate((id) => (location.hash = `#/playground/${id}`), id)
    await page.locator('.chat').getByText('What is it?').first().waitFor()
    await page.locator('#input').focus()
    await press(s)
    await does[s.id](page).catch((e) => {
      throw new Error(`${s.id}: ${e}`)
    })
  }
}

test('every key does its action in a tab, but those that belong to the browser', async () => {
  const { context, page, problems } = await open(browser)
  await context.grantPermissions(['clipboard-write'])
  const id = await chat(page, 'What is it?', 'Nothing much.')
  const own = table.filter((s) => !s.browser && s.id in does)
  assert.ok(own.length >= 14, `${own.length} keys`)
  await each(page, id, own, (s) => page.keyboard.press(stroke(s)))
  // Keys of the browser are left to it.
  await page.evaluate((id) => (location.hash = `#/playground/${id}`), id)
  const kept = await page.evaluate(() => ['n', 'r'].map((key) => document.body.dispatchEvent(new KeyboardEvent('keydown', { key, ctrlKey: true, bubbles: true, cancelable: true }))))
  assert.deepEqual(kept, [true, true])
  // Under a dialog the page stays as it is.
  await page.keyboard.press('Control+Shift+?')
  await page.keyboard.press('Control+2')
  await page.getByRole('dialog', { name: 'Help' }).waitFor()
  assert.equal(await page.getByRole('heading', { name: 'Now', exact: true }).count(), 0)
  assert.deepEqual(problems, [])
  await context.close()
})

// inWindow opens the page as Tandem's own window does: without a session, and with what Wails gives.
async function inWindow(t, platform) {
  const { context: first, page: tab } = await open(browser)
  const session = await tab.evaluate(() => sessionStorage.getItem('tandem-session'))
  const id = await chat(tab, 'What is it?', 'Nothing much.')
  await first.close()
  const server = await serve(tandem, undefined)
  const context = await browser.newContext({ locale: 'en-US', viewport: { width: 1280, height: 800 }, extraHTTPHeaders: { Authorization: `Bearer ${session}` } })
  t.after(async () => {
    await context.close()
    server.close()
  })
  await context.addInitScript((platform) => {
    Object.defineProperty(navigator, 'platform', { get: () => platform })
    window.heard = {}
    window.runtime = { EventsOn: (name, hear) => ((window.heard[name] = hear), () => {}), ClipboardSetText: async () => true }
  }, platform)
  const page = await context.newPage()
  const problems = []
  page.on('pageerror', (e) => problems.push(String(e)))
  await page.goto(server.url.replace('127.0.0.1', 'wails.localhost'))
  await page.locator('.foot').waitFor()
  return { page, id, problems }
}

test('in the window all keys are Tandem’s', async (t) => {
  const { page, id, problems } = await inWindow(t, 'Linux x86_64')
  await each(page, id, table.filter((s) => s.id in does), (s) => page.keyboard.press(stroke(s)))
  assert.deepEqual(problems, [])
})

test('each entry of a Mac’s menu does its action, and the page leaves the keys to it', async (t) => {
  const { page, id, problems } = await inWindow(t, 'MacIntel')
  await each(page, id, table.filter((s) => s.id in does), (s) => page.evaluate((id) => window.heard.action(id), s.id))
  await page.keyboard.press('Meta+2')
  await page.waitForTimeout(200)
  assert.equal(await page.getByRole('heading', { name: 'Now', exact: true }).count(), 0)
  await page.getByRole('button', { name: 'Search…' }).getByText('⌘K').waitFor()
  // The bands at the top move the window, and what is on them does not.
  const drags = await page.evaluate(() => ['.brand', '.toolbar', '.toolbar button', '.brand a'].map((s) => getComputedStyle(document.querySelector(s)).getPropertyValue('--wails-draggable')))
  assert.deepEqual(drags, ['drag', 'drag', 'no-drag', 'no-drag'])
  assert.deepEqual(problems, [])
})

test('a list that a key opens is gone through by arrow keys', async () => {
  const { context, page, problems } = await open(browser)
  await page.evaluate(() => (location.hash = '#/playground'))
  const list = page.getByRole('group', { name: 'Models' })
  const at = () => page.evaluate(() => document.activeElement.textContent)
  await page.keyboard.press('Control+Shift+m')
  await list.waitFor()
  await page.waitForFunction(() => document.activeElement.matches('.popover *'))
  assert.match(await at(), /^Demo model/, 'the chosen one comes first')
  await page.keyboard.press('ArrowUp')
  assert.match(await at(), /^Get another model/)
  await page.keyboard.press('ArrowDown')
  assert.match(await at(), /^Demo model/)
  await page.keyboard.press('Enter')
  await list.waitFor({ state: 'detached' })
  assert.deepEqual(problems, [])
  await context.close()
})

test('the palette copies the shown chat, also by other words for that', async () => {
  const { context, page, problems } = await open(browser)
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  const id = await chat(page, 'Is it so?', 'It is.')
  await page.evaluate((id) => (location.hash = `#/playground/${id}`), id)
  await page.locator('.said').getByText('Is it so?').waitFor()
  await page.keyboard.press('Control+k')
  await page.keyboard.type('share')
  await page.getByRole('option', { name: 'Copy the chat as Markdown' }).click() // another chat may have the word too, and stands above it
  await page.getByText('Copied').first().waitFor()
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), '# Is it so?\n\n**You**\n\nIs it so?\n\n**pocket**\n\nIt is.\n')
  // A page is found by what it is about.
  await page.keyboard.press('Control+k')
  await page.keyboard.type('slow')
  await page.getByRole('option', { name: 'Now' }).waitFor()
  assert.deepEqual(problems, [])
  await context.close()
})

test('a model that is dropped on the window is added', async (t) => {
  const { page, problems } = await inWindow(t, 'MacIntel')
  const added = []
  await page.route('**/app/models', (route) => {
    if (route.request().method() !== 'POST') return route.fallback()
    const { path } = route.request().postDataJSON()
    added.push(path)
    return path.includes('bad') ? route.fulfill({ status: 422, json: { error: { message: 'The folder holds no model.', code: 'model_invalid' } } }) : route.fulfill({ json: { id: 'coder-8b' } })
  })
  const loads = []
  await page.route('**/app/load', (route) => {
    loads.push(route.request().postDataJSON().model)
    return route.fulfill({ json: {} })
  })
  await page.evaluate(() => window.heard['models-dropped'](['/models/coder-8b']))
  await page.getByText('Added coder-8b.').waitFor()
  await page.getByRole('button', { name: 'Choose it' }).click()
  await page.getByText('Added coder-8b.').waitFor({ state: 'detached' })
  await page.evaluate(() => window.heard['models-dropped'](['/models/bad']))
  await page.getByRole('alert').getByText('The folder holds no model.').waitFor()
  assert.deepEqual([added, loads], [['/models/coder-8b', '/models/bad'], ['coder-8b']])
  // Of two, each has its outcome.
  await page.evaluate(() => window.heard['models-dropped'](['/models/bad', '/models/coder-8b']))
  await page.getByText('Added coder-8b.').waitFor()
  assert.ok(await page.getByRole('alert').getByText('The folder holds no model.').isVisible())
  assert.deepEqual(problems, [])
})

test('a browser does not say where a dropped model lies, so the page asks', async () => {
  const { context, page, problems } = await open(browser)
  const added = []
  await page.route('**/app/models', (route) => {
    if (route.request().method() !== 'POST') return route.fallback()
    added.push(route.request().postDataJSON())
    return route.fulfill({ json: { id: 'small' } })
  })
  const drop = (name) =>
    page.evaluate((name) => {
      const dataTransfer = new DataTransfer()
      dataTransfer.items.add(new File(['GGUF'], name))
      document.body.dispatchEvent(new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true }))
    }, name)
  await page.getByRole('navigation').getByRole('link', { name: 'Now' }).click()
  await page.getByRole('heading', { name: 'Now', exact: true }).waitFor()
  await drop('notes.txt')
  await page.getByRole('alert').getByText('Text files go into a chat').waitFor()
  // A completion takes none either, and a chat does.
  await page.getByRole('button', { name: 'Close', exact: true }).click()
  await page.getByRole('navigation').getByRole('link', { name: 'Playground' }).click()
  await page.getByRole('button', { name: 'Complete', exact: true }).and(page.locator('[aria-pressed]')).click()
  await page.getByLabel('Your code').waitFor()
  await drop('notes.txt')
  await page.getByRole('alert').getByText('Text files go into a chat').waitFor()
  await page.getByRole('button', { name: 'Chat', exact: true }).click()
  await page.getByRole('button', { name: 'Chat with the demo model anyway' }).click()
  await drop('notes.txt')
  await page.locator('.composer').getByText('notes.txt').waitFor()
  assert.equal(await page.getByRole('alert').count(), 0)
  await drop('small.gguf')
  const path = page.getByLabel('Browsers don’t tell where “small.gguf” is. Enter its path:')
  await path.fill('/models/small.gguf')
  await sound(page, 'dropped', [760, 1280])
  await page.getByRole('button', { name: 'Add the model' }).click()
  await page.getByText('Added small.').waitFor()
  assert.deepEqual(added, [{ path: '/models/small.gguf' }])
  assert.deepEqual(problems, [])
  await context.close()
})

test('Ctrl+F goes to the page’s own search, or finds words in the page', async () => {
  const { context, page, problems } = await open(browser)
  const id = await chat(page, 'Which cats are there?', 'A **cat**fish, a bob*cat*, and a Cat.')
  await page.evaluate((id) => (location.hash = `#/playground/${id}`), id)
  await page.locator('.chat').getByText('Which cats').first().waitFor()
  await page.keyboard.press('Control+f')
  const field = page.getByRole('searchbox', { name: 'Find in the page' })
  await field.fill('CAT')
  const says = page.getByRole('search', { name: 'In the page' }).getByRole('status')
  await says.getByText('1 of 4').waitFor()
  await page.keyboard.press('Enter')
  await says.getByText('2 of 4').waitFor()
  await page.keyboard.press('Shift+Enter')
  await page.getByRole('button', { name: 'Previous match' }).click()
  await says.getByText('4 of 4').waitFor()
  assert.deepEqual(await page.evaluate(() => [CSS.highlights.get('found').size, CSS.highlights.get('here').size]), [4, 1])
  assert.deepEqual(await violations(page), [])
  await field.fill('catfish') // one word is bold in part
  await says.getByText('1 of 1').waitFor()
  await field.fill('dog')
  await says.getByText('not found').waitFor()
  // The bar and its text stay on the next page, and the page has the focus.
  await page.getByRole('navigation').getByRole('link', { name: 'Now' }).click()
  await page.getByRole('heading', { name: 'Now', exact: true }).waitFor()
  assert.equal(await field.inputValue(), 'dog')
  await focused(page, 'A')
  await field.fill('Memory')
  await says.getByText(/^1 of/).waitFor()
  await page.keyboard.press('Control+1')
  await says.getByText('not found').waitFor()
  await field.press('Escape')
  await field.waitFor({ state: 'detached' })
  assert.equal(await page.evaluate(() => CSS.highlights.size), 0)
  await page.keyboard.press('Control+3')
  await page.getByRole('heading', { name: 'Runs', exact: true }).waitFor()
  await page.keyboard.press('Control+f')
  await focused(page, 'Search')
  assert.deepEqual(problems, [])
  await context.close()
})
