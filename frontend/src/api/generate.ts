import { stream } from './client.ts'

// A Message is one of a chat.
export interface Message {
  role: 'system' | 'user' | 'assistant'
  content: string
}

// Timings is what a reply says of itself, in milliseconds and tokens.
export interface Timings {
  cache_n: number
  prompt_n: number
  prompt_ms: number
  predicted_n: number
  predicted_ms: number
  predicted_per_second: number
  draft_n: number
  draft_n_accepted: number
  tokens_per_verify: number
  restore_ms: number
  run_id: number
}

// An Answer grows while it is generated.
export interface Answer {
  pieces: Piece[]
  finish: string // why it ended, empty while it has not
  timings: Timings | null
}

// A Piece is text whose tokens were all drafted, or none.
export interface Piece {
  text: string
  drafted: boolean
}

interface Chunk {
  choices: { text?: string; delta?: { content?: string }; finish_reason: string | null; draft?: { proposed: number; accepted: number } }[]
  timings?: Timings
}

// generate asks for an answer and calls changed as it grows.
export async function generate(ask: { messages: Message[] } | { prompt: string }, signal: AbortSignal, changed: (a: Answer) => void): Promise<Answer> {
  const answer: Answer = { pieces: [], finish: '', timings: null }
  const path = 'messages' in ask ? '/v1/chat/completions' : '/v1/completions'
  const body = { model: 'tandem', stream: true, stream_options: { include_usage: true }, return_draft_info: true, max_tokens: 1024, ...ask }
  for await (const data of stream(path, { method: 'POST', body: JSON.stringify(body), signal })) {
    const chunk = JSON.parse(data) as Chunk
    if (chunk.timings) answer.timings = chunk.timings
    const [choice] = chunk.choices
    if (choice) {
      const text = choice.text ?? choice.delta?.content ?? ''
      const drafted = (choice.draft?.accepted ?? 0) > 0
      const end = answer.pieces.at(-1)
      if (end && end.drafted === drafted) end.text += text
      else if (text !== '') answer.pieces.push({ text, drafted })
      if (choice.finish_reason) answer.finish = choice.finish_reason
    }
    changed(answer)
  }
  return answer
}
