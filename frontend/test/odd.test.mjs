// Answers of any text are shown, as blocks or as they are. The page takes keys meanwhile.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'

import { launch, shot } from './browser.mjs'
import { playground, until } from './playground.mjs'

let browser

before(async () => {
  browser = await launch()
})
after(() => browser.close())

const message = (id, parent, role, content, facts = null) => ({ id, chat: 0, parent, role, content, model: 'pocket', finish: role === 'user' ? 'said' : 'stop', run: 0, facts, created_at: '2026-01-01T00:00:00Z' })

// kept is a page whose chats are made of texts: the chat 1000 + i has the i-th as its answer, and these
// facts. open opens a chat and returns the text that is shown, and how long the page took no keys.
async function kept(texts, facts = []) {
  const all = await playground(browser)
  const { page } = all
  await page.route(/\/app\/chats\/1\d\d\d$/, (route) => {
    const id = Number(/\d+$/.exec(route.request().url())[0])
    const chat = { id, kind: 'chat', title: `Chat ${id}`, system: '', options: null, leaf: 2, created_at: '2026-01-01T00:00:00Z', updated_at: '2026-01-01T00:00:00Z' }
    route.fulfill({ json: { chat, messages: [message(1, 0, 'user', `Question ${id}`, facts[id - 1000]), message(2, 1, 'assistant', texts[id - 1000], facts[id - 1000])] } })
  })
  const open = (i) =>
    page.evaluate(async (id) => {
      let longest = 0
      let before = performance.now()
      let over = false
      const beat = () => {
        const now = performance.now()
        longest = Math.max(longest, now - before)
        before = now
        if (!over) setTimeout(beat)
      }
      beat()
      location.hash = `#/playground/${id}`
      const said = () => document.querySelector('.said')?.textContent === `Question ${id}`
      const shown = () => (said() ? document.querySelector('.chat .markdown') : null)
      const end = performance.now() + 60_000
      while (!shown()?.textContent.trim() && performance.now() < end) await new Promise((next) => setTimeout(next))
      await new Promise((next) => requestAnimationFrame(() => setTimeout(next)))
      over = true
      return { longest: Math.round(longest), text: shown()?.textContent ?? '', said: document.querySelector('.said')?.textContent }
    }, 1000 + i)
  return { ...all, open }
}

// odd are texts that other readers of Markdown nest too deeply for the stack, or read in quadratic time.
const odd = {
  'quotes': `${'>'.repeat(3500)}a`,
  'spaced quotes': `${'> '.repeat(20_000)}a`,
  'lists on one line': `${'- '.repeat(2000)}word`,
  'numbered lists on one line': `${'1. '.repeat(2000)}word`,
  'lists in quotes': `${'> - '.repeat(1000)}word`,
  'lists on lines of their own': Array.from({ length: 2000 }, (_, i) => `${' '.repeat(2 * i)}- a`).join('\n'),
  'a megabyte of quotes': '>'.repeat(1_000_000),
  'elements': `${'<div>'.repeat(4000)}a`,
  'elements that end nowhere': '<em><p>a\n'.repeat(3000),
  'stars and lines': '*a_'.repeat(20_000),
  'lines': '_a_b'.repeat(50_000),
  'two scripts': 'aα'.repeat(500_000),
  'two directions': 'אaבb'.repeat(250_000),
  'paragraphs in two directions': `${'aب'.repeat(2900)}\n\n`.repeat(170),
  'a heading in two scripts': `# ${'aनम'.repeat(9000)}`,
  'items in two scripts': `- ${'ก1'.repeat(500)}\n`.repeat(900),
  'a table in two directions': `|a|b|\n|-|-|\n${`|${'א1'.repeat(100)}|${'aب'.repeat(100)}|\n`.repeat(60)}`,
  'code in two directions': `\`\`\`js\n${`${'אa'.repeat(40)}\n`.repeat(12_000)}\`\`\`\n\nend`,
  'a line of code in two directions': `\`\`\`\n${'אa'.repeat(400_000)}\n\`\`\`\n\nend`,
  'code in a list': `- \`\`\`\n  ${'بa'.repeat(14_000)}\n  \`\`\``,
  'words without spaces': 'ภาษาไทย'.repeat(140_000),
  'syllables': 'यह एक लंबा वाक्य है। '.repeat(47_000),
  'turned letters': '\u202ea\u202cb\u2067c\u2069'.repeat(140_000),
  'emojis': 'a😀'.repeat(330_000),
  'marks': `e${'\u0301'.repeat(50)}`.repeat(19_000),
  'more stars': '*a**'.repeat(100_000),
  'brackets': '['.repeat(500_000),
  'links': '[a]('.repeat(200_000),
  'tags': '<a '.repeat(300_000),
  'rows': `|a|b\n|-|-\n${'|a|b\n'.repeat(150_000)}`,
  'items': '- a\n'.repeat(200_000),
  'paragraphs': 'a\n\n'.repeat(300_000),
  'code without a fence': 'f(\n  a,\nend\n'.repeat(20_000),
  'newlines': `${'\n'.repeat(1_000_000)}a`,
  'tables whose rows lack cells': `|${'a|'.repeat(200)}\n|${'-|'.repeat(200)}\n${'a\n'.repeat(320)}\n`.repeat(20),
  'a wide table': `|${'a|'.repeat(7000)}\n|${'-|'.repeat(7000)}\n`,
  'a long address': `[x]: http://a/${'b'.repeat(5000)}\n\n${'[x]'.repeat(8000)}`,
  'ends of other elements': '<em></p>'.repeat(3600),
  'much to colour': `\`\`\`js\n${'1 '.repeat(29_000)}\n\`\`\`\n\n`.repeat(16),
  'code': `\`\`\`js\n${'let a = 1\n'.repeat(100_000)}\`\`\`\n\nend`,
}

