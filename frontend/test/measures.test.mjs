// What a person sees without acting: how much is in view, what progress is told, which keys work. Each
// figure stands beside its target.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'

import { ask, launch, open } from './browser.mjs'
import { atLeast, atMost, person } from './person.mjs'
import { until } from './playground.mjs'
import { scene, visit } from './scene.mjs'
import { model, serve } from './server.mjs'

const table = JSON.parse(readFileSync(new URL('../src/parts/shortcuts.json', import.meta.url), 'utf8')).filter((s) => s.key) // others are rows of the menu alone
let browser, tandem, still

// One model is chosen, and another program has a second one.
before(async () => {
  browser = await launch()
  still = await scene()
  tandem = await serve({ HF_HUB_OFFLINE: '1' })
  const at = (name) => join(tandem.dir, '.lmstudio', 'models', 'maker', name)
  for (const name of ['mine', 'found']) model(at(name))
  const { context, page } = await open(browser, { link: tandem.link })
  await ask(page, '/app/models', { path: at('mine'), id: 'maker/mine' })
  await ask(page, '/app/load', { model: 'maker/mine' })
  await until('chosen model', async () => (await ask(page, '/app/state')).loaded?.id === 'maker/mine')
  await context.close()
})
after(async () => {
  await browser.close()
  await tandem.stop()
  still.close()
})

// keep keeps a chat of some turns, and returns its id.
const keep = async (page, turns) => {
  const { id } = await ask(page, '/app/chats', { kind: 'chat', title: '', system: '', options: null })
  let parent = 0
  for (let n = 1; n <= turns; n++) {
    for (const role of ['user', 'assistant']) {
      const content = role === 'user' ? `Question ${n} of ${turns}?` : `Answer ${n} of ${turns}. ${'It goes on for some lines. '.repeat(20)}\n\n\`\`\`go\n${'x := 1 // count\n'.repeat(10)}\`\`\`\n\nThat is all.`
      parent = (await ask(page, `/app/chats/${id}/messages`, { parent, role, content, model: 'maker/mine', finish: role === 'user' ? 'said' : 'stop', run: 0, facts: null })).id
    }
  }
  return id
}

// inView returns in a page whether the end of the chat and the composer are in view.
function inView() {
  const pane = document.getElementById('pane')
  const composer = document.querySelector('.composer').getBoundingClientRect()
  const end = document.querySelector('.chat > li:last-child').getBoundingClientRect().bottom
  return composer.top >= 0 && composer.bottom <= innerHeight && end <= composer.top && pane.scrollHeight - pane.scrollTop - pane.clientHeight < 2
}

test('a chat opens at its end, with the field for the next message', async () => {
  const { context, page, problems } = await open(browser, { link: tandem.link })
  const chats = []
  for (let turns = 3; turns <= 12; turns++) chats.push([await keep(page, turns), turns])
  let seen = 0
  for (const [width, height] of [[1280, 800], [1000, 700], [760, 700]]) {
    await page.setViewportSize({ width, height })
    for (const [id, turns] of chats) {
      await page.evaluate((id) => (location.hash = `#/playground/${id}`), id)
      await page.locator('.chat > li').last().getByText(`Answer ${turns} of ${turns}.`).waitFor()
      await page.waitForFunction(inView, undefined, { timeout: 5000 }).catch(() => {}) // it counts as not seen
      await page.evaluate(() => new Promise((next) => requestAnimationFrame(() => requestAnimationFrame(next))))
      if (await page.evaluate(inView)) seen++
    }
  }
  atLeast('chats that open with their end and the composer in view', seen, 30, '0 of 10')
  assert.deepEqual(problems, [])
  await context.close()
})

// What feeds the menu is looked at here; app/menu's own tests read its rows.
test('a long prompt that is read shows its progress and the time left', async () => {
  const { context, page, problems } = await open(browser, { link: tandem.link })
  const other = await context.newPage()
  await other.goto(`${page.url().split('#')[0]}#/now`)
  await other.getByRole('heading', { name: 'Now', exact: true }).waitFor()
  const who = person(page)
  await who.drop('many.go', Array.from({ length: 1000 }, (_, i) => `func f${i}(a int) int { return a*${(i * 7919) % 1009} + ${Date.now() % 1000} }\n`).join(''))
  await page.locator('.composer').getByRole('listitem').filter({ hasText: /\d tokens/ }).waitFor()
  await who.type('What is in it?')
  await who.press('Enter')
  const card = other.getByRole('article', { name: 'Request of Tandem' })
  const places = {
    chat: page.getByText(/^Reading [\d,]+ of [\d,]+, about [\d.]+ (ms|s|min) left$/).waitFor(),
    Now: Promise.all([card.getByText(/^\d+ %$/).waitFor(), card.getByText(/first word in about/).waitFor()]),
    menu: until('progress', async () => (await ask(other, '/app/state')).active.some((r) => r.prompt_done > 0 && r.prompt_done < r.prompt_tokens)),
  }
  const told = await Promise.allSettled(Object.values(places))
  const failed = Object.keys(places).filter((_, i) => told[i].status === 'rejected')
  assert.deepEqual(failed, [])
  atLeast('places that show progress and the time left', told.length - failed.length, 3, '1, a number')
  await page.bringToFront()
  await who.press('Escape')
  await page.getByRole('button', { name: 'Send', exact: true }).waitFor({ timeout: 60_000 })
  assert.deepEqual(problems, [])
  await context.close()
})

