// A Tandem for one test: it has a fresh home, only the test's own models, and a hub in the test.

import { execFileSync, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const pocket = join(dirname(fileURLToPath(import.meta.url)), '..', '..', 'models', 'pocket')
const modelFiles = readdirSync(pocket).filter((name) => /\.(json|jinja|safetensors)$/.test(name))

// model copies the pocket model into a folder, as a model of another program.
export function model(dir) {
  mkdirSync(dir, { recursive: true })
  for (const name of modelFiles) cpSync(join(pocket, name), join(dir, name))
}

export const commit = '0123456789abcdef0123456789abcdef01234567'

// hub serves like a Hugging Face hub. It has a model under two names, lab/tiny and lab/kept, and
// lab/closed, which asks for permission. Weights stop in their middle while held is true. The hub
// records the requested ranges.
export async function hub() {
  const files = Object.fromEntries(modelFiles.map((name) => [name, readFileSync(join(pocket, name))]))
  const etag = (name, body) =>
    name.endsWith('.safetensors') ? createHash('sha256').update(body).digest('hex') : createHash('sha1').update(`blob ${body.length}\0`).update(body).digest('hex')
  const state = { held: true, ranges: [] }
  const server = createServer((req, res) => {
    const path = new URL(req.url, 'http://hub').pathname.slice(1)
    if (path.startsWith('api/models/lab/closed/')) return res.writeHead(403, { 'X-Error-Code': 'GatedRepo' }).end()
    if (path.startsWith('api/models/')) {
      const siblings = Object.entries(files).map(([rfilename, body]) => ({ rfilename, size: body.length }))
      return res.end(JSON.stringify({ sha: commit, siblings }))
    }
    const name = path.split('/').at(-1)
    const body = files[name]
    if (!['tiny', 'kept'].some((model) => path.startsWith(`lab/${model}/resolve/${commit}/`)) || !body) return res.writeHead(404, { 'X-Error-Code': 'EntryNotFound' }).end()
    const from = Number(/^bytes=(\d+)-$/.exec(req.headers.range ?? '')?.[1] ?? 0)
    const headers = { 'X-Repo-Commit': commit, ETag: `"${etag(name, body)}"`, 'Content-Length': body.length - from }
    if (from > 0) headers['Content-Range'] = `bytes ${from}-${body.length - 1}/${body.length}`
    res.writeHead(from > 0 ? 206 : 200, headers)
    if (req.method === 'HEAD') return res.end()
    if (name.endsWith('.safetensors')) state.ranges.push(req.headers.range ?? '')
    if (state.held && name.endsWith('.safetensors')) return res.write(body.subarray(from, Math.max(from, body.length / 2)))
    res.end(body.subarray(from))
  })
  await new Promise((done) => server.listen(0, '127.0.0.1', done))
  return { url: `http://127.0.0.1:${server.address().port}`, state, stop: () => (server.closeAllConnections(), server.close()) }
}

// serve starts a Tandem with these flags. Its home, the user's home and the hub's cache lie in dir.
export async function serve(env = {}, flags = ['--model', 'pocket']) {
  const dir = mkdtempSync(join(tmpdir(), 'tandem-test-'))
  const all = { ...process.env, TANDEM_HOME: join(dir, 'home'), HOME: dir, HF_HOME: join(dir, 'huggingface'), HF_HUB_OFFLINE: '', HF_HUB_CACHE: '', HF_TOKEN: '', ...env }
  let child
  const start = async () => {
    child = spawn(process.env.TANDEM, ['serve', '--addr', '127.0.0.1:0', ...flags], { env: all, stdio: ['ignore', 'pipe', 'inherit'] })
    await new Promise((done, failed) => {
      child.once('exit', (code) => failed(new Error(`tandem serve ended with ${code}`)))
      child.stdout.once('data', done)
    })
  }
  const end = async (signal) => {
    child.removeAllListeners('exit')
    const gone = new Promise((done) => child.once('exit', done))
    child.kill(signal)
    await gone
  }
  await start()
  return {
    dir,
    link: () => execFileSync(process.env.TANDEM, ['open', '--print'], { encoding: 'utf8', env: all }).trim(),
    stop: async () => {
      await end('SIGTERM')
      rmSync(dir, { recursive: true, force: true })
    },
  }
}
