// Talks to a server on the scripted engine (libraries.json) with the package openai: node openai.mjs BASE_URL

import OpenAI from 'openai'
import { check, comesAgain, failsOnce, inFlight, letGo, run, weather } from './checks.mjs'

const base = process.argv[2]
const client = new OpenAI({ baseURL: base + '/v1', apiKey: 'unused', maxRetries: 0, timeout: 60_000 })
const tools = [{ type: 'function', function: { name: 'weather', description: 'of a city', parameters: weather } }]
const ask = (text, more = {}, options = {}) =>
  client.chat.completions.create({ model: 'tandem', messages: [{ role: 'user', content: text }], ...more }, options)

async function refused(kind, code, more) {
  try {
    await ask('say pong', more)
  } catch (e) {
    check(e instanceof kind && e.code === code && e.requestID, `${e.constructor.name} ${e.code} ${e.requestID}: ${e.message}`)
    return e.message
  }
  check(false, `accepted ${JSON.stringify(more).slice(0, 200)}`)
}

await run({
  models: async () => {
    const ids = []
    for await (const m of await client.models.list()) ids.push(m.id)
    check(ids[0] === 'tandem' && ids.length > 1, ids)
    check((await client.models.retrieve(ids[1])).id === ids[1], `the model ${ids[1]} is not found by its id`)
  },
  chat: async () => {
    const whole = await ask('say pong')
    check(whole.choices[0].message.content === 'pong' && whole.choices[0].finish_reason === 'stop', whole)
  },
  'chat, streamed': async () => {
    const final = await client.chat.completions
      .stream({ model: 'tandem', messages: [{ role: 'user', content: 'say pong' }], stream_options: { include_usage: true } })
      .finalChatCompletion()
    check(final.choices[0].message.content === 'pong' && final.usage.completion_tokens > 0, final)
  },
  completions: async () => {
    const whole = await client.completions.create({ model: 'tandem', prompt: '<|im_start|>user\nsay pong<|im_end|>\n<|im_start|>assistant\n' })
    check(whole.choices[0].text === 'pong', whole)
  },
  // The library's own loop calls the function and sends what it returns.
  tools: async () => {
    const asked = []
    const runner = client.chat.completions.runTools({
      model: 'tandem',
      messages: [{ role: 'user', content: 'What is the weather in Paris?' }],
      tools: [{
        type: 'function',
        function: {
          name: 'weather', description: 'of a city', parameters: weather, parse: JSON.parse,
          function: (args) => { asked.push(args); return 'raining' },
        },
      }],
    })
    check((await runner.finalContent()) === 'In Paris it is raining.', await runner.finalContent())
    check(JSON.stringify(asked) === '[{"city":"Paris","days":2}]', asked)
  },
  'tools, streamed and parallel': async () => {
    const final = await client.chat.completions
      .stream({ model: 'tandem', messages: [{ role: 'user', content: 'the weather in Oslo and Rome?' }], tools })
      .finalChatCompletion()
    const calls = final.choices[0].message.tool_calls.map((c) => [c.function.name, JSON.parse(c.function.arguments).city])
    check(JSON.stringify(calls) === '[["weather","Oslo"],["weather","Rome"]]' && final.choices[0].finish_reason === 'tool_calls', final)
  },
  tool_choice: async () => {
    const none = await ask('say pong', { tools, tool_choice: 'none' })
    check(none.choices[0].message.content === 'pong', none)
    const named = await ask('call it', { tools, tool_choice: { type: 'function', function: { name: 'weather' } }, max_tokens: 400 })
    check(named.choices[0].message.tool_calls[0].function.name === 'weather', named)
  },
  reasoning: async () => {
    const message = (await ask('Think, then add 2 and 2.')).choices[0].message
    check(message.content === 'Four.' && message.reasoning_content === 'Two and two.', message)
  },
  'JSON schema': async () => {
    const schema = { type: 'object', properties: { word: { enum: ['pong'] } }, required: ['word'], additionalProperties: false }
    const answer = await ask('say pong in JSON', { response_format: { type: 'json_schema', json_schema: { name: 'w', strict: true, schema } }, max_tokens: 200 })
    check(JSON.parse(answer.choices[0].message.content).word === 'pong', answer)
  },
  errors: async () => {
    await refused(OpenAI.NotFoundError, 'model_not_found', { model: 'no-such-model' })
    await refused(OpenAI.BadRequestError, 'invalid_request', { temperature: -1 })
    for (const stream of [false, true]) {
      const text = await refused(OpenAI.BadRequestError, 'context_length_exceeded', { messages: [{ role: 'user', content: 'a b '.repeat(100_000) }], stream })
      check(text.includes('maximum context length is 131072 tokens'), text)
    }
  },
  // The library repeats a request that the server refused for the moment. It does not repeat a request that failed.
  retries: async () => {
    const stubborn = async (text) => (await ask(text, {}, { maxRetries: 2 })).choices[0].message.content
    await comesAgain(base, stubborn)
    await failsOnce(base, stubborn)
  },
  'error amid a stream': async () => {
    let text = ''
    try {
      for await (const chunk of await ask('fail midway', { stream: true })) text += chunk.choices[0]?.delta.content ?? ''
    } catch (e) {
      check(e instanceof OpenAI.APIError && text.startsWith('half'), `${e} after ${text}`)
      return
    }
    check(false, `no error after ${text}`)
  },
  // The timeout is how long the library waits for the headers of an answer. They come with the first sign of life.
  'keep-alive': async () => {
    let text = ''
    for await (const chunk of await ask('think for long', { stream: true }, { timeout: 3000 })) text += chunk.choices[0]?.delta.content ?? ''
    check(text === 'done', text)
  },
  disconnect: async () => {
    const stream = await ask('count slowly', { stream: true })
    for await (const _ of stream) break // this aborts it
    await letGo(base, 'a stream')
    const leave = new AbortController()
    const whole = ask('count slowly', {}, { signal: leave.signal }).then(() => check(false, 'a request that its client aborted gives an answer'), (e) => e)
    while ((await inFlight(base)) === 0) await new Promise((done) => setTimeout(done, 20))
    leave.abort()
    check((await whole) instanceof OpenAI.APIUserAbortError, await whole)
    await letGo(base, 'a whole answer')
  },
})
