// Checks for the clients in JavaScript.

export function check(condition, what) {
  if (!condition) throw new Error(typeof what === 'string' ? what : JSON.stringify(what))
}

// run runs functions under the names of the features that they check.
export async function run(tests) {
  for (const [feature, test] of Object.entries(tests)) {
    await test()
    console.log(`ok ${feature}`)
  }
}

export async function inFlight(base) {
  const text = await (await fetch(base + '/metrics')).text()
  return Number(text.match(/^tandem_requests_in_flight (\S+)$/m)[1])
}

// refusals returns how many requests the server has refused with a status.
export async function refusals(base, code) {
  const text = await (await fetch(base + '/metrics')).text()
  return [...text.matchAll(new RegExp(`^tandem_requests_total\\{code="${code}",\\S* (\\S+)$`, 'gm'))].reduce((sum, m) => sum + Number(m[1]), 0)
}

// comesAgain fails unless the library sends ask again at the time that the server named. The server refuses it once.
export async function comesAgain(base, ask) {
  const before = await refusals(base, 503)
  const start = performance.now()
  const said = await ask('come again')
  const took = performance.now() - start
  const refused = (await refusals(base, 503)) - before
  check(said === 'pong' && refused === 1, `${said}, refused ${refused} times`)
  // Without a time from the server, the library waits half a second.
  check(took > 900, `the request was repeated after ${took} ms; the server asked for 1 s`)
}

// failsOnce fails unless ask, which the server cannot answer, is sent once.
export async function failsOnce(base, ask) {
  const before = await refusals(base, 500)
  const failed = await ask('fail midway').then(() => false, () => true)
  const times = (await refusals(base, 500)) - before
  check(failed && times === 1, `a request that failed was sent ${times} times, want 1`)
}

// letGo fails unless the server is idle within 10 s.
export async function letGo(base, what) {
  for (let i = 0; i < 100; i++) {
    if ((await inFlight(base)) === 0) return
    await new Promise((done) => setTimeout(done, 100))
  }
  check(false, `${what}: the request goes on after its client left`)
}

// weather is the tool that the script calls.
export const weather = {
  type: 'object',
  properties: { city: { type: 'string' }, days: { type: 'integer' } },
  required: ['city', 'days'],
}
