// A Snippet is some text around the words that a person searched for.
export interface Snippet {
  before: string
  match: string // as the text writes it; empty if it is not there
  after: string
}

const roomy = 36 // characters on each side of a match

// snippet cuts a text to what stands around a search, at the borders of words.
export function snippet(text: string, search: string, room = roomy): Snippet {
  const line = text.replace(/\s+/g, ' ').trim()
  const wanted = search.trim().replace(/\s+/g, ' ')
  const at = wanted === '' ? -1 : line.toLowerCase().indexOf(wanted.toLowerCase())
  if (at < 0) return { before: cut(line, 2 * room), match: '', after: '' }
  const end = at + wanted.length
  let before = line.slice(0, at)
  if (before.length > room) before = `…${before.slice(-room).replace(/^\S*\s/, '')}`
  return { before, match: line.slice(at, end), after: cut(line.slice(end), room) }
}

function cut(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most).replace(/\s\S*$/, '')}…` : text
}

// fits tells how well a name matches a search: 0 not at all; 3 if it begins with it, 2 if one of its
// words does, 1 if it has it somewhere, or has all its words.
export function fits(name: string, search: string): number {
  const text = name.toLowerCase()
  const wanted = search.trim().toLowerCase()
  if (wanted === '') return 1
  if (text.startsWith(wanted)) return 3
  if (text.split(/[\s/_.-]+/).some((word) => word.startsWith(wanted))) return 2
  return wanted.split(/\s+/).every((word) => text.includes(word) || (bare(word) !== '' && bare(text).includes(bare(word)))) ? 1 : 0
}

// bare leaves out signs, so that 4bit and 4-bit are one.
const bare = (text: string): string => text.replace(/[^\p{L}\p{N}]/gu, '')

// best returns what fits a search, the best first, and at most so many.
export function best<T>(list: readonly T[], name: (of: T) => string, search: string, most: number): T[] {
  return list
    .map((of) => ({ of, fit: fits(name(of), search) }))
    .filter((x) => x.fit > 0)
    .sort((a, b) => b.fit - a.fit)
    .slice(0, most)
    .map((x) => x.of)
}
