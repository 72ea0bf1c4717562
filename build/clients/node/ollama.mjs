// Talks to a server on the scripted engine (libraries.json) with the package ollama: node ollama.mjs BASE_URL

import { Ollama } from 'ollama'
import { check, inFlight, letGo, run, weather } from './checks.mjs'

const base = process.argv[2]
const client = new Ollama({ host: base })
const tools = [{ type: 'function', function: { name: 'weather', description: 'of a city', parameters: weather } }]
const question = (text, more = {}) => ({ model: 'tandem', messages: [{ role: 'user', content: text }], ...more })
const ask = (text, more) => client.chat(question(text, more))
const calls = (messages) => JSON.stringify(messages.flatMap((m) => m.tool_calls ?? []).map((c) => [c.function.name, c.function.arguments]))

async function refused(status, words, more, text = 'say pong') {
  for (const stream of [false, true]) {
    try {
      await ask(text, { stream, ...more })
    } catch (e) {
      check(e.name === 'ResponseError' && e.status_code === status && e.message.includes(words), `${e.name} ${e.status_code}: ${e.message}`)
      continue
    }
    check(false, `accepted ${JSON.stringify(more)}`)
  }
}

await run({
  models: async () => {
    const names = (await client.list()).models.map((m) => m.name)
    check(names.includes('tandem:latest'), names)
    const shown = await client.show({ model: 'tandem:latest' })
    check(shown.capabilities.includes('tools') && shown.capabilities.includes('completion'), shown.capabilities)
    await ask('say pong')
    const running = (await client.ps()).models.map((m) => m.name) // under all its names
    check(running.includes('tandem:latest'), running)
  },
  chat: async () => {
    const whole = await ask('say pong')
    check(whole.message.content === 'pong' && whole.done && whole.done_reason === 'stop' && whole.eval_count > 0, whole)
    check((await ask('say pong', { options: { num_predict: 1 } })).done_reason === 'length', 'an answer of 1 token does not end by length')
  },
  'chat, streamed': async () => {
    const parts = []
    for await (const part of await ask('say pong', { stream: true })) parts.push(part)
    check(parts.map((p) => p.message.content).join('') === 'pong' && parts.length > 2, parts)
    check(parts.every((p, i) => p.done === (i === parts.length - 1)), parts)
  },
  completions: async () => {
    const whole = await client.generate({ model: 'tandem', prompt: 'say pong' })
    check(whole.response === 'pong', whole)
  },
  tools: async () => {
    const { messages } = question('What is the weather in Paris?')
    const answer = await client.chat({ model: 'tandem', messages, tools })
    check(calls([answer.message]) === '[["weather",{"city":"Paris","days":2}]]', answer)
    messages.push(answer.message, { role: 'tool', tool_name: 'weather', content: 'raining' })
    const last = await client.chat({ model: 'tandem', messages, tools })
    check(last.message.content === 'In Paris it is raining.', last)
  },
  'tools, streamed and parallel': async () => {
    const parts = []
    for await (const part of await ask('the weather in Oslo and Rome?', { tools, stream: true })) parts.push(part.message)
    check(calls(parts) === '[["weather",{"city":"Oslo","days":1}],["weather",{"city":"Rome","days":1}]]', parts)
  },
  // Ollama knows no tool_choice. The library sends a field that it does not know, and Tandem takes this one.
  tool_choice: async () => {
    const forced = await ask('call it', { tools, tool_choice: 'required', options: { num_predict: 400 } })
    check(calls([forced.message]) === '[["weather",{"city":"Rome","days":3}]]', forced)
    const free = await ask('call it', { tools })
    check(free.message.content === 'I call nothing.' && !free.message.tool_calls, free)
  },
  reasoning: async () => {
    const { message } = await ask('Think, then add 2 and 2.', { think: true })
    check(message.thinking === 'Two and two.' && message.content === 'Four.', message)
  },
  'JSON schema': async () => {
    const schema = { type: 'object', properties: { word: { enum: ['pong'] } }, required: ['word'], additionalProperties: false }
    for (const format of [schema, 'json']) {
      const { message } = await ask('say pong in JSON', { format })
      check(JSON.parse(message.content).word === 'pong', message)
    }
  },
  errors: async () => {
    await refused(404, 'no-such-model', { model: 'no-such-model' })
    await refused(400, '131072', {}, 'a b '.repeat(100_000))
  },
  'error amid a stream': async () => {
    let text = ''
    try {
      for await (const part of await ask('fail midway', { stream: true })) text += part.message.content
    } catch (e) {
      check(text.startsWith('half'), `${e} after ${text}`)
      return
    }
    check(false, `no error after ${text}`)
  },
  disconnect: async () => {
    for (const leave of [(stream) => stream.abort(), () => client.abort()]) {
      const stream = await ask('count slowly', { stream: true })
      let end
      try {
        for await (const _ of stream) leave(stream)
      } catch (e) {
        end = e
      }
      check(end?.name === 'AbortError', `the stream ends by ${end}`)
      await letGo(base, 'a stream')
    }
  },
})