test('an answer of any text is shown, and the page goes on', async () => {
  const names = Object.keys(odd)
  const { context, page, problems, open } = await kept([...names.map((name) => odd[name]), 'A plain answer.'])
  for (const [i, name] of names.entries()) {
    const { text, longest } = await open(i)
    assert.ok(text.replace(/\s/g, '').length > 0, `${name}: nothing is shown`)
    assert.ok(longest < 5000, `${name}: the page took no keys for ${longest} ms`)
    if (['quotes', 'stars and lines', 'elements that end nowhere'].includes(name)) await shot(page, `odd-${name.replaceAll(' ', '-')}`)
  }
  // What came before a short one is gone.
  const { text } = await open(names.length)
  assert.equal(text.trim(), 'A plain answer.')
  assert.deepEqual(problems, [])
  await context.close()
})

test('a long answer is rendered to its end', async () => {
  const text = Array.from({ length: 3000 }, (_, i) => `Paragraph **${i}** of the answer.`).join('\n\n')
  const { context, page, problems, open } = await kept([text])
  await open(0)
  await page.locator('.markdown strong').getByText('2999', { exact: true }).waitFor()
  assert.equal(await page.locator('.markdown strong').count(), 3000)
  assert.equal(await page.locator('.as-it-is').count(), 0)
  // Its end stays in view.
  const { scrollHeight, scrollTop, clientHeight } = await page.evaluate(() => {
    const { scrollHeight, scrollTop, clientHeight } = document.getElementById('pane')
    return { scrollHeight, scrollTop, clientHeight }
  })
  assert.ok(scrollHeight - scrollTop - clientHeight < 2, 'the end is out of sight')
  assert.deepEqual(problems, [])
  await context.close()
})

