import assert from 'node:assert/strict'
import { mock, test } from 'node:test'

// An open channel would keep the test from ending.
Object.assign(globalThis, { location: new URL('http://localhost/'), sessionStorage: { getItem: () => null }, BroadcastChannel: class {} })
const { Generation } = await import('./generate.ts')

// A server that never ends an answer once it has begun. It may not answer a cancel either.
function endless(accepts: boolean): Promise<void> {
  return new Promise((begun) => {
    globalThis.fetch = (path, init) => {
      const { signal } = init!
      if (String(path).endsWith('/cancel')) {
        if (accepts) return Promise.resolve(Response.json({}))
        return new Promise((_, reject) => signal!.addEventListener('abort', () => reject(signal!.reason as Error)))
      }
      const body = new ReadableStream<Uint8Array>({
        start(c) {
          signal!.addEventListener('abort', () => c.error(signal!.reason))
          c.enqueue(new TextEncoder().encode('data: {"model":"tiny","choices":[{"text":"so","finish_reason":null}]}\n\n'))
        },
      })
      begun()
      return Promise.resolve(new Response(body))
    }
  })
}

for (const accepts of [true, false])
  test(`a page leaves an answer that does not end, if the server ${accepts ? 'takes' : 'ignores'} its cancel`, async () => {
    mock.timers.enable({ apis: ['setTimeout'] })
    try {
      const begun = endless(accepts)
      const g = new Generation()
      let grew: () => void
      const text = new Promise<void>((done) => (grew = done))
      const over = g.run({ prompt: 'x', max_tokens: 9 }, () => g.answer.text && grew())
      await begun
      await text
      const stopped = g.stop()
      mock.timers.tick(10_000)
      await stopped
      await over
      assert.equal(g.answer.finish, 'stopped')
      assert.equal(g.answer.text, 'so')
    } finally {
      mock.timers.reset()
    }
  })

test('an answer that ended by itself before its stop keeps its own end', async () => {
  let end: () => void
  const asked = new Promise<void>((done) => (end = done))
  globalThis.fetch = (path) => {
    if (String(path).endsWith('/cancel')) {
      end()
      return Promise.resolve(Response.json({ error: { message: 'There is no such run.', code: 'run_not_found' } }, { status: 404 }))
    }
    const body = new ReadableStream<Uint8Array>({
      async start(c) {
        const say = (finish: string | null): void => c.enqueue(new TextEncoder().encode(`data: ${JSON.stringify({ model: 'tiny', choices: [{ text: 'so', finish_reason: finish }] })}\n\n`))
        say(null)
        await asked
        say('stop')
        c.close()
      },
    })
    return Promise.resolve(new Response(body))
  }
  const g = new Generation()
  let grew: () => void
  const text = new Promise<void>((done) => (grew = done))
  const over = g.run({ prompt: 'x', max_tokens: 9 }, () => g.answer.text && grew())
  await text
  await g.stop()
  await over
  assert.equal(g.answer.finish, 'stop')
  assert.equal(g.answer.text, 'soso')
})
