import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'

// The contrast of two colours is (lighter + 0.05) / (darker + 0.05) of their luminances, as WCAG 2.1
// defines it. The pairs stand together in the window.

type Colour = [r: number, g: number, b: number, alpha: number]
type Scheme = Map<string, Colour>

const text = 4.5
const graphics = 3
const pairs: [grounds: string[], least: number, marks: string[]][] = [
  [['window', 'sidebar', 'card', 'sunk', 'fill on window', 'fill on sidebar', 'fill-strong on sidebar'], text, ['ink', 'ink-2']],
  [['window', 'sidebar', 'card', 'sunk', 'fill on window'], text, ['ink-3', 'bad', 'good', 'accent', 'read-text', 'written-text']],
  [['bad-ground'], text, ['ink', 'ink-2', 'bad']],
  [['queue', 'load', 'restored', 'read', 'written'], text, ['on-phase']],
  [['accent'], text, ['on-accent']],
  [['accent-soft on window', 'accent-soft on card', 'accent-soft on sidebar'], text, ['ink', 'accent']],
  [['tint on window'], text, ['ink']],
  [['sunk'], text, ['keyword', 'string', 'comment', 'number']],
  [['window', 'card'], graphics, ['queue', 'load', 'restored', 'read', 'written', 'border', 'accent']],
]

function colour(hex: string): Colour {
  const digits = hex.length === 4 ? [...hex.slice(1)].map((c) => c + c).join('') : hex.slice(1)
  const [r = 0, g = 0, b = 0, alpha = 255] = digits.match(/../g)?.map((pair) => parseInt(pair, 16)) ?? []
  return [r, g, b, alpha / 255]
}

// schemes reads the colours of the light and of the dark scheme.
function schemes(): Record<string, Scheme> {
  const css = readFileSync(new URL('../style/tokens.css', import.meta.url), 'utf8')
  const read = (block = ''): [string, Colour][] => [...block.matchAll(/--([\w-]+): (#[0-9a-f]{3,8});/g)].map(([, name = '', hex = '']) => [name, colour(hex)])
  const [light, dark] = css.split('@media')
  const all = read(light)
  return { light: new Map(all), dark: new Map([...all, ...read(dark)]) }
}

// over returns a colour as it looks on an opaque ground.
const over = ([r, g, b, alpha]: Colour, [R, G, B]: Colour): Colour => [r * alpha + R * (1 - alpha), g * alpha + G * (1 - alpha), b * alpha + B * (1 - alpha), 1]

function luminance([r, g, b]: Colour): number {
  const linear = (v: number): number => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4)
  return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b)
}

function contrast(a: Colour, b: Colour): number {
  const [light = 0, dark = 0] = [luminance(a), luminance(b)].sort((x, y) => y - x)
  return (light + 0.05) / (dark + 0.05)
}

for (const [name, scheme] of Object.entries(schemes())) {
  test(`the ${name} scheme has enough contrast`, () => {
    const named = (token: string): Colour => {
      const found = scheme.get(token)
      assert.ok(found, `tokens.css has no ${token}`)
      return found
    }
    const weak: string[] = []
    for (const [grounds, least, marks] of pairs) {
      for (const place of grounds) {
        const [top = '', below] = place.split(' on ')
        const ground = below ? over(named(top), named(below)) : named(top)
        for (const mark of marks) {
          const found = contrast(over(named(mark), ground), ground)
          if (found < least) weak.push(`${mark} on ${place}: ${found.toFixed(2)}, at least ${least}`)
        }
      }
    }
    assert.deepEqual(weak, [])
  })
}

test('black on white has the greatest contrast', () => {
  assert.equal(contrast([0, 0, 0, 1], [255, 255, 255, 1]).toFixed(2), '21.00')
})

test('each token that a style uses is defined', () => {
  const folder = new URL('../style/', import.meta.url)
  const text = readdirSync(folder).map((name) => readFileSync(new URL(name, folder), 'utf8')).join('\n')
  const defined = new Set([...text.matchAll(/(--[\w-]+):/g)].map(([, name]) => name))
  const used = new Set([...text.matchAll(/var\((--[\w-]+)/g)].map(([, name]) => name))
  assert.ok(used.size > 30)
  assert.deepEqual([...used].filter((name) => !defined.has(name)), [])
})
