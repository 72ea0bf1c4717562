import assert from 'node:assert/strict'
import { mock, test } from 'node:test'

Object.assign(globalThis, { location: new URL('http://localhost/'), sessionStorage: { getItem: () => null }, BroadcastChannel: class {} })
const { tryProgram } = await import('./trial.ts')

// serve answers the request, and then each look at its run. It returns how often that was.
function serve(run: object): () => number {
  let looks = 0
  globalThis.fetch = (path) => {
    if (path !== '/app/runs/7') return Promise.resolve(new Response('{}', { headers: { 'X-Tandem-Run': '7' } }))
    looks++
    return Promise.resolve(Response.json(run))
  }
  return () => looks
}

test('a trial returns the run after its end, and does not wait for ever', async () => {
  mock.timers.enable({ apis: ['setTimeout'] })
  serve({ id: 7, ended_at: '2026-11-27T14:00:00Z' })
  assert.equal((await tryProgram('claude')).id, 7)

  const looks = serve({ id: 7 })
  const failed = assert.rejects(tryProgram('codex'), /run 7 has not ended/)
  for (let n = 0; n < 100; n++) {
    await new Promise((next) => setImmediate(next))
    mock.timers.tick(1000)
  }
  await failed
  assert.ok(looks() > 5 && looks() < 100)
  mock.timers.reset()
})
