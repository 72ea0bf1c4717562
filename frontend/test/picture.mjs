// Takes frontend/now.png, the picture of README.md: the page Now of the scene, in the middle of a day.
//
//   npm run picture     after `npx vite build`

import { launch } from './browser.mjs'
import { scene, visit } from './scene.mjs'

const browser = await launch()
const still = await scene()
const { page, go } = await visit(browser, still.url)
await page.setViewportSize({ width: 1280, height: 900 })
await go('now')
await page.getByText('The model qwen3-coder is not here.').waitFor()
await page.evaluate(() => document.fonts.ready)
await page.screenshot({ path: new URL('../now.png', import.meta.url).pathname, animations: 'disabled' })
await browser.close()
still.close()
