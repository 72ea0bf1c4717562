// Measures how fast a chat of 200 messages opens, and how fast it takes a key. It opens the chat and
// presses a key 20 times each, and prints the medians beside their targets. Both end after the next
// frame is drawn. It also opens ten chats at three sizes, and counts where the end of the chat and
// the composer are in view. It exits with 1 if a target is missed.
//
//   go run ./build test ui    # once, because it builds the page and the program
//   cd frontend && TANDEM=../build/out/linux-amd64/cli/tandem node bench/chat.mjs

import { loadavg } from 'node:os'

import { launch, open } from '../test/browser.mjs'
import { serve } from '../test/server.mjs'

const times = 20
const messages = 200
const most = { open: 150, key: 16 } // milliseconds

// question and answer make a message of about the size that models write: prose, a list and code.
const question = (n) => `And what about step ${n}? ${'It should not wait for the others. '.repeat(3)}`
const answer = (n) =>
  `Step ${n} reads the *input*, and **waits** for \`step${n - 1}\`. ${'That is so for every element, whatever its place. '.repeat(4)}\n\n- first, check the length\n- then walk over it\n\n` +
  '```go\n' + `// Step${n} does what step ${n} says.\nfunc Step${n}(xs []int) (sum int, err error) {\n\tfor i, x := range xs {\n\t\tif x < 0 {\n\t\t\treturn 0, fmt.Errorf("item %d is negative: %d", i, x)\n\t\t}\n\t\tsum += x\n\t}\n\treturn sum, nil\n}\n` + '```\n\nThis is the end.'

// keep keeps a chat, and returns its id. Each answer has its figures, and so its ribbon.
const keep = (page, texts) =>
  page.evaluate(async (texts) => {
    const post = async (path, body) => {
      const headers = { Authorization: `Bearer ${sessionStorage.getItem('tandem-session')}`, 'Content-Type': 'application/json' }
      return (await fetch(path, { method: 'POST', headers, body: JSON.stringify(body) })).json()
    }
    const chat = await post('/app/chats', { kind: 'chat' })
    let parent = 0
    for (const [i, content] of texts.entries()) {
      const role = i % 2 === 0 ? 'user' : 'assistant'
      const timings = { cache_n: 900, prompt_n: 60, prompt_ms: 300, predicted_n: 180, predicted_ms: 4400, predicted_per_second: 41, draft_n: 120, draft_n_accepted: 80, tokens_per_verify: 2.9, restore_ms: 20, run_id: 0 }
      parent = (await post(`/app/chats/${chat.id}/messages`, { parent, role, content, model: 'pocket', finish: 'stop', facts: role === 'user' ? null : { timings } })).id
    }
    return chat.id
  }, texts)

const texts = (count) => Array.from({ length: count }, (_, i) => (i % 2 === 0 ? question(i / 2) : answer((i - 1) / 2)))

// opening shows a chat, and returns the milliseconds until its end is drawn.
const opening = (page, id, count) =>
  page.evaluate(
    ([id, count]) =>
      new Promise((done) => {
        const began = performance.now()
        location.hash = `#/playground/${id}`
        const look = () => {
          const pane = document.getElementById('pane')
          const last = document.querySelector('.chat > li:last-child .markdown')
          const there = location.hash.endsWith(`/${id}`) && pane?.textContent.includes(`Step ${count / 2 - 1} reads`) && last?.textContent.includes('This is the end.') && pane.scrollHeight - pane.scrollTop - pane.clientHeight < 2
          if (!there) return requestAnimationFrame(look)
          const { port1, port2 } = new MessageChannel()
          port1.onmessage = () => done(performance.now() - began)
          port2.postMessage(0)
        }
        requestAnimationFrame(look)
      }),
    [id, count],
  )

// pressing presses a key in the composer, and returns the milliseconds from its event to the end of the
// next frame.
async function pressing(page) {
  const took = page.evaluate(
    () =>
      new Promise((done) =>
        addEventListener(
          'keydown',
          (e) =>
            requestAnimationFrame(() => {
              const { port1, port2 } = new MessageChannel()
              port1.onmessage = () => done(performance.now() - e.timeStamp)
              port2.postMessage(0)
            }),
          { once: true, capture: true },
        ),
      ),
  )
  await page.waitForTimeout(50)
  await page.keyboard.press('a')
  return took
}

const median = (list) => list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)]

// inView returns whether the composer and the end of the chat are in view.
const inView = (page) =>
  page.evaluate(() => {
    const pane = document.getElementById('pane')
    const composer = document.querySelector('.composer').getBoundingClientRect()
    return composer.top >= 0 && composer.bottom <= innerHeight && pane.scrollHeight - pane.scrollTop - pane.clientHeight < 2
  })

const tandem = await serve()
const browser = await launch()
try {
  const { page } = await open(browser, { link: tandem.link })
  await page.getByRole('button', { name: 'Chat', exact: true }).click()
  await page.getByRole('button', { name: 'Chat with the demo model anyway' }).click()
  const long = await keep(page, texts(messages))
  const others = []
  for (let n = 1; n <= 9; n++) others.push([await keep(page, texts(4 + 2 * n)), 4 + 2 * n])
  const took = { open: [], key: [] }
  for (let n = 0; n < times; n++) {
    await opening(page, ...others[0])
    await page.waitForTimeout(200)
    took.open.push(await opening(page, long, messages))
    await page.waitForTimeout(300)
  }
  await page.waitForTimeout(3000) // the older messages are there
  const shown = await page.locator('.chat > li').count()
  await page.getByLabel('Message', { exact: true }).focus()
  for (let n = 0; n < times; n++) took.key.push(await pressing(page))
  await page.getByLabel('Message', { exact: true }).fill('')

  let seen = 0
  for (const [width, height] of [[1280, 800], [1440, 900], [1000, 700]]) {
    await page.setViewportSize({ width, height })
    for (const [id, count] of [...others, [long, messages]]) {
      await opening(page, id, count)
      await page.waitForTimeout(300)
      if (await inView(page)) seen++
    }
  }

  const results = [
    [`a chat of ${messages} messages opens in`, median(took.open), most.open, 'ms', Math.max(...took.open)],
    [`with ${shown} messages a key takes`, median(took.key), most.key, 'ms', Math.max(...took.key)],
  ]
  console.log(`load ${loadavg()[0].toFixed(1)}; medians of ${times}`)
  for (const [what, is, limit, unit, worst] of results) {
    const met = is < limit
    console.log(`${what} ${is.toFixed(1)} ${unit}, ${worst.toFixed(1)} at worst; less than ${limit}: ${met ? 'met' : 'missed'}`)
    if (!met) process.exitCode = 1
  }
  console.log(`the composer and the end are in view in ${seen} of 30`)
  if (seen < 30) process.exitCode = 1
} finally {
  await browser.close()
  await tandem.stop()
}
