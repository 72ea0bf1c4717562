// Models are taken over from this machine, set up, downloaded and removed. The page shows the usage
// of the disk.

import assert from 'node:assert/strict'
import { cpSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'

import { launch, open, overflow, shot, sound } from './browser.mjs'
import { commit, hub, model, serve } from './server.mjs'

let browser, tandem, theHub, blobs

before(async () => {
  browser = await launch()
  theHub = await hub()
  tandem = await serve({ HF_ENDPOINT: theHub.url })
  blobs = join(tandem.dir, 'huggingface', 'hub', 'models--lab--tiny', 'blobs')
  const studio = join(tandem.dir, '.lmstudio', 'models', 'maker')
  model(join(studio, 'mine'))
  mkdirSync(join(studio, 'old'), { recursive: true })
  writeFileSync(join(studio, 'old', 'old.gguf'), '')
  mkdirSync(join(studio, 'other'))
  cpSync(join(import.meta.dirname, '../../models/testdata/gguf/llama.gguf'), join(studio, 'other', 'pocket.gguf'))
})
after(async () => {
  await browser.close()
  await tandem.stop()
  theHub.stop()
})

const models = async (tab = 'Installed') => {
  const all = await open(browser, { link: tandem.link })
  await all.page.getByRole('link', { name: /^Models/ }).click()
  await to(all.page, tab)
  return all
}

// to opens a tab of the page.
const to = async (page, tab) => {
  const link = page.getByRole('navigation', { name: 'Parts of the page' }).getByRole('link', { name: tab, exact: true })
  await link.click()
  await page.locator('.segments [aria-current="page"]').getByText(tab, { exact: true }).waitFor()
}

// choose takes an action of a row's menu.
const choose = async (page, id, action) => {
  await page.getByRole('button', { name: `Actions for ${id}`, exact: true }).click()
  await page.getByRole('group', { name: `Actions for ${id}`, exact: true }).getByRole('button', { name: action }).click()
}

test('a model of another program is taken over', async () => {
  const { context, page, problems } = await models()
  await page.getByText(/This machine has .* GiB of memory/).waitFor()
  await page.getByRole('row').filter({ hasText: 'pocket' }).getByText('the demo model').waitFor()
  await page.getByText('1 other model that Tandem can’t use').click()
  await page.getByText('is no GGUF file').waitFor()
  await page.getByRole('button', { name: 'Use pocket-2' }).waitFor() // pocket is another model
  await page.getByRole('button', { name: 'Use maker/mine' }).click()
  const row = page.getByRole('row').filter({ hasText: 'maker/mine' })
  await row.getByText('current').waitFor({ timeout: 30_000 })
  await row.getByText('in memory').waitFor()
  // A row has one button at most beside its menu.
  for (const of of await page.locator('.models tbody tr').all()) assert.ok((await of.locator('.step button').count()) <= 1)
  await row.getByRole('button', { name: 'Actions for maker/mine' }).click()
  await row.getByRole('button', { name: 'Unload' }).waitFor()
  await sound(page, 'models-menu')
  // Escape closes the menu, and leads the focus back.
  await page.keyboard.press('Escape')
  await page.waitForFunction(() => document.activeElement?.getAttribute('aria-label') === 'Actions for maker/mine')
  assert.match(await row.innerText(), /\d\d MiB/)
  await shot(page, 'models-found')
  await page.setViewportSize({ width: 800, height: 800 })
  const over = await overflow(page)
  assert.ok(over <= 0, `${over} px too wide`)
  assert.deepEqual(problems, [])
  await context.close()
})

test('a model is found by its name, and says how fast it wrote', async () => {
  const { context, page, problems } = await models()
  const run = { model: 'pocket', ended_at: '2025-11-20T10:01:00Z', first_token_ms: 100, total_ms: 1100, completion_tokens: 42 }
  await page.route('**/app/runs?limit=200', (route) => route.fulfill({ json: { runs: [run] } }))
  await page.reload()
  const row = page.getByRole('row').filter({ hasText: 'the demo model' })
  await row.getByRole('cell', { name: '41', exact: true }).waitFor()
  const find = page.getByLabel('Find a model')
  await find.fill('POCK')
  await page.getByRole('row').filter({ hasText: 'maker/mine' }).waitFor({ state: 'detached' })
  await row.waitFor()
  await find.fill('no such model')
  await row.waitFor({ state: 'detached' })
  await find.fill('')
  await row.waitFor()
  assert.deepEqual(problems, [])
  await context.close()
})

test('the settings of a model are set and put back', async () => {
  const { context, page, problems } = await models()
  await choose(page, 'maker/mine', 'Settings…')
  const dialog = page.getByRole('dialog', { name: 'Settings of maker/mine' })
  const right = (of) => of.evaluate((e) => e.getBoundingClientRect().right)
  assert.ok((await right(dialog.getByRole('combobox', { name: /^Draft model/ }))) <= (await right(dialog.locator('.fields'))), 'the drafters reach out of the dialog')
  await dialog.getByLabel('Temperature').fill('0.2')
  await dialog.getByLabel('Context, in').fill('1024')
  await dialog.getByLabel('Keep in memory').check()
  await dialog.getByLabel('Weight precision of the draft model').selectOption('as stored')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.getByText('Saved.').waitFor()
  await dialog.getByText('Context (32,768 tokens now), KV cache and draft model change when the model is reloaded.').waitFor()
  await sound(page, 'model-settings')
  await dialog.getByRole('button', { name: 'Reload now' }).click()
  await dialog.getByText('Reloaded.', { exact: true }).waitFor({ timeout: 30_000 })
  assert.equal(await dialog.getByText('change when the model is reloaded').count(), 0)
  await dialog.getByLabel('Context, in').fill('99999')
  await dialog.evaluate((d) => (d.querySelector('form').noValidate = true))
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.getByText('can be 32,768 tokens at most').waitFor()
  await sound(page, 'model-settings-refused')
  await dialog.getByRole('button', { name: 'Close' }).click()
  await page.getByRole('row').filter({ hasText: 'maker/mine' }).getByText('1,024', { exact: true }).waitFor()
  await choose(page, 'maker/mine', 'Settings…')
  await page.waitForFunction(() => [...document.querySelectorAll('dialog[open] select')].some((e) => e.selectedOptions[0]?.text === 'as stored'))
  await dialog.getByRole('button', { name: 'Close' }).click()
  await page.getByRole('link', { name: 'Now' }).click()
  await page.getByText('maker/mine in memory').click()
  await page.getByText(/of 1,024 tokens/).waitFor()
  assert.deepEqual(problems.filter((p) => !p.includes('400')), [])
  await context.close()
})

test('the folder of a model is shown', async () => {
  const { context, page, problems } = await models()
  const asked = []
  await page.route('**/app/reveal', (route) => {
    asked.push(route.request().postDataJSON())
    return asked.length === 1 ? route.fulfill({ json: {} }) : route.fulfill({ status: 400, json: { error: { message: 'No program shows folders here.', code: 'invalid_request' } } })
  })
  await choose(page, 'maker/mine', 'Show the folder')
  await choose(page, 'maker/mine', 'Show the folder')
  await page.getByRole('alert').getByText('No program shows folders here.').waitFor()
  assert.deepEqual(asked, [{ model: 'maker/mine' }, { model: 'maker/mine' }])
  assert.deepEqual(problems.filter((p) => !p.includes('400')), [])
  await context.close()
})

test('an address opens the settings of a model', async () => {
  const { context, page, problems } = await models()
  await page.evaluate(() => (location.hash = '#/models/?settings=maker%2Fmine'))
  await page.getByRole('dialog', { name: 'Settings of maker/mine' }).waitFor()
  assert.equal(new URL(page.url()).hash, '#/models', 'a reload does not open them again')
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page.evaluate(() => (location.hash = '#/models/?settings=maker%2Fmine'))
  await page.getByRole('dialog', { name: 'Settings of maker/mine' }).waitFor()
  assert.deepEqual(problems, [])
  await context.close()
})

test('an error of the window names no command of the terminal', async () => {
  const { context, page, problems } = await models()
  const answer = page.waitForResponse('**/app/model-settings*')
  await page.evaluate(() => (location.hash = '#/models/?settings=org%2Fgone'))
  const { error } = await (await answer).json()
  assert.ok(error.message.endsWith(` ${error.advice}`) && error.advice.includes('`tandem '), JSON.stringify(error))
  await page.getByRole('alert').getByText('The model "org/gone" is not installed.', { exact: true }).waitFor()
  await sound(page, 'models-gone')
  assert.deepEqual(problems.filter((p) => !p.includes('404')), [])
  await context.close()
})

test('a download can be paused, cancelled and completed', async () => {
  const { context, page, problems } = await models('Get more')
  const wanted = page.getByLabel('The model’s name')
  const begin = async (id) => {
    await wanted.fill(id)
    await page.getByRole('button', { name: 'Download', exact: true }).click()
  }
  await begin('qwen')
  await page.getByRole('alert').getByText('Enter the organization').waitFor()
  await begin('lab/closed')
  const link = page.getByRole('link', { name: `${theHub.url}/lab/closed` })
  await link.waitFor()
  await page.getByText('accept its terms').waitFor()
  await shot(page, 'download-403')
  await choose(page, 'lab/closed', /^Cancel/)
  await link.waitFor({ state: 'detached' })

  await begin('lab/tiny')
  await page.getByText(/ MB of .*, [1-9]\d? %/).waitFor()
  await page.getByRole('button', { name: 'Pause lab/tiny' }).click()
  await page.getByText('paused').waitFor()
  await page.getByRole('button', { name: 'Resume lab/tiny' }).click()
  await page.getByRole('button', { name: 'Pause lab/tiny' }).waitFor()
  await page.getByText(/stalled: nothing has arrived/).waitFor({ timeout: 30_000 })
  await shot(page, 'download-stalled')
  assert.ok(existsSync(blobs))
  await choose(page, 'lab/tiny', /^Cancel/)
  await page.getByRole('dialog').getByText(/ MB are already downloaded/).waitFor()
  await sound(page, 'download-cancel')
  await page.getByRole('button', { name: 'Cancel and delete files' }).click()
  await page.getByRole('button', { name: 'Actions for lab/tiny' }).waitFor({ state: 'detached' })
  assert.ok(!existsSync(blobs), 'the fetched files are still there')

  theHub.state.held = false
  await begin(`${theHub.url}/lab/tiny/tree/main`)
  await page.getByRole('progressbar', { name: 'Download of lab/tiny' }).waitFor({ state: 'detached', timeout: 30_000 })
  assert.equal(await page.getByText('the sizes of these models').count(), 0)
  await page.getByRole('button', { name: /^Download mlx-community/ }).first().waitFor()
  assert.match(await page.getByRole('button', { name: /^Download mlx-community/ }).first().innerText(), /\(\d.* MB\)/)
  assert.match(await page.locator('.fit').first().textContent(), /^(fits|too large: for \d+ GiB)/)
  await to(page, 'Installed')
  await page.getByRole('button', { name: 'Choose lab/tiny' }).waitFor()
  assert.deepEqual(problems, [])
  await context.close()
})

test('a cancelled download can keep its files', async () => {
  const { context, page, problems } = await models('Get more')
  theHub.state.held = true
  const begin = async () => {
    await page.locator('#wanted').fill('lab/kept')
    await page.getByRole('button', { name: 'Download', exact: true }).click()
    await page.getByText(/ MB of .*, [1-9]\d? %/).waitFor()
  }
  const cancel = page.getByRole('button', { name: 'Actions for lab/kept' })
  const ask = async (answer) => {
    await choose(page, 'lab/kept', /^Cancel/)
    await page.getByRole('dialog').getByRole('button', { name: answer }).click()
  }
  await begin()
  await ask('Don’t cancel')
  await page.getByRole('dialog').waitFor({ state: 'hidden' })
  assert.equal(await cancel.count(), 1)
  await ask('Cancel and keep files')
  await cancel.waitFor({ state: 'detached' })
  const kept = join(tandem.dir, 'huggingface', 'hub', 'models--lab--kept', 'blobs')
  assert.ok(readdirSync(kept).length > 0, 'nothing was kept')
  // The download continues from the bytes that it had.
  theHub.state.ranges = []
  await begin()
  const fetches = () => theHub.state.ranges.filter((range) => !/-\d/.test(range)) // without looks at the header
  while (fetches().length === 0) await new Promise((next) => setTimeout(next, 20))
  assert.match(fetches().at(-1), /^bytes=[1-9]/, 'it is fetched from its beginning')
  await ask('Cancel and delete files')
  await cancel.waitFor({ state: 'detached' })
  assert.deepEqual(problems, [])
  await context.close()
})

test('the page shows the usage of the disk, and what a removal frees', async () => {
  const { context, page, problems } = await models()
  await page.evaluate(async () => {
    const body = JSON.stringify({ model: 'tandem', prompt: 'package main\n', max_tokens: 8 })
    await (await fetch('/v1/completions', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body })).json()
  })
  await to(page, 'Disk')
  await page.getByText(/ MB used by Tandem, /).waitFor()
  assert.match(await page.locator('.bar.high').getAttribute('aria-label'), /^models 2\d\.\d MB, checkpoints /)
  await sound(page, 'models-disk-full')
  await to(page, 'Installed')
  const row = page.getByRole('row').filter({ hasText: 'lab/tiny' })
  await row.getByRole('button', { name: 'Actions for lab/tiny' }).click()
  await row.getByText('Downloaded by Tandem').waitFor()
  assert.match(await row.innerText(), new RegExp(commit))
  await page.keyboard.press('Escape')
  await choose(page, 'maker/mine', 'Remove…')
  await page.getByRole('dialog').getByText('Its files stay').waitFor()
  await sound(page, 'storage-remove')
  await page.getByRole('button', { name: 'Keep it' }).click()
  await page.waitForFunction(() => document.activeElement?.getAttribute('aria-label') === 'Actions for maker/mine') // the focus is led back
  await choose(page, 'lab/tiny', 'Remove…')
  await page.getByRole('dialog').getByText(/frees 2\d\.\d MB\./).waitFor()
  await page.getByRole('button', { name: 'Delete', exact: true }).click()
  await page.getByText(/Deleted lab\/tiny and freed 2\d\.\d MB/).waitFor()
  assert.ok(!existsSync(blobs), 'its files are still there')

  await page.goto(`${page.url().split('#')[0]}#/settings/history`)
  await page.getByLabel('By day').check()
  const day = new Date().toLocaleDateString('sv') // in ISO's form, by this machine's clock
  await page.getByRole('button', { name: `Delete all requests on ${day}` }).click()
  await page.getByRole('dialog').getByText(/1 run, .* and .* of remembered texts are deleted, which frees/).waitFor()
  await page.getByRole('dialog').getByText('The model re-reads such texts when they are needed. Named and pinned checkpoints are deleted too. The chats of the Playground stay.').waitFor()
  await sound(page, 'storage-forget')
  await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click()
  await page.getByText(/Deleted 1 run and .*, which freed/).waitFor()
  await page.getByText('No requests yet.').waitFor()
  assert.deepEqual(problems, [])
  await context.close()
})

