// Every page looks as it did when it was recorded: in both schemes, at three sizes. What is compared is a
// small picture: the mean colour of each square of 10 pixels, with all letters drawn as one box. So
// neither the fonts of a machine nor the edges of a line count. A part that moved, is missing, has
// another colour or another size does.
//
//   RECORD=1 node --test test/looks.test.mjs     records the pictures anew, after `npx vite build`
//   LETTERS=1 node --test test/looks.test.mjs    takes the pictures with real letters, and compares nothing
//
// Each page has one file in testdata: light above, dark below, the largest size first. The whole
// pictures lie in OUT.

import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'

import { boxes } from './boxes.mjs'
import { launch, out, overflow } from './browser.mjs'
import { scene, visit } from './scene.mjs'

const side = 10 // pixels of a square
const near = 6 // levels of a colour, of 255, that are the same
const few = 6 // squares of a picture that may differ

const sizes = [[1280, 800], [1000, 700], [760, 700]]
const schemes = ['light', 'dark']
const record = process.env.RECORD !== undefined
const letters = process.env.LETTERS !== undefined

// The pages, each with the text that it shows last, and what a person chose there.
const pages = {
  playground: { at: 'playground/1', shows: 'A full random wait is simpler, and almost as good.' },
  now: { at: 'now', shows: 'The model qwen3-coder is not here.' },
  runs: { at: 'runs', shows: '214 today' },
  run: { at: 'runs/203', shows: 'Run 202 took 5.9 s, from the same client.' },
  checkpoints: { at: 'checkpoints', shows: 'and that is all of it.', choose: (page) => page.locator('.texts .title').nth(2).click() },
  models: { at: 'models', shows: 'gpt-oss-20b-GGUF' },
  connect: { at: 'connect', shows: 'OpenAI for JavaScript' },
  settings: { at: 'settings', shows: 'It goes to' },
}

let browser, still, tool

before(async () => {
  browser = await launch()
  still = await scene()
  tool = await browser.newPage() // reads and writes pictures
})
after(async () => {
  await browser.close()
  still.close()
})

// at returns the place of a small picture among those of its page, in squares.
function at(scheme, i) {
  const left = sizes.slice(0, i).reduce((sum, [width]) => sum + width / side, 0)
  return { left, top: schemes.indexOf(scheme) * (sizes[0][1] / side), wide: sizes[i][0] / side, high: sizes[i][1] / side }
}
const sheet = { wide: sizes.reduce((sum, [width]) => sum + width / side, 0), high: (2 * sizes[0][1]) / side }

// shrink returns the mean colour of each square of a picture, row by row: three numbers each.
const shrink = (png, side) =>
  tool.evaluate(
    async ([png, side]) => {
      const picture = await createImageBitmap(await (await fetch(`data:image/png;base64,${png}`)).blob())
      const { width, height } = picture
      const draw = new OffscreenCanvas(width, height).getContext('2d')
      draw.drawImage(picture, 0, 0)
      const { data } = draw.getImageData(0, 0, width, height)
      const wide = width / side
      const sums = new Float64Array((wide * height * 3) / side)
      for (let y = 0; y < height; y++) {
        for (let x = 0; x < width; x++) {
          const to = 3 * (Math.floor(y / side) * wide + Math.floor(x / side))
          for (let c = 0; c < 3; c++) sums[to + c] += data[4 * (y * width + x) + c]
        }
      }
      return Array.from(sums, (sum) => Math.round(sum / side / side))
    },
    [png.toString('base64'), side],
  )

// written returns a sheet of small pictures as PNG.
const written = (parts) =>
  tool.evaluate(
    async ([parts, { wide, high }]) => {
      const canvas = new OffscreenCanvas(wide, high)
      const draw = canvas.getContext('2d')
      draw.fillRect(0, 0, wide, high)
      for (const { colours, left, top, wide, high } of parts) {
        const image = draw.createImageData(wide, high)
        for (let i = 0; i < wide * high; i++) image.data.set([...colours.slice(3 * i, 3 * i + 3), 255], 4 * i)
        draw.putImageData(image, left, top)
      }
      const bytes = new Uint8Array(await (await canvas.convertToBlob()).arrayBuffer())
      return btoa(String.fromCharCode(...bytes))
    },
    [parts, sheet],
  )

// differing lists the squares of a small picture that have another colour than in the sheet.
function differing(colours, sheetColours, { left, top, wide, high }) {
  const list = []
  for (let y = 0; y < high; y++) {
    for (let x = 0; x < wide; x++) {
      const is = 3 * (y * wide + x)
      const was = 3 * ((top + y) * sheet.wide + left + x)
      if ([0, 1, 2].some((c) => Math.abs(colours[is + c] - sheetColours[was + c]) > near)) list.push([x, y])
    }
  }
  return list
}

// picture takes the picture of a page that no longer changes.
async function picture(page) {
  await page.evaluate(() => document.fonts.ready)
  let last = await page.screenshot({ animations: 'disabled' })
  for (let n = 0; n < 50; n++) {
    await page.waitForTimeout(60)
    const next = await page.screenshot({ animations: 'disabled' })
    if (next.equals(last)) return next
    last = next
  }
  return assert.fail('the page does not come to rest')
}

for (const [name, { at: to, shows, choose }] of Object.entries(pages)) {
  test(`${name} looks as it did`, async () => {
    const { context, page, problems, go } = await visit(browser, still.url)
    if (!letters) await boxes(context)
    await go(to)
    await page.locator('main').getByText(shows).first().waitFor()
    await choose?.(page)
    const file = new URL(`testdata/looks-${name}.png`, import.meta.url)
    assert.ok(record || letters || existsSync(file), `${name} is not recorded: see the head of this file`)
    const was = record || letters ? null : await shrink(readFileSync(file), 1)
    const parts = []
    const told = []
    for (const scheme of schemes) {
      await page.emulateMedia({ colorScheme: scheme, reducedMotion: 'reduce' })
      for (const [i, [width, height]] of sizes.entries()) {
        await page.setViewportSize({ width, height })
        const png = await picture(page)
        writeFileSync(join(out, `looks-${name}-${scheme}-${width}.png`), png)
        const over = await overflow(page)
        if (over > 0) told.push(`${scheme}, ${width} x ${height}: ${over} px too wide`)
        const part = { colours: await shrink(png, side), ...at(scheme, i) }
        parts.push(part)
        const wrong = was ? differing(part.colours, was, part) : []
        const [xs, ys] = [0, 1].map((k) => wrong.map((square) => side * square[k]))
        if (wrong.length > few) told.push(`${scheme}, ${width} x ${height}: ${wrong.length} squares, from ${Math.min(...xs)}, ${Math.min(...ys)} to ${Math.max(...xs) + side}, ${Math.max(...ys) + side}`)
      }
    }
    if (record) {
      mkdirSync(new URL('testdata/', import.meta.url), { recursive: true })
      writeFileSync(file, Buffer.from(await written(parts), 'base64'))
    }
    assert.deepEqual(told, [], `${name} looks different. Look at the pictures in OUT; if they are as they should be, record them anew.`)
    assert.deepEqual(problems, [])
    await context.close()
  })
}
