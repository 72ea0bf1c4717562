// A Piece of a sentence is text, or an address that can be followed.
export interface Piece {
  text: string
  href?: string
}

// pieces takes the web addresses out of a sentence. What ends the sentence is not
// part of one.
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
