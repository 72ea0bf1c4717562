import { factsOf } from './facts.ts'
import type { Ask, Said } from './generate.ts'
import type { Options, Usual } from './options.ts'
import type { Message } from './types.ts'

export const usualTokens = 1024 // the limit of an answer, if nothing else sets one

// A Setting is what the answers of a talk are asked for with.
export interface Setting {
  kind: 'chat' | 'code'
  system: string
  options: Options
  usual: Usual
}

// askOf returns the request for an answer to the last message of a branch. again means that there is
// an answer already: another one has another temperature, because at 0 the same would come.
export function askOf({ kind, system, options, usual }: Setting, path: Message[], again: boolean): Ask {
  const temperature = options.temperature ?? (again ? usual.again : usual.temperature)
  const how = {
    max_tokens: options.max_tokens ?? usual.max_tokens ?? usualTokens,
    ...(temperature === undefined ? {} : { temperature }),
    ...(options.top_p == null ? {} : { top_p: options.top_p }),
    ...(options.draft === false ? { speculation: { drafter: 'none' } } : {}),
  }
  if (kind === 'code') {
    const prompt = path.at(-1)?.content ?? ''
    const { stop } = usual
    // Right after a whole function, a stop text would come first and end the answer.
    return { prompt, ...how, ...(stop && !/\n[)}]$/.test(prompt) ? { stop } : {}) }
  }
  const messages: Said[] = path.map((m) => {
    const { role, content } = m
    const { thought } = factsOf(m)
    return { role, content, ...(thought ? { reasoning: thought } : {}) }
  })
  if (system.trim() !== '') messages.unshift({ role: 'system', content: system })
  return { messages, ...how, ...(options.effort ? { reasoning_effort: options.effort } : {}) }
}
