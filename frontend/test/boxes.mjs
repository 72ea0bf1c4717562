// A font in which every letter is the same box. With it a page has the same lines and the same
// pixels on each machine, whatever fonts it has. The font is written here, as TrueType tells.

const em = 1000 // units
const wide = 500 // of a letter; of a space it is half
const rise = 800 // above the base line
const fall = 200 // below it

// words returns numbers as bytes. A negative size marks a number with a sign.
function words(...fields) {
  const bytes = Buffer.alloc(fields.reduce((sum, [size, ...list]) => sum + Math.abs(size) * list.length, 0))
  let at = 0
  for (const [size, ...list] of fields) {
    for (const n of list) at = size < 0 ? bytes.writeIntBE(n, at, -size) : bytes.writeUIntBE(n, at, size)
  }
  return bytes
}
const zeros = (count) => Array(count).fill(0)

// box is a glyph of one contour: up, to the right, and down again.
const [left, right, top] = [50, 450, 520]
const box = words([-2, 1, left, 0, right, top], [2, 3, 0], [1, 1, 1, 1, 1], [-2, left, 0, right - left, 0], [-2, 0, top, 0, -top])

// The glyphs are a box for unknown letters, a box and a space.
const tables = {
  'OS/2': words([2, 0], [-2, wide], [2, 400, 5, 0], [-2, ...zeros(11)], [1, ...zeros(10)], [4, ...zeros(4)], [1, ...zeros(4)], [2, 0x40, 0x20, 0xffff], [-2, rise, -fall, 0], [2, rise, fall]),
  // Format 13 gives a whole range of letters one glyph.
  cmap: words([2, 0, 1, 3, 10], [4, 12], [2, 13, 0], [4, 16 + 4 * 12, 0, 4], [4, 0x20, 0x20, 2], [4, 0x21, 0x9f, 1], [4, 0xa0, 0xa0, 2], [4, 0xa1, 0x10ffff, 1]),
  glyf: Buffer.concat([box, box]),
  head: words([4, 0x10000, 0x10000, 0, 0x5f0f3cf5], [2, 0, em], [4, ...zeros(4)], [-2, 0, 0, wide, top], [2, 0, 8], [-2, 2, 0, 0]),
  hhea: words([4, 0x10000], [-2, rise, -fall, 0], [2, wide], [-2, 0, 0, right, 1, ...zeros(7)], [2, 3]),
  hmtx: words([2, wide, left, wide, left, wide / 2, 0]),
  loca: words([2, 0, box.length / 2, box.length, box.length]),
  maxp: words([4, 0x10000], [2, 3, 4, 1, 0, 0, 1, ...zeros(8)]),
  name: words([2, 0, 0, 6]),
  post: words([4, 0x30000, 0], [-2, -100, 50], [4, ...zeros(5)]),
}

// checksum sums up a table, four bytes at a time.
function checksum(bytes) {
  let sum = 0
  for (let at = 0; at < bytes.length; at += 4) sum = (sum + bytes.readUInt32BE(at)) >>> 0
  return sum
}

// font puts the tables together, after a list of them.
function font() {
  const names = Object.keys(tables)
  const list = []
  const parts = []
  let at = 12 + 16 * names.length
  for (const name of names) {
    const table = tables[name]
    const whole = Buffer.concat([table, Buffer.alloc(-table.length & 3)])
    list.push(Buffer.from(name, 'latin1'), words([4, checksum(whole), at, table.length]))
    parts.push(whole)
    at += whole.length
  }
  return Buffer.concat([words([4, 0x10000], [2, names.length, 128, 3, 16 * names.length - 128]), ...list, ...parts])
}

// boxes has all pages of a context show their letters as boxes. Systems draw check boxes and lists in
// their own ways, so they are left plain.
export const boxes = (context) =>
  context.addInitScript((bytes) => {
    document.fonts.add(new FontFace('Boxes', Uint8Array.from(bytes).buffer, { weight: '100 900' }))
    const sheet = new CSSStyleSheet()
    sheet.replaceSync('*, ::before, ::after, ::placeholder { font-family: Boxes !important; font-synthesis: none !important } select, input, progress { appearance: none !important }')
    document.adoptedStyleSheets = [sheet]
  }, [...font()])