test('a tag that is not one of an answer is text', async () => {
  const tags = ['svg', 'math', 'style', 'script', 'iframe', 'title', 'textarea', 'select', 'object', 'details', 'button', 'input', 'form', 'template', 'noscript', 'plaintext', 'xmp', 'my-element', 'T']
  const texts = tags.flatMap((tag) => [`Use the <${tag}> element for **this**.`, `<${tag} class="a">\ninside\n</${tag}>\n\nafter`])
  texts.push('a <!-- comment --> b', 'H<sub>2</sub>O<br>and <KBD>Esc</KBD>', '<div foo\nbehind', 'if a <b and c> d')
  const { context, page, problems, open } = await kept(texts)
  for (const [i, tag] of tags.entries()) {
    assert.equal((await open(2 * i)).text.trim(), `Use the <${tag}> element for this.`)
    assert.equal(await page.locator('.markdown strong').innerText(), 'this')
    assert.equal((await open(2 * i + 1)).text.replace(/\s+/g, ' ').trim(), `<${tag} class="a"> inside </${tag}> after`)
  }
  const rest = []
  for (let i = 2 * tags.length; i < texts.length; i++) rest.push((await open(i)).text.trim())
  assert.deepEqual(rest, ['a <!-- comment --> b', 'H2Oand Esc', '<div foo\nbehind', 'if a <b and c> d'])
  assert.deepEqual(problems, [])
  await context.close()
})

test('a message, a thought and an answer may be long, in two directions', async () => {
  const long = 'אaבb'.repeat(250_000)
  for (const tinted of [false, true]) {
    const { context, page, problems } = await kept(['So.'])
    if (tinted) await page.getByLabel(/^Highlight/).check()
    await page.route('**/app/chats/1000', (route) =>
      route.fulfill({ json: { chat: { id: 1000, kind: 'chat', title: 'אa'.repeat(100), system: '', options: null, leaf: 2, created_at: '2026-01-01T00:00:00Z', updated_at: '2026-01-01T00:00:00Z' }, messages: [message(1, 0, 'user', long), message(2, 1, 'assistant', `${long}\nSo.`, { thought: long })] } }))
    await page.evaluate(() => { location.hash = '#/playground/1000' })
    await page.locator('.chat').getByText('So.').waitFor()
    await page.locator('summary').getByText('Thoughts').click()
    for (const name of ['.said', '.chat details pre']) assert.equal(await page.evaluate((name) => document.querySelector(name).textContent.length, name), long.length, name)
    assert.deepEqual(problems, [])
    await context.close()
  }
})

test('a long text is copied as it is, and nothing of its code is cut off', async () => {
  const lines = (n) => Array.from({ length: n }, (_, i) => `Строка ${i}: обычный текст, который читает человек, و كلام عربي and words.`).join('\n')
  const code = Array.from({ length: 400 }, (_, i) => `\tx := ${i} // комментарий ${'и ещё '.repeat(i % 40)}`).join('\n')
  const { context, page, problems } = await kept([])
  await page.route('**/app/chats/1000', (route) =>
    route.fulfill({ json: { chat: { id: 1000, kind: 'chat', title: 'Long', system: '', options: null, leaf: 2, created_at: '2026-01-01T00:00:00Z', updated_at: '2026-01-01T00:00:00Z' }, messages: [message(1, 0, 'user', lines(900)), message(2, 1, 'assistant', `\`\`\`go\n${code}\n\`\`\`\n\nSo.`, { thought: lines(500) })] } }))
  await page.evaluate(() => { location.hash = '#/playground/1000' })
  await page.locator('.markdown').getByText('So.').waitFor()
  await page.locator('summary').getByText('Thoughts').click()
  for (const [name, text] of [['.said', lines(900)], ['details pre', lines(500)], ['.coded code', code]]) {
    const node = page.locator(`.chat ${name}`)
    assert.ok((await node.locator('.piece').count()) > 1, `${name} is one piece`)
    assert.equal(await node.evaluate((e) => (getSelection().selectAllChildren(e), getSelection().toString())), text, name)
  }
  const piece = page.locator('.coded .piece').nth(3)
  await piece.scrollIntoViewIfNeeded()
  assert.ok(await piece.evaluate((e) => e.scrollWidth <= e.clientWidth && e.clientWidth > e.closest('pre').clientWidth), 'lines are cut off')
  await shot(page, 'odd-long')
  assert.deepEqual(problems, [])
  await context.close()
})

