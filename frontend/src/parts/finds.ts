// A Place is where a search matches in a list of texts: from a text and a character on, to another.
export interface Place {
  from: { text: number; at: number }
  to: { text: number; at: number } // after the last character
}

// places returns where a search matches. A match may go over several texts of one block, as where a
// word of it is bold; starts names the texts that begin a block.
export function places(texts: string[], starts: (i: number) => boolean, search: string, most = 1000): Place[] {
  const wanted = search.toLowerCase()
  if (wanted.trim() === '') return []
  const found: Place[] = []
  for (let begin = 0; begin < texts.length && found.length < most; ) {
    let end = begin + 1
    while (end < texts.length && !starts(end)) end++
    const block = texts.slice(begin, end)
    const all = block.join('').toLowerCase()
    for (let at = all.indexOf(wanted); at >= 0 && found.length < most; at = all.indexOf(wanted, at + wanted.length)) {
      found.push({ from: spot(block, at, begin, false), to: spot(block, at + wanted.length, begin, true) })
    }
    begin = end
  }
  return found
}

// spot finds a character of joined texts. The end of a match belongs to the text before it.
function spot(texts: string[], at: number, first: number, ends: boolean): Place['from'] {
  for (const [i, text] of texts.entries()) {
    if (at < text.length || (ends && at === text.length)) return { text: first + i, at }
    at -= text.length
  }
  return { text: first + texts.length - 1, at: texts.at(-1)?.length ?? 0 }
}