test('sizes are missing while the hub does not answer', async () => {
  const { context, page, problems } = await models('Get more')
  let why = 'the hub at huggingface.co cannot be reached: check the internet connection, or the hub in Settings'
  let answers = Promise.resolve() // the hub answers after this
  await page.route('**/app/catalogue?*', async (route) => {
    const found = await (await route.fetch()).json()
    const hub = route.request().url().endsWith('sizes=true')
    if (hub) await answers
    const said = !hub ? {} : why ? { why } : { bytes: 1e9 }
    return route.fulfill({ json: { ...found, why: said.why, models: found.models.map((m) => ({ ...m, bytes: 0, ...said, drafters: m.drafters?.map((d) => ({ ...d, bytes: said.bytes ?? 0 })) })) } })
  })
  await page.reload()
  await page.getByText(`The hub didn’t tell the sizes of these models: ${why}.`).waitFor()
  await page.getByText('size unknown').first().waitFor()
  await shot(page, 'models-sizes')
  // After a download the page asks the hub again. Until it answers, the earlier size stays.
  let answer
  answers = new Promise((done) => (answer = done))
  await page.locator('#wanted').fill('lab/none')
  await page.getByRole('button', { name: 'Download', exact: true }).click()
  await page.getByText('checking size…').first().waitFor()
  assert.ok(await page.getByText(why).isVisible(), 'what the hub said went away')
  answer()
  await page.getByText('size unknown').first().waitFor()
  why = ''
  await page.getByRole('button', { name: 'Ask again' }).click()
  await page.getByText('the sizes of these models').waitFor({ state: 'detached' })
  assert.equal(await page.getByText('size unknown').count(), 0)
  assert.deepEqual(problems, [])
  await context.close()
})

