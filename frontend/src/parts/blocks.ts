import type { Env, Token } from 'markdown-it'

import { legible } from './legible.ts'
import { languageOf, reader } from './reader.ts'

const longest = 30_000 // characters of a block that is no code; a longer one, and all after it, is plain text
const atOnce = 200 // blocks that are made in one step
const most = 5000 // blocks of a text; what follows is plain text

// A Part is a part of a text: a block of Markdown, or the space between two.
export interface Part {
  type: 'space' | 'paragraph' | 'indented' | 'plain' | 'other' // indented is code without a fence
  raw: string
  code: string | null // null unless it is code
  language: string // of the code, as the fence names it; may be empty
}

// Links are the addresses that a text gives names to.
export type Links = Env

// A Block is a block of Markdown: HTML, code as it is, or plain text.
export interface Block {
  html: string
  code: string | null // null unless it is code
  language: string // see Part
  text: string | null // null unless it is plain text
}

const part = (type: Part['type'], raw: string, code: string | null = null, language = ''): Part => ({ type, raw, code, language })

// typeOf returns the type of the part that begins with a token.
const typeOf = (t: Token): Part['type'] => (t.type === 'paragraph_open' ? 'paragraph' : t.type === 'code_block' ? 'indented' : 'other')

// lexed splits a text into parts, and puts the addresses that have names into links.
export function lexed(text: string, links: Links = {}): Part[] {
  const lines = [0] // where they begin
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lines.push(at + 1)
  const tokens: Token[] = []
  reader.block.parse(text, reader, links, tokens)
  const parts: Part[] = []
  let at = 0
  const to = (end: number, make: (raw: string) => Part): void => {
    if (end > at) parts.push(make(text.slice(at, end)))
    at = Math.max(at, end)
  }
  for (const t of tokens) {
    if (t.level > 0 || t.nesting < 0 || !t.map) continue
    const [begin = text.length, end = text.length] = t.map.map((line) => lines[line])
    to(begin, (raw) => part('space', raw))
    const code = t.type === 'fence' || t.type === 'code_block' ? t.content.replace(/\n$/, '') : null
    to(end, (raw) => part(typeOf(t), raw, code, languageOf(t.info)))
  }
  to(text.length, (raw) => part('space', raw))
  return parts
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

// belongs returns whether a line belongs to the code before it.
const belongs = (lines: string[], i: number): boolean => indented.test(line(lines, i)) || closes.test(line(lines, i)) || begins(lines, i)

// ends returns the index of the line after the code that begins at a line.
function ends(lines: string[], from: number): number {
  let to = from + 1
  while (to < lines.length && belongs(lines, to)) to++
  return to
}

// opening returns the end of a paragraph that begins code: the line that opens it and the lines
// that belong to it. It is empty if the paragraph begins no code.
function opening(raw: string): string {
  const lines = linesOf(raw)
  let from = lines.length - 1
  while (from > 0 && belongs(lines, from)) from--
  while (from < lines.length && !opens.test(line(lines, from))) from++
  return lines.slice(from).join('')
}

// closing returns the beginning of a paragraph that ends code: the lines with only brackets.
const closing = (raw: string): string => /^(?:[})\]][})\];, \t]*(?:\n|$))+/.exec(raw)?.[0] ?? ''

// unfenced takes code out of a paragraph, which would lose its indentation.
function unfenced(p: Part): Part[] {
  if (p.type !== 'paragraph') return [p]
  const lines = linesOf(p.raw)
  const out: Part[] = []
  let text = '' // before the next code
  for (let i = 0; i < lines.length; ) {
    if (!begins(lines, i)) {
      text += lines[i++]
      continue
    }
    const to = ends(lines, i)
    const raw = lines.slice(i, to).join('')
    if (text !== '') out.push(part('paragraph', text))
    out.push(part('other', raw, raw.trimEnd()))
    text = ''
    i = to
  }
  return text === '' ? out : [...out, part('paragraph', text)]
}

