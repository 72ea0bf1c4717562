import { Answer, type Timings } from './answer.ts'
import { request, stream } from './client.ts'

// A Said is a message in the endpoint's form.
export interface Said {
  role: string
  content: string
  reasoning?: string // of an answer
}

interface Chunk {
  model: string
  choices: { text?: string; delta?: { content?: string; reasoning?: string }; finish_reason: string | null; draft?: { proposed: number; accepted: number } }[]
  timings?: Timings
}

// Ask is a request: messages to answer, or a text to continue.
export type Ask = ({ messages: Said[] } | { prompt: string }) & { model?: string; max_tokens: number; temperature?: number; top_p?: number; stop?: string[]; speculation?: { drafter: string }; reasoning_effort?: string }

const endsWithin = 10_000 // milliseconds that a stopped answer may take to end: more than a round of a slow model

// A Generation is an answer that is being generated.
export class Generation {
  readonly answer = new Answer()
  readonly name = 'page-' + Array.from(crypto.getRandomValues(new Uint8Array(12)), (b) => b.toString(16).padStart(2, '0')).join('')
  stopped = false
  resumable = false // its text is kept, and can be continued after the page is left
  #begun = false
  #ended = false
  #abort = new AbortController()
  #late: ReturnType<typeof setTimeout> | undefined // runs from the stop on

  // run generates to the end. It calls changed when its run begins, and whenever the answer grows.
  run(ask: Ask, changed: () => void): Promise<void> {
    return this.follow('messages' in ask ? '/v1/chat/completions' : '/v1/completions', { model: 'tandem', return_draft_info: true, ...ask }, changed)
  }

  // follow does the same as run, for any route that generates.
  async follow(path: string, ask: object, changed: () => void): Promise<void> {
    if (this.stopped) {
      this.answer.finish = 'stopped'
      return
    }
    this.#begun = true
    const body = { stream: true, stream_options: { include_usage: true }, ...ask }
    const headers = { 'X-Tandem-Request': this.name, 'X-Tandem-Client': 'Tandem', 'X-Tandem-Resumable': String(this.resumable) }
    const init = { method: 'POST', body: JSON.stringify(body), headers, signal: this.#abort.signal }
    const a = this.answer
    a.sent = performance.now()
    try {
      for await (const data of stream(path, init, ({ headers }) => {
        a.begin(Number(headers.get('X-Tandem-Run') ?? 0))
        changed() // the page shows how far the run has read its prompt
      })) {
        const chunk = JSON.parse(data) as Chunk
        a.model = chunk.model
        if (chunk.timings) a.timings = chunk.timings
        const [choice] = chunk.choices
        if (choice) {
          a.think(choice.delta?.reasoning ?? '')
          a.add(choice.text ?? choice.delta?.content ?? '', (choice.draft?.accepted ?? 0) > 0)
          if (choice.finish_reason) a.finish = choice.finish_reason
        }
        changed()
      }
    } catch (e) {
      if (!this.stopped) throw e
    } finally {
      this.#ended = true
      clearTimeout(this.#late)
    }
    // An answer that ended before it could be stopped keeps its own end.
    if (a.timings?.stopped || (this.stopped && a.finish === '')) a.finish = 'stopped'
  }

  // stop ends the answer. It cancels the request by its name, as soon as the request has arrived.
  // In the window's web view a request continues when the page stops reading. The page stops
  // reading if the request does not end even then.
  async stop(): Promise<void> {
    this.stopped = true
    if (this.#begun && !this.#ended) this.#late ??= setTimeout(() => this.#abort.abort(), endsWithin)
    const { signal } = this.#abort
    for (let tries = 0; this.#begun && !this.#ended && !signal.aborted && tries < 50; tries++) {
      try {
        await request(`/app/runs/${this.name}/cancel`, { method: 'POST', body: '{}', signal })
        return
      } catch {
        if (!signal.aborted) await new Promise((done) => setTimeout(done, 100))
      }
    }
    this.#abort.abort()
  }

  // leave ends the answer when the page ends, because no one reads it any more.
  leave(send: (path: string, body: unknown) => void): void {
    if (this.#begun && !this.#ended) send(`/app/runs/${this.name}/cancel`, { left: !this.stopped })
  }
}
