// Measures the cost of showing a streaming answer: 8,000 tokens of Markdown at 200 tokens a second.
// The cost is a share of one core: TaskDuration of Chromium's main thread, divided by the wall
// clock. The target is below 30 %. The program prints whether it is met, and exits with 1 if not.
//
//   go run ./build test ui    # once, because it builds the page and the program
//   cd frontend && TANDEM=../build/out/linux-amd64/cli/tandem node bench/stream.mjs [--tokens 8000] [--rate 200] [--tinted] [--thread]
//
// The page is the real one, from a server with a home of its own. Two things are answered here: the
// requests to /v1/chat/completions, and the state, which tells of such a request as Tandem would. So the
// page shows the ribbon and the speed of the growing answer. The program prints the rate and the load of the machine
// beside the figure. A busy machine makes the figure worse, because a task lasts while its thread
// waits for a core. --thread counts only the time on the core.

import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, request } from 'node:http'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'

import { launch } from '../test/browser.mjs'

const { values } = parseArgs({ options: { tokens: { type: 'string', default: '8000' }, rate: { type: 'string', default: '200' }, tinted: { type: 'boolean', default: false }, thread: { type: 'boolean', default: false } } })
const most = 30 // percent of a core
const tokens = Number(values.tokens)
const rate = Number(values.rate)

