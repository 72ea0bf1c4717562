import { Marked, type Token } from 'marked'

// A line break is one in what is shown too: code often comes without a fence.
const marked = new Marked({ breaks: true })

// A Block is one of Markdown's: HTML, or code as it is.
export interface Block {
  html: string
  code: string | null // null unless it is code
}

// Blocks turns Markdown that grows at its end into blocks: those that cannot
// change any more are made once.
export class Blocks<T = Block> {
  readonly done: T[] = [] // those that stay
  last: T[] = [] // the one that grows, none before there is any text
  #text = '' // all so far
  #from = 0 // where the one that grows begins
  #block: (token: Token) => T

  constructor(block: (token: Token) => T) {
    this.#block = block
  }

  // set takes the whole text. If it is not what was there with more behind it,
  // all begins anew.
  set(text: string): void {
    if (text === this.#text) return
    if (!text.startsWith(this.#text)) {
      this.done.length = 0
      this.#from = 0
    }
    this.#text = text
    const tokens = marked.lexer(text.slice(this.#from))
    // The last block and the space behind it may yet change.
    let keep = tokens.length - 1
    while (keep > 0 && tokens[keep]?.type === 'space') keep--
    for (const token of tokens.slice(0, Math.max(0, keep))) {
      this.#from += token.raw.length
      if (token.type !== 'space') this.done.push(this.#block(token))
    }
    this.last = tokens.slice(Math.max(0, keep)).filter((t) => t.type !== 'space').map(this.#block)
  }
}
