// A small server for the built page. It answers requests for the state with an example, and sends
// all other requests to the real Tandem.

import { createReadStream, existsSync, readFileSync } from 'node:fs'
import { createServer, request } from 'node:http'
import { basename, join } from 'node:path'

const dist = new URL('../dist/', import.meta.url).pathname
const examples = new URL('../../app/control/testdata/', import.meta.url).pathname
const kinds = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css' }

export const example = (kind, name) => JSON.parse(readFileSync(join(examples, kind, `${name}.json`), 'utf8'))

// serve answers GET /app/state by answer(response), which may leave the response open. Without one
// the real Tandem answers. It answers the paths in others by the functions there.
export async function serve(tandem, answer, others = {}) {
  const server = createServer((req, res) => {
    const { pathname } = new URL(req.url, 'http://x')
    if (pathname in others) return others[pathname](req, res)
    if (pathname === '/app/state' && answer) return answer(res)
    if (pathname.startsWith('/app/') || pathname.startsWith('/v1/')) {
      const { hostname, port, host } = new URL(tandem)
      const headers = { ...req.headers, host }
      for (const name of ['origin', 'referer', 'sec-fetch-site']) delete headers[name]
      const passed = request({ hostname, port, path: req.url, method: req.method, headers }, (from) => {
        res.writeHead(from.statusCode, from.headers)
        from.pipe(res)
      })
      passed.on('error', () => res.destroy())
      res.on('close', () => passed.destroy()) // a stream ends with its reader
      return req.pipe(passed)
    }
    const file = pathname === '/' ? 'index.html' : join('assets', basename(pathname))
    if (!existsSync(join(dist, file))) return res.writeHead(404).end()
    res.writeHead(200, { 'Content-Type': kinds[file.slice(file.lastIndexOf('.'))] ?? 'application/octet-stream' })
    createReadStream(join(dist, file)).pipe(res)
  })
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening))
  return {
    url: `http://127.0.0.1:${server.address().port}/`,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

// State streams one state, then stays silent.
export const state = (st) => (res) => {
  res.writeHead(200, { 'Content-Type': 'text/event-stream' })
  res.write(`data: ${JSON.stringify({ rev: 1, ...st })}\n\n`)
}

// failure answers with an error.
export const failure =
  ({ status, error }) =>
  (res) =>
    res.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify({ error }))

// silence hangs up.
export const silence = (res) => res.destroy()
