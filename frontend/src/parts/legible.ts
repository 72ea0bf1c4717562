// legible returns a text without most of the marks over a character that has more than 50: nobody could read
// them, and a browser draws them in quadratic time.
export const legible = (text: string): string => text.replace(/(?<!\p{M})(\p{M}{50})\p{M}+/gu, '$1…')

// pieces cuts a text into pieces of at most 2,000 characters that are not ASCII, after a line or a word where one
// ends near. The time of a browser to lay out a block is quadratic where the script changes often, as between
// Hebrew and Latin, and where it looks for the ends of words, as in Hindi, Korean and Thai.
export function pieces(text: string, most = 2000): string[] {
  const all: string[] = []
  let from = 0
  let odd = 0
  for (let i = 0; i < text.length; i++) {
    if (text.charCodeAt(i) < 128 || ++odd <= most) continue
    const piece = text.slice(from, i)
    const near = ['\n', ' '].map((end) => piece.lastIndexOf(end) + 1).find((to) => to > piece.length / 2)
    if (near) i = from + near
    else if (/[\uDC00-\uDFFF]/.test(text[i]!)) i-- // not within a character
    all.push(text.slice(from, i))
    from = i--
    odd = 0
  }
  if (from < text.length) all.push(text.slice(from))
  return all
}

// isSlow returns whether a browser could take too long to lay out a text as one block. Of pieces, several are
// laid out at once.
export const isSlow = (text: string): boolean => pieces(text, 3000).length > 1
