// What the clients in JavaScript share.

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

// letGo fails unless the server soon has nothing to do any more.
export async function letGo(base, what) {
  for (let i = 0; i < 100; i++) {
    if ((await inFlight(base)) === 0) return
    await new Promise((done) => setTimeout(done, 100))
  }
  check(false, `${what}: the request goes on after its client left`)
}

// weather is what the script calls.
export const weather = {
  type: 'object',
  properties: { city: { type: 'string' }, days: { type: 'integer' } },
  required: ['city', 'days'],
}
