// Timings are the figures at the end of a reply, in milliseconds and tokens.
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
  queue_ms: number
  load_ms?: number
  run_id: number
  stopped?: boolean // by another program or page, such as the menu
}

// news returns a function that takes a text part by part and returns only what comes after the
// known beginning. The function throws if the text begins in another way.
function news(known: string): (part: string) => string {
  let at = 0
  return (part) => {
    const again = known.slice(at, at + part.length)
    if (!part.startsWith(again)) throw new Error('The answer came out differently this time, so it can’t continue here. Retry the answer for a new one.')
    at += part.length
    return part.slice(again.length)
  }
}

// An Answer grows while it is generated. It reports no change, so a page that shows it reads it
// again now and then.
export class Answer {
  text = ''
  thought = '' // the model's thought before the answer
  spans: number[] = [] // lengths of its parts in characters: not drafted, drafted, not drafted, …
  model = '' // the model that answers
  run = 0 // id of its run; 0 before the run begins
  finish = '' // why it ended; empty before its end
  timings: Timings | null = null
  sent = 0 // when it was asked for, by performance.now
  waited = 0 // milliseconds from there to its first new word
  #next = 0 // the run that continues the answer; it becomes run with its first new text
  #text = news('')
  #thought = news('')

  // again begins the answer with the text of an earlier run. The next run sends this text again
  // first.
  again(text: string, thought: string, spans: number[], run: number): void {
    Object.assign(this, { text, thought, spans: spans.slice(), run })
    const left = text.length - spans.reduce((sum, n) => sum + n, 0)
    if (left > 0) this.#span(left, false)
    this.#text = news(text)
    this.#thought = news(thought)
  }

  // begin names the run that generates the answer. An earlier run stays the answer's run until the
  // new one has sent more text.
  begin(run: number): void {
    this.#next = run
    if (this.run === 0) this.run = run
  }

  add(text: string, drafted: boolean): void {
    text = this.#text(text)
    if (text === '') return
    this.#came()
    this.text += text
    this.#span(text.length, drafted)
  }

  think(thought: string): void {
    thought = this.#thought(thought)
    if (thought === '') return
    this.#came()
    this.thought += thought
  }

  #came(): void {
    this.run = this.#next
    this.waited ||= performance.now() - this.sent
  }

  #span(length: number, drafted: boolean): void {
    const last = this.spans.length - 1
    if (last >= 0 && (last % 2 === 1) === drafted) this.spans[last]! += length
    else if (last < 0 && drafted) this.spans.push(0, length)
    else this.spans.push(length)
  }
}

// A Piece is text whose tokens were all drafted, or none.
export interface Piece {
  text: string
  drafted: boolean
}

// pieces cuts a text by the spans of an Answer. Text after the last span was not drafted.
export function pieces(text: string, spans: number[]): Piece[] {
  const list: Piece[] = []
  let at = 0
  spans.forEach((n, i) => {
    if (n > 0) list.push({ text: text.slice(at, at + n), drafted: i % 2 === 1 })
    at += n
  })
  if (at < text.length) list.push({ text: text.slice(at), drafted: false })
  return list
}

const partSize = 1000 // characters

// parts groups pieces by whole lines. Then the browser lays out only the last part of a growing
// text again.
export function parts(list: Piece[]): Piece[][] {
  const all: Piece[][] = [[]]
  let size = 0
  for (const { text, drafted } of list) {
    const end = size + text.length < partSize ? -1 : text.indexOf('\n')
    if (end < 0) {
      all.at(-1)!.push({ text, drafted })
      size += text.length
      continue
    }
    all.at(-1)!.push({ text: text.slice(0, end + 1), drafted })
    all.push(end + 1 < text.length ? [{ text: text.slice(end + 1), drafted }] : [])
    size = text.length - end - 1
  }
  return all.filter((part) => part.length > 0)
}
