import { Lexer, type Token, type Tokens } from 'marked'

// lexed splits a text. A line break in it is a line break on the page, because code often comes without
// a fence.
const lexed = (text: string): Token[] => Lexer.lex(text, { gfm: true, breaks: true })

// A Block is a block of Markdown: HTML, or code as it is.
export interface Block {
  html: string
  code: string | null // null unless it is code
  language: string // of the code, as the fence names it; may be empty
}

const opens = /^(?:[^\s].*[{([]|(?:async )?def .*:|class .*:)[ \t]*$/
const closes = /^[})\]][})\];,: \t]*(?:(?:else|catch|finally|while)\b.*[{(][ \t]*)?$/
const indented = /^[ \t]+\S/

// linesOf splits a paragraph into lines, each with its line break.
const linesOf = (raw: string): string[] => raw.split(/(?<=\n)/)
const line = (lines: string[], i: number): string => lines[i]?.replace(/\n$/, '') ?? ''

// begins returns whether code without a fence begins at a line. Such a line opens a bracket, a
// function or a class, and the next line is indented.
const begins = (lines: string[], i: number): boolean => opens.test(line(lines, i)) && indented.test(line(lines, i + 1))

// ends returns the index of the line after the code that begins at a line.
function ends(lines: string[], from: number): number {
  let to = from + 1
  while (to < lines.length && (indented.test(line(lines, to)) || closes.test(line(lines, to)) || begins(lines, to))) to++
  return to
}

// opening returns the end of a paragraph that begins code: the line that opens it and the lines
// that belong to it. It is empty if the paragraph begins no code.
function opening(raw: string): string {
  const lines = linesOf(raw)
  const from = lines.findIndex((_, i) => opens.test(line(lines, i)) && ends(lines, i) === lines.length)
  return from < 0 ? '' : lines.slice(from).join('')
}

// closing returns the beginning of a paragraph that ends code: the lines with only brackets.
const closing = (raw: string): string => /^(?:[})\]][})\];, \t]*(?:\n|$))+/.exec(raw)?.[0] ?? ''

// parts takes code out of a paragraph, which would lose its indentation.
function parts(t: Token): Token[] {
  if (t.type !== 'paragraph') return [t]
  const lines = linesOf(t.raw)
  const from = lines.findIndex((_, i) => begins(lines, i))
  if (from < 0) return [t]
  const to = ends(lines, from)
  const raw = lines.slice(from, to).join('')
  const code = { type: 'code', raw, text: raw.trimEnd() } satisfies Tokens.Code
  return [...lexed(lines.slice(0, from).join('')), code, ...lexed(lines.slice(to).join('')).flatMap(parts)]
}

// whole joins code that came without a fence. Markdown takes only the indented lines after an empty
// line for code, so a function's head and its last brace would stand outside.
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
      out.push(...lexed(before!.raw.slice(0, -head.length)))
    } else if (space) out.push(space)
    if (head === '' && tail === '') {
      out.push(t)
      continue
    }
    const raw = head + (head !== '' ? (space?.raw ?? '') : '') + t.raw + tail
    out.push({ type: 'code', raw, text: raw.trimEnd() } satisfies Tokens.Code)
    if (tail !== '') {
      i++
      out.push(...lexed(next!.raw.slice(tail.length)))
    }
  }
  return out
}

// Blocks turns Markdown that grows at its end into blocks. It makes a block that can no longer
// change only once.
export class Blocks<T = Block> {
  readonly done: T[] = [] // the blocks that can no longer change
  last: T[] = [] // the growing block; empty before there is any text
  #text = '' // the whole text so far
  #from = 0 // where the growing block begins in the text
  #block: (token: Token) => T

  constructor(block: (token: Token) => T) {
    this.#block = block
  }

  #blocks = (tokens: Token[]): T[] =>
    tokens
      .flatMap(parts)
      .filter((t) => t.type !== 'space')
      .map(this.#block)

  // set takes the whole text. If it does not begin with the text before, all blocks are made again.
  set(text: string): void {
    if (text === this.#text) return
    if (!text.startsWith(this.#text)) {
      this.done.length = 0
      this.#from = 0
    }
    this.#text = text
    const tokens = whole(lexed(text.slice(this.#from)))
    // The last block and the space after it may yet change.
    let keep = tokens.length - 1
    while (keep > 0 && tokens[keep]?.type === 'space') keep--
    for (const token of tokens.slice(0, Math.max(0, keep))) {
      this.#from += token.raw.length
      this.done.push(...this.#blocks([token]))
    }
    this.last = this.#blocks(tokens.slice(Math.max(0, keep)))
  }
}
