// A Piece of a sentence is text, or an address with a link.
export interface Piece {
  text: string
  href?: string
}

// pieces cuts a sentence into text and web addresses. The mark at the sentence's end is not part of
// an address.
export function pieces(sentence: string): Piece[] {
  const out: Piece[] = []
  let rest = 0
  for (const found of sentence.matchAll(/https?:\/\/[^\s,;()"]*[^\s,;()".:!?]/g)) {
    if (found.index > rest) out.push({ text: sentence.slice(rest, found.index) })
    out.push({ text: found[0], href: found[0] })
    rest = found.index + found[0].length
  }
  if (rest < sentence.length) out.push({ text: sentence.slice(rest) })
  return out
}

// openRun opens a run by a click anywhere in its row. A link in the row does so by itself.
export function openRun(e: MouseEvent, id: number): void {
  if (!(e.target instanceof Element && e.target.closest('a'))) location.hash = `#/runs/${id}`
}
