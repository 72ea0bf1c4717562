// legible returns a text without most of the marks over a character that has more than 50: nobody could read
// them, and a browser draws them in quadratic time.
export const legible = (text: string): string => text.replace(/(?<!\p{M})(\p{M}{50})\p{M}+/gu, '$1…')

// pieces cuts a text into pieces of at most 10,000 characters, at the end of a line where one is near. A browser
// lays out a block in quadratic time where the script changes often, as between Greek and Latin.
export function pieces(text: string, most = 10_000): string[] {
  const all: string[] = []
  for (let from = 0; from < text.length; ) {
    let to = from + most
    if (to < text.length) {
      const line = text.lastIndexOf('\n', to - 1) + 1
      if (line > from + most / 2) to = line
      else if (/[\uDC00-\uDFFF]/.test(text[to]!)) to-- // not within a character
    }
    all.push(text.slice(from, to))
    from = to
  }
  return all
}