test('many rows are in view, and only panes scroll', async () => {
  const { context, page, problems, go } = await visit(browser, still.url)
  for (const [at, rows, least, was] of [['runs', '.runs tbody tr', 17, 9], ['checkpoints', '.texts .text', 18, '5 to 7']]) {
    await go(at)
    await page.locator(rows).nth(least).waitFor()
    const whole = await page.locator(rows).evaluateAll((all) => {
      const { bottom } = all[0].closest('.pane').getBoundingClientRect()
      return all.filter((r) => r.getBoundingClientRect().bottom <= bottom + 0.5).length
    })
    atLeast(`rows of ${at} in view at 1280 x 800`, whole, least, was)
    const longer = await page.evaluate(() => [document.scrollingElement, document.getElementById('pane')].map((e) => e.scrollHeight - e.clientHeight))
    assert.ok(longer[0] <= 0 && longer[1] > 0, `${at}: the page is ${longer[0]} px longer than the window, its pane ${longer[1]} px`)
  }
  assert.deepEqual(problems, [])
  await context.close()
})

// after says what is on the page after a key, and was not there before it. A key begins in a chat with an
// answer, or where from says.
const afterKey = {
  palette: 'dialog.palette[open]',
  edit: '.chat textarea:focus',
  curl: '.toolbar [role="status"]:not(:empty)',
  settings: '.foot a[aria-current]',
  find: '.find-bar input:focus',
  ...Object.fromEntries(['playground', 'now', 'runs', 'checkpoints', 'models', 'connect'].map((id) => [id, `nav a[href="#/${id}"][aria-current]`])),
  composer: '#input:focus',
  model: '.popover[aria-label="Models"]',
  panel: 'body:not(:has(aside.panel))', // it is open where there is room
  sidebar: 'body:not(:has(.sidebar))',
  stop: 'body:not(:has(dialog[open]))',
  help: 'dialog.sheet[open]',
}
const chord = (s) => [...s.with.split('+').filter((m) => m).map((m) => ({ cmd: 'Control', shift: 'Shift', alt: 'Alt' })[m]), { '?': 'Shift+?', up: 'ArrowUp', escape: 'Escape' }[s.key] ?? s.key].join('+')

test('each key does what it says, and Help lists it', async () => {
  const { context, page, problems } = await open(browser, { link: tandem.link })
  await context.grantPermissions(['clipboard-write'])
  const id = await keep(page, 1)
  let works = 0
  for (const s of table.filter((s) => !s.browser)) { // in a tab some keys are the browser's
    await page.evaluate((to) => (location.hash = to), s.id === 'playground' ? '#/now' : `#/playground/${id}`)
    await page.reload()
    await page.locator('.foot').waitFor()
    if (s.id !== 'playground') await page.locator('.chat .assistant .acts').waitFor()
    if (s.id === 'edit') await page.locator('#input').focus()
    else await page.evaluate(() => document.activeElement?.blur())
    if (s.id === 'stop') {
      await page.keyboard.press('Control+k')
      await page.locator(afterKey.palette).waitFor()
    }
    const shown = page.locator(afterKey[s.id])
    assert.equal(await shown.count(), 0, `before ${s.id}`)
    await page.keyboard.press(chord(s))
    await shown.first().waitFor({ timeout: 10_000 }).then(() => works++, (e) => assert.fail(`${s.id}: ${e}`))
    if (s.id === 'sidebar') await page.keyboard.press(chord(s)) // a reload does not bring it back
  }
  atLeast('keys that work in a tab', works, 14, '0 of 7')
  const sheet = page.getByRole('dialog', { name: 'Help', exact: true })
  await sheet.waitFor() // of the last key
  for (const s of table.filter((s) => !s.browser)) await sheet.locator('.keys div').filter({ hasText: s.name }).locator('kbd').waitFor()
  const lost = await sheet.locator('.keys + p').textContent()
  for (const s of table.filter((s) => s.browser)) assert.ok(lost.includes(s.key.toUpperCase()), `${s.id} is not in “${lost}”`)
  assert.deepEqual(problems, [])
  await context.close()
})

test('there is little to read, and one list of models', async () => {
  const { context, page, problems } = await open(browser, { link: tandem.link })
  atMost('entries of the sidebar', await page.getByRole('navigation', { name: 'Pages' }).getByRole('link').count(), 6, 11)
  await page.keyboard.press('Control+Shift+?')
  const sheet = page.getByRole('dialog', { name: 'Help', exact: true })
  await sheet.getByRole('heading', { name: 'Memory', exact: true }).waitFor() // of the guide's chapter
  const words = async (of) => (await of.innerText()).split(/\s+/).filter((w) => /\w/.test(w)).length
  atMost('words on Help', await words(sheet), 600, 3218) // the meanings of words are folded
  await page.keyboard.press('Escape')
  await page.evaluate(() => (location.hash = '#/models'))
  const lists = page.locator('main :is(table, ul, ol)').filter({ hasText: /maker\// })
  await lists.filter({ hasText: 'maker/mine' }).filter({ hasText: 'maker/found' }).waitFor()
  atMost('lists of models', await lists.count(), 1, 3)
  assert.deepEqual(problems, [])
  await context.close()
})
