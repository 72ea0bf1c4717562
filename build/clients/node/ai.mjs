// Talks to a server on the scripted engine (libraries.json) with the packages ai and @ai-sdk/PROVIDER:
// node ai.mjs BASE_URL PROVIDER...   (BASE_URL without /v1; PROVIDER... are openai, responses, openai-compatible anthropic)

import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { APICallError, generateText, isStepCount, jsonSchema, Output, streamText, tool } from 'ai'
import { check, inFlight, letGo, run, weather } from './checks.mjs'

const [base, ...providers] = process.argv.slice(2)
let provider
const at = { baseURL: base + '/v1', apiKey: 'unused' }
globalThis.AI_SDK_LOG_WARNINGS = false
const models = {
  openai: (name) => createOpenAI(at).chat(name),
  responses: (name) => createOpenAI(at).responses(name),
  'openai-compatible': (name) => createOpenAICompatible({ ...at, name: 'tandem', includeUsage: true, supportsStructuredOutputs: true })(name),
  anthropic: (name) => createAnthropic(at)(name),
}
const model = (name) => models[provider](name)
const question = (prompt, more = {}) => ({ model: model('tandem'), prompt, maxRetries: 0, ...more })
const ask = (prompt, more) => generateText(question(prompt, more))
const word = Output.object({
  schema: jsonSchema({ type: 'object', properties: { word: { enum: ['pong'], type: 'string' } }, required: ['word'], additionalProperties: false }),
})
const withWeather = (asked) => ({
  weather: tool({ description: 'of a city', inputSchema: jsonSchema(weather), execute: (args) => { asked.push(args); return 'raining' } }),
})

async function refused(status, words, prompt, more) {
  const quiet = { onError: () => {} }
  for (const send of [ask, async (...args) => { for await (const part of streamText({ ...question(...args), ...quiet }).fullStream) if (part.type === 'error') throw part.error }]) {
    try {
      await send(prompt, more)
    } catch (e) {
      check(APICallError.isInstance(e) && e.statusCode === status && e.message.includes(words), `${e.name} ${e.statusCode}: ${e.message}`)
      continue
    }
    check(false, `accepted ${JSON.stringify(more)}`)
  }
}

for (provider of providers) {
  console.log(`note ${provider}`)
  await run({
    chat: async () => {
      const whole = await ask('say pong')
      check(whole.text === 'pong' && whole.finishReason === 'stop' && whole.usage.outputTokens > 0, whole.steps)
      const cut = await ask('say pong', { maxOutputTokens: 1 })
      check(cut.finishReason === 'length' && cut.usage.outputTokens === 1, cut.steps)
    },
    'chat, streamed': async () => {
      const answer = streamText(question('say pong'))
      const parts = []
      for await (const part of answer.textStream) parts.push(part)
      check(parts.join('') === 'pong' && parts.length > 1, parts)
      check((await answer.finishReason) === 'stop' && (await answer.usage).outputTokens > 0, await answer.usage)
    },
    // The library calls the function and sends what it returns.
    tools: async () => {
      const asked = []
      const last = await ask('What is the weather in Paris?', { tools: withWeather(asked), stopWhen: isStepCount(3) })
      check(last.text === 'In Paris it is raining.' && JSON.stringify(asked) === '[{"city":"Paris","days":2}]', { asked, text: last.text })
    },
    'tools, streamed and parallel': async () => {
      const asked = []
      const answer = streamText(question('the weather in Oslo and Rome?', { tools: withWeather(asked) }))
      const calls = await answer.toolCalls
      check(calls.map((c) => c.input.city).join() === 'Oslo,Rome' && (await answer.finishReason) === 'tool-calls', calls)
      check(asked.length === 2 && new Set(calls.map((c) => c.toolCallId)).size === 2, asked)
    },
    tool_choice: async () => {
      for (const toolChoice of ['required', { type: 'tool', toolName: 'weather' }]) {
        const asked = []
        await ask('call it', { tools: withWeather(asked), toolChoice, maxOutputTokens: 400 })
        check(JSON.stringify(asked) === '[{"city":"Rome","days":3}]', { toolChoice, asked })
      }
      const asked = []
      const free = await ask('call it', { tools: withWeather(asked), toolChoice: 'auto' })
      check(free.text === 'I call nothing.' && asked.length === 0, { text: free.text, asked })
    },
    'JSON schema': async () => {
      const whole = await ask('say pong in JSON', { output: word, maxOutputTokens: 400 })
      check(JSON.stringify(whole.output) === '{"word":"pong"}', whole.output)
      const answer = streamText(question('say pong in JSON', { output: word, maxOutputTokens: 400 }))
      check(JSON.stringify(await answer.output) === '{"word":"pong"}', await answer.output)
    },
    errors: async () => {
      await refused(404, 'no-such-model', 'say pong', { model: model('no-such-model') })
      await refused(400, '131072', 'a b '.repeat(100_000))
      if (provider !== 'anthropic') await refused(400, 'temperature', 'say pong', { temperature: -1 }) // it sends 0 to Anthropic
    },
    disconnect: async () => {
      for (const stream of [true, false]) {
        const leave = new AbortController()
        const more = { abortSignal: leave.signal, onError: () => {} }
        const whole = (stream ? streamText(question('count slowly', more)).consumeStream() : ask('count slowly', more)).then(() => 'an answer', (e) => e)
        while ((await inFlight(base)) === 0) await new Promise((done) => setTimeout(done, 20))
        leave.abort()
        const end = await whole
        check(stream || end.name === 'AbortError', `${end}`)
        await letGo(base, stream ? 'a stream' : 'a whole answer')
      }
    },
  })
}
