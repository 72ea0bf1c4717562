import { Marked, type Token, type Tokens } from 'marked'

// A line break is one in what is shown too: code often comes without a fence.
const marked = new Marked({ breaks: true })

// A Block is one of Markdown's: HTML, or code as it is.
export interface Block {
  html: string
  code: string | null // null unless it is code
}

// opening is how a paragraph ends that begins code: the line that does, and what is
// indented behind it. Empty if it begins none.
const opening = (raw: string): string => /(?:^|\n)((?:[^\s].*[{([]|(?:async )?def .*:|class .*:)[ \t]*(?:\n[ \t]+.*)*\n?)$/.exec(raw)?.[1] ?? ''

// closing is how a paragraph begins that ends code: lines of nothing but brackets.
const closing = (raw: string): string => /^(?:[})\]][})\];, \t]*(?:\n|$))+/.exec(raw)?.[0] ?? ''

// whole puts code together that came without a fence. Of a function Markdown takes
// for code only what is indented behind an empty line; its head and its last brace
// would stand outside.
function whole(tokens: Token[]): Token[] {
  const out: Token[] = []
  for (let i = 0; i < tokens.length; i++) {
    const t = tokens[i]!
    if (t.type !== 'code' || (t as Tokens.Code).codeBlockStyle !== 'indented') {
      out.push(t)
      continue
    }
    const space = out.at(-1)?.type === 'space' ? out.pop()! : null
    const before = out.at(-1)
    const next = tokens[i + 1]
    const head = before?.type === 'paragraph' ? opening(before.raw) : ''
    const tail = next?.type === 'paragraph' ? closing(next.raw) : ''
    if (head !== '') {
      out.pop()
      out.push(...marked.lexer(before!.raw.slice(0, -head.length)))
    } else if (space) out.push(space)
    if (head === '' && tail === '') {
      out.push(t)
      continue
    }
    const raw = head + (head !== '' ? (space?.raw ?? '') : '') + t.raw + tail
    out.push({ type: 'code', raw, text: raw.trimEnd() } satisfies Tokens.Code)
    if (tail !== '') {
      i++
      out.push(...marked.lexer(next!.raw.slice(tail.length)))
    }
  }
  return out
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
    const tokens = whole(marked.lexer(text.slice(this.#from)))
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