// answer is Markdown as models write it: headings, prose, lists, code and tables. Its pieces have
// about four letters, like tokens.
function answer(count) {
  const parts = (n) => [
    `## Step ${n}: read the *input*\n\n`,
    `The function takes a slice and returns **another** one; see [the documentation](https://example.com/${n}) for what \`len\` means here. It never panics, and what it returns is the caller's to keep. ${'That is so for every element, whatever its place. '.repeat(3)}\n\n`,
    `- first, check the **length** of item ${n}\n- then walk over it, \`for i := range xs\`\n  - the inner list says more\n  - and more still\n- last, return what there is\n\n`,
    '```go\n' + `// Step${n} does what step ${n} says.\nfunc Step${n}(xs []int) (sum int, err error) {\n\tfor i, x := range xs {\n\t\tif x < 0 {\n\t\t\treturn 0, fmt.Errorf("item %d is negative: %d", i, x)\n\t\t}\n\t\tsum += x\n\t}\n\treturn sum, nil\n}\n`.repeat(2) + '```\n\n',
    `| case | input | result |\n| --- | --- | ---: |\n${Array.from({ length: 6 }, (_, i) => `| ${i} | \`[]int{${i}, ${n}}\` | ${i + n} |\n`).join('')}\n`,
    `> Note: what was said in step ${n} holds for maps too.\n\n1. Build it.\n2. Run it.\n3. Compare.\n\n`,
  ]
  const list = []
  for (let n = 1; list.length < count; n++) list.push(...(parts(n).join('').match(/[\s\S]{1,4}/g) ?? []))
  return list.slice(0, count)
}

// active is the request that is being answered, as the state tells of it.
const active = []

// follow streams the state of the server, and then what changes in active, twice a second as Tandem does.
async function follow(req, res, target) {
  const whole = await (await fetch(`${target}/app/state`, { headers: { Authorization: req.headers.authorization } })).json()
  res.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-cache' })
  res.write(`data: ${JSON.stringify({ ...whole, rev: 1 })}\n\n`)
  let rev = 1
  let told = '[]'
  const timer = setInterval(() => {
    if (JSON.stringify(active) === told) return
    told = JSON.stringify(active)
    res.write(`data: ${JSON.stringify({ rev: ++rev, active })}\n\n`)
  }, 500)
  res.on('close', () => clearInterval(timer))
}

// stream answers a chat at the rate, with one token an event, as Tandem does.
async function stream(res) {
  res.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-cache', 'X-Tandem-Run': '1' })
  const run = { run_id: 1, endpoint: '/v1/chat/completions', model: 'pocket', client: 'Tandem', started_at: new Date().toISOString(), prompt_done: 9, prompt_tokens: 9, completion_tokens: 0, per_second: rate, verifies: 0, accepted: 0 }
  active.push(run)
  const send = (delta, finish, extra = {}) =>
    res.write(`data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'pocket', choices: [{ index: 0, delta, logprobs: null, finish_reason: finish, draft: { proposed: 1, accepted: Number(Math.random() < 0.6) } }], usage: null, ...extra })}\n\n`)
  const began = performance.now()
  const list = answer(tokens)
  for (const [i, content] of list.entries()) {
    const wait = began + (1000 * i) / rate - performance.now()
    if (wait > 0) await new Promise((done) => setTimeout(done, wait))
    send({ content }, null)
    Object.assign(run, { completion_tokens: i + 1, verifies: (i >> 1) + 1, accepted: i >> 1 })
  }
  active.pop()
  const took = performance.now() - began
  const timings = { cache_n: 0, prompt_n: 9, prompt_ms: 9, predicted_n: tokens, predicted_ms: took, predicted_per_second: (1000 * tokens) / took, draft_n: 0, draft_n_accepted: 0, tokens_per_verify: 0, restore_ms: 0, run_id: 1 }
  send({}, 'stop', { timings })
  res.end('data: [DONE]\n\n')
}

// front is a proxy before the server. It answers chats itself.
function front(target) {
  return createServer((req, res) => {
    if (req.url === '/v1/chat/completions') return void req.resume().on('end', () => void stream(res))
    if (req.url === '/app/state') return void follow(req, res, target)
    const headers = { ...req.headers, host: new URL(target).host }
    delete headers.origin
    const on = request(target + req.url, { method: req.method, headers }, (answer) => {
      res.writeHead(answer.statusCode, answer.headers)
      answer.pipe(res)
    })
    on.on('error', () => res.destroy())
    res.on('close', () => on.destroy())
    req.pipe(on)
  })
}

const home = mkdtempSync(join(tmpdir(), 'tandem-home-'))
const serve = spawn(process.env.TANDEM ?? 'tandem', ['serve', '--addr', '127.0.0.1:0', '--model', 'pocket'], { env: { ...process.env, TANDEM_HOME: home }, stdio: ['ignore', 'pipe', 'inherit'] })
const lines = createInterface({ input: serve.stdout })[Symbol.asyncIterator]()
const target = (await lines.next()).value
const code = new URL((await lines.next()).value).hash
const server = front(target).listen(0, '127.0.0.1')
await new Promise((done) => server.on('listening', done))

const browser = await launch()
try {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } })
  await page.goto(`http://127.0.0.1:${server.address().port}/${code}`)
  if ((await page.locator('nav').count()) === 0) throw new Error('this tandem has no interface; run `go run ./build test ui`')
  await page.getByRole('button', { name: 'Skip the first steps' }).click()
  await page.getByRole('button', { name: 'Chat', exact: true }).click()
  await page.getByRole('button', { name: 'Chat with the demo model anyway' }).click()
  if (values.tinted) {
    const tint = page.getByLabel('Tint words that were drafted')
    if (!(await tint.isVisible())) await page.locator('.toolbar').getByRole('button', { name: 'Options' }).click()
    await tint.check()
  }
  const cdp = await page.context().newCDPSession(page)
  await cdp.send('Performance.enable', { timeDomain: values.thread ? 'threadTicks' : 'timeTicks' })
  const metrics = async () => Object.fromEntries((await cdp.send('Performance.getMetrics')).metrics.map((m) => [m.name, m.value]))
  await page.getByLabel('Message', { exact: true }).fill('Explain.')
  const load = loadavg()[0]
  const before = await metrics()
  const began = performance.now()
  await page.getByLabel('Message', { exact: true }).press('Enter')
  await page.locator('.timings .ribbon').waitFor() // while it is written
  if (await page.locator('.timings[title*=" a second"]').count()) throw new Error('the answer ended before its ribbon was there')
  await page.locator('.timings[title*=" a second"]').waitFor({ timeout: 600_000 })
  const wall = (performance.now() - began) / 1000
  const after = await metrics()
  const end = await page.evaluate(() => {
    const pane = document.getElementById('pane')
    return pane.scrollHeight - pane.scrollTop - pane.clientHeight
  })
  if (!values.tinted && (await page.locator('.markdown .keyword').count()) === 0) throw new Error('the code has no colours')
  if (end > 100) throw new Error(`the page does not follow the answer: its end is ${end} px away`)
  const percent = (name) => (100 * (after[name] - before[name])) / wall
  const share = (name) => `${percent(name).toFixed(1)} %`
  console.log(`${tokens} tokens of Markdown in ${wall.toFixed(1)} s, ${(tokens / wall).toFixed(0)} a second; load ${load.toFixed(1)} before, ${loadavg()[0].toFixed(1)} after`)
  console.log(`of one core${values.thread ? ', by the thread’s own time' : ''}: ${share('TaskDuration')} in all; ${share('ScriptDuration')} script, ${share('LayoutDuration')} layout, ${share('RecalcStyleDuration')} style`)
  const met = percent('TaskDuration') < most
  console.log(`less than ${most} % of a core in all: ${met ? 'met' : 'missed'}`)
  if (!met) process.exitCode = 1
} finally {
  await browser.close()
  server.closeAllConnections()
  server.close()
  serve.kill()
  rmSync(home, { recursive: true, force: true })
}