// whole joins code that came without a fence. Markdown takes only the indented lines after an empty
// line for code, so a function's head and its last brace would stand outside.
function whole(parts: Part[]): Part[] {
  const out: Part[] = []
  for (let i = 0; i < parts.length; i++) {
    const p = parts[i]!
    if (p.type !== 'indented') {
      out.push(p)
      continue
    }
    const space = out.at(-1)?.type === 'space' ? out.pop()! : null
    const before = out.at(-1)
    const next = parts[i + 1]
    const head = before?.type === 'paragraph' ? opening(before.raw) : ''
    const tail = next?.type === 'paragraph' ? closing(next.raw) : ''
    if (head !== '') {
      const { raw } = out.pop()!
      if (raw !== head) out.push(part('paragraph', raw.slice(0, -head.length)))
    } else if (space) out.push(space)
    if (head === '' && tail === '') {
      out.push(p)
      continue
    }
    const raw = head + (head !== '' ? (space?.raw ?? '') : '') + p.raw + tail
    out.push(part('other', raw, raw.trimEnd()))
    if (tail !== '') {
      i++
      if (next!.raw !== tail) out.push(part('paragraph', next!.raw.slice(tail.length)))
    }
  }
  return out
}

const fence = /^ {0,3}(?:(`{3,})[^`\n]*|(~{3,})[^\n]*)(?:\n|$)/ // the line before code

// Blocks turns Markdown that grows at its end into blocks. It makes a block that can no longer
// change only once. Each of its steps takes a fraction of a second, whatever the text.
export class Blocks<T = Block> {
  readonly done: T[] = [] // the blocks that can no longer change
  last: T[] = [] // the growing block; empty before there is any text
  #given = ''
  #text = '' // the whole text so far, as it is shown
  #from = 0 // where the text begins that done does not have
  #plain = false // that text is plain
  #read = true // done and last have the whole text
  #block: (part: Part, links: Links) => T

  constructor(block: (part: Part, links: Links) => T) {
    this.#block = block
  }

  // set takes the whole text and makes its blocks. With a time by performance.now it makes the blocks of one step,
  // at most until then: to draw them takes longer than to make them. It returns whether it has come to the end. If
  // the text does not begin with the text before, all blocks are made again.
  set(given: string, until = Infinity): boolean {
    if (given === this.#given) {
      if (this.#read) return true
    } else {
      const text = legible(given.replace(/\r\n?/g, '\n'))
      if (!text.startsWith(this.#text)) {
        this.done.length = 0
        this.#from = 0
        this.#plain = false
      }
      this.#given = given
      this.#text = text
    }
    do this.#read = this.#step(until)
    while (!this.#read && until === Infinity)
    return this.#read
  }

  // #step makes some blocks, one at least, until a time, and returns whether they are the last ones.
  #step(until: number): boolean {
    const piece = this.#piece()
    const ends = this.#from + piece.length === this.#text.length
    const links: Links = {}
    const parts = this.#plain ? [part('plain', piece)] : whole(lexed(piece, links))
    const made = (some: Part[]): T[] => some.flatMap(unfenced).flatMap((p) => (p.type === 'space' ? [] : this.#block(p, links)))
    // The last block and the space after it may yet change.
    const last = Math.max(0, parts.findLastIndex((p) => p.type !== 'space'))
    const sure = this.#plain && !ends ? 1 : Math.min(last, atOnce)
    if (!this.#plain && (this.done.length > most || (sure === 0 && !ends))) {
      this.#plain = true
      return false
    }
    this.last = []
    for (const p of parts.slice(0, sure)) {
      this.#from += p.raw.length
      this.done.push(...made([p]))
      if (p.type !== 'space' && performance.now() >= until) return false
    }
    const all = ends && sure === last
    if (all) this.last = made(parts.slice(sure))
    return all
  }

  // #piece returns the text of a step. Code in a fence costs little, so it may be longer.
  #piece(): string {
    const rest = this.#text.slice(this.#from)
    const open = fence.exec(rest)
    const mark = open?.[1] ?? open?.[2]
    if (this.#plain || !open || !mark) return rest.slice(0, longest)
    const close = new RegExp(`\\n {0,3}${mark[0]}{${mark.length},}[ \\t]*(?:\\n|$)`, 'g')
    close.lastIndex = open[0].length - 1
    const found = close.exec(rest)
    return found ? rest.slice(0, found.index + found[0].length + longest) : rest
  }
}