test('a suggested model comes with its drafter, unless a person leaves it out', async () => {
  const { context, page, problems } = await models('Get more')
  const drafter = (id, kind, bytes, here) => ({ id, revision: commit, kind, bytes, here })
  const suggested = [
    { id: 'lab/coder-8b', revision: commit, what: 'Code.', from: 8, bytes: 5e9, drafters: [drafter('lab/coder-8b-DFlash2', 'dflash', 1e9), drafter('lab/coder-8b-MTP', 'mtp', 2e8)] },
    { id: 'lab/chat-3b', revision: commit, what: 'Chat.', from: 8, bytes: 2e9 },
    { id: 'lab/here-4b', revision: commit, what: 'Chat.', from: 8, bytes: 3e9, registered: true, drafters: [drafter('lab/here-4b-assistant', 'mtp', 1.6e8), drafter('lab/here-4b-DSpark', 'dspark', 6e8, true)] },
  ]
  await page.route('**/app/catalogue?*', (route) => route.fulfill({ json: { memory: 16 * 2 ** 30, class: 8, models: suggested } }))
  const asked = []
  await page.route('**/app/downloads', async (route) => {
    const r = route.request().postDataJSON()
    asked.push([r.id, r.no_drafter ?? null])
    return route.fulfill({ json: {} })
  })
  await page.reload()
  const card = (id) => page.getByRole('listitem').filter({ has: page.getByText(id, { exact: true }) }).first()
  await card('lab/coder-8b').getByText('6.0 GB to download').waitFor()
  await card('lab/coder-8b').getByText('2 draft models').click()
  await card('lab/coder-8b').getByText('lab/coder-8b-DFlash2, a DFlash drafter, 1.0 GB (default)').waitFor()
  await card('lab/here-4b').getByText('2 draft models').click()
  await sound(page, 'models-drafters')
  await card('lab/coder-8b').getByRole('button', { name: 'Download lab/coder-8b', exact: true }).click()
  await card('lab/coder-8b').getByLabel('with its draft model (1.0 GB)').uncheck()
  await card('lab/coder-8b').getByText('5.0 GB to download').waitFor()
  await card('lab/coder-8b').getByRole('button', { name: 'Download lab/coder-8b', exact: true }).click()
  assert.equal(await card('lab/chat-3b').getByRole('checkbox').count(), 0)
  await card('lab/chat-3b').getByRole('button', { name: 'Download lab/chat-3b' }).click()
  await card('lab/coder-8b').getByRole('button', { name: 'Download lab/coder-8b-MTP' }).click()
  await card('lab/here-4b').getByRole('button', { name: 'Download lab/here-4b-assistant' }).click()
  assert.equal(await card('lab/here-4b').getByRole('button', { name: /^Download/ }).count(), 1, 'a drafter that is here can be downloaded')
  assert.deepEqual(asked, [['lab/coder-8b', false], ['lab/coder-8b', true], ['lab/chat-3b', true], ['lab/coder-8b-MTP', null], ['lab/here-4b-assistant', null]])
  assert.deepEqual(problems, [])
  await context.close()
})
