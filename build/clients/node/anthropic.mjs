// Talks to a server on the scripted engine (libraries.json) with @anthropic-ai/sdk: node anthropic.mjs BASE_URL

import Anthropic from '@anthropic-ai/sdk'
import { check, comesAgain, failsOnce, letGo, run, weather } from './checks.mjs'

const base = process.argv[2]
const client = new Anthropic({ baseURL: base, apiKey: 'unused', maxRetries: 0, timeout: 60_000 })
const tools = [{ name: 'weather', description: 'of a city', input_schema: weather }]
const question = (text, more = {}) => ({ model: 'tandem', max_tokens: 1000, messages: [{ role: 'user', content: text }], ...more })
const ask = (text, more) => client.messages.create(question(text, more))

async function refused(kind, words, more, text = 'say pong') {
  try {
    await ask(text, more)
  } catch (e) {
    check(e instanceof kind && e.message.includes(words) && e.requestID, `${e.constructor.name} ${e.requestID}: ${e.message}`)
    return
  }
  check(false, `accepted ${JSON.stringify(more).slice(0, 200)}`)
}

await run({
  models: async () => {
    const ids = []
    for await (const m of client.models.list()) ids.push(m.id)
    check(ids[0] === 'tandem' && ids.length > 1, ids)
  },
  chat: async () => {
    const whole = await ask('say pong')
    check(whole.content[0].text === 'pong' && whole.stop_reason === 'end_turn', whole)
  },
  'chat, streamed': async () => {
    const final = await client.messages.stream(question('say pong')).finalMessage()
    check(final.content[0].text === 'pong' && final.usage.output_tokens > 0, final)
  },
  tools: async () => {
    const messages = [{ role: 'user', content: 'What is the weather in Paris?' }]
    const answer = await client.messages.create({ model: 'tandem', max_tokens: 1000, messages, tools })
    const call = answer.content[1]
    check(answer.stop_reason === 'tool_use' && call.name === 'weather' && call.input.city === 'Paris' && call.input.days === 2, answer)
    messages.push({ role: 'assistant', content: answer.content })
    messages.push({ role: 'user', content: [{ type: 'tool_result', tool_use_id: call.id, content: 'raining' }] })
    const last = await client.messages.create({ model: 'tandem', max_tokens: 1000, messages, tools })
    check(last.content[0].text === 'In Paris it is raining.', last)
  },
  'tools, streamed and parallel': async () => {
    const final = await client.messages.stream(question('the weather in Oslo and Rome?', { tools })).finalMessage()
    const cities = final.content.filter((b) => b.type === 'tool_use').map((b) => b.input.city)
    check(cities.join() === 'Oslo,Rome', final)
  },
  tool_choice: async () => {
    const named = await ask('call it', { tools, tool_choice: { type: 'tool', name: 'weather' } })
    check(named.content.some((b) => b.type === 'tool_use' && b.name === 'weather'), named)
  },
  reasoning: async () => {
    const more = { thinking: { type: 'enabled', budget_tokens: 1024 }, max_tokens: 2000 }
    const final = await client.messages.stream(question('Think, then add 2 and 2.', more)).finalMessage()
    check(final.content[0].thinking === 'Two and two.' && final.content[0].signature && final.content[1].text === 'Four.', final)
  },
  'JSON schema': async () => {
    const schema = { type: 'object', properties: { word: { enum: ['pong'] } }, required: ['word'], additionalProperties: false }
    const answer = await ask('say pong in JSON', { output_config: { format: { type: 'json_schema', schema } } })
    check(JSON.parse(answer.content[0].text).word === 'pong', answer)
  },
  'counted tokens': async () => {
    const counted = await client.messages.countTokens({ model: 'tandem', messages: question('say pong').messages, tools })
    const { usage } = await ask('say pong', { tools })
    check(counted.input_tokens === usage.input_tokens + usage.cache_read_input_tokens, { counted, usage })
  },
  errors: async () => {
    await refused(Anthropic.NotFoundError, 'no-such-model', { model: 'no-such-model' })
    await refused(Anthropic.BadRequestError, 'max_tokens', { max_tokens: -7 })
    await refused(Anthropic.BadRequestError, '> 131072', {}, 'a b '.repeat(100_000))
  },
  // The library repeats a request that the server refused for the moment. It does not repeat a request that failed.
  retries: async () => {
    const stubborn = async (text) => (await client.messages.create(question(text), { maxRetries: 2 })).content[0].text
    await comesAgain(base, stubborn)
    await failsOnce(base, stubborn)
  },
  'error amid a stream': async () => {
    let text = ''
    try {
      for await (const e of await ask('fail midway', { stream: true })) text += e.delta?.text ?? ''
    } catch (e) {
      check(e instanceof Anthropic.APIError && text.startsWith('half'), `${e} after ${text}`)
      return
    }
    check(false, `no error after ${text}`)
  },
  // The timeout is how long the library waits for the headers of an answer. They come with the first sign of life.
  'keep-alive': async () => {
    const final = await client.messages.stream(question('think for long'), { timeout: 3000 }).finalMessage()
    check(final.content[0].text === 'done', final)
  },
  disconnect: async () => {
    for await (const e of await ask('count slowly', { stream: true })) if (e.type === 'content_block_delta') break // this aborts it
    await letGo(base, 'a stream')
  },
})