test('a chat opens at its end, and stays where a person scrolls', async () => {
  const lines = 'यह एक लंबा वाक्य है। \n'
  const all = {
    'a long block': lines.repeat(1400),
    'plain text': `${'<div>'.repeat(200)}${lines.repeat(3000)}`,
    'code': `\`\`\`\n${lines.repeat(3000)}\`\`\``,
    'paragraphs': `${lines.repeat(100)}\n`.repeat(20),
  }
  const { context, page, problems, open } = await kept(Object.values(all))
  const rest = () => page.evaluate(() => { const of = document.getElementById('pane'); return of.scrollHeight - of.scrollTop - of.clientHeight })
  for (const [i, name] of Object.keys(all).entries()) {
    await open(i)
    await until(`the end of ${name}`, async () => {
      const before = await rest()
      await page.waitForTimeout(200)
      return before < 2 && (await rest()) < 2
    })
    await page.locator('.markdown').hover()
    await page.mouse.wheel(0, -300)
    await until(`a scroll in ${name}`, async () => (await rest()) > 200)
    await page.waitForTimeout(200)
    assert.ok((await rest()) > 200, `${name} goes to its end again`)
  }
  assert.deepEqual(problems, [])
  await context.close()
})

test('facts in another form are left out', async () => {
  const facts = [{ files: [null] }, { timings: 'fast' }, { files: {} }, { files: [{ name: 1, tokens: 'a' }] }, { timings: { predicted_n: 3 } }, { said: 'all' }, { said: -3 }, { said: 0.5 }, { said: 14 }, { said: 1e9 }, { spans: [{}], thought: 7 }, 'facts', [1], 5]
  const { context, problems, open } = await kept(facts.map((_, i) => `Answer ${i}`), facts)
  for (const i of facts.keys()) {
    const { text, said } = await open(i)
    assert.deepEqual([said, text.trim()], [`Question ${1000 + i}`, `Answer ${i}`], JSON.stringify(facts[i]))
  }
  assert.deepEqual(problems, [])
  await context.close()
})

test('a chat that cannot be shown leaves no other text in view', async () => {
  const { context, page, problems, open } = await kept(['The first.', 7, 'The last.'])
  await open(0)
  await page.evaluate(() => (location.hash = '#/playground/1001'))
  await page.getByRole('alert').getByText('This chat couldn’t be shown').waitFor()
  assert.equal(await page.locator('.said, .markdown').count(), 0)
  await shot(page, 'odd-chat')
  assert.equal((await open(2)).text.trim(), 'The last.')
  assert.deepEqual(problems, [])
  await context.close()
})

const fuzz = Number(process.env.FUZZ ?? 200)

test(`${fuzz} answers of repeated characters are shown`, async () => {
  let seed = 50
  const random = (n) => ((seed = (seed * 48_271) % 0x7fffffff), seed % n)
  const signs = ['>', '- ', '1. ', '*', '**', '_', 'a', ' ', '`', '```', '[', ']', '(', ')', '!', '<', '</', '<em>', '<div>', '&', '&amp;', '\\', '~~', '|', '|-', '\n', '\n\n', '\t', '    ', '#', '=', '---', ':', 'http://a.b', '[a]: b', '"', "'", '\u0000', '\u202e', '\u202c', '\u2067', '語', 'α', 'א', 'ب', 'ไ', 'न', '한', '😀', '\u0301', '\u200d']
  const texts = Array.from({ length: fuzz }, () => {
    const unit = Array.from({ length: 1 + random(4) }, () => signs[random(signs.length)]).join('')
    return `a${unit.repeat(Math.ceil(10 ** (3 + random(300) / 100) / unit.length)).slice(0, 1_000_000)}`
  })
  const slowest = []
  for (let i = 0; i < fuzz; i += 1000) {
    const { context, problems, open } = await kept(texts.slice(i, i + 1000))
    for (const [n, given] of texts.slice(i, i + 1000).entries()) {
      const { text, longest } = await open(n)
      const name = `${JSON.stringify(given.slice(0, 20))}, ${given.length} characters`
      assert.ok(text.includes('a') || given.includes('<'), `${name}: nothing is shown`)
      slowest.push({ ms: longest, name })
    }
    assert.deepEqual(problems, [])
    await context.close()
  }
  slowest.sort((a, b) => b.ms - a.ms)
  for (const { ms, name } of slowest.slice(0, 5)) console.log(`no keys for ${ms} ms: ${name}`)
  assert.ok(slowest[0].ms < 5000, slowest[0].name)
})
