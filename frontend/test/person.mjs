// A person in a test acts on a page and counts the steps: a click, a chord of keys, a typed field and a
// dropped file are one each.

import assert from 'node:assert/strict'

export function person(page) {
  let steps = 0
  return {
    click(what) {
      steps++
      return what.click()
    },
    press(keys) {
      steps++
      return page.keyboard.press(keys)
    },
    // type writes where the focus is. A field that has to be found first takes a step of its own.
    async type(text) {
      steps++
      await page.waitForFunction(() => document.activeElement?.matches('input, textarea'))
      await page.keyboard.insertText(text)
    },
    // drop drops a text file on the page.
    async drop(name, text) {
      steps++
      await page.evaluate(
        ([name, text]) => {
          const dataTransfer = new DataTransfer()
          dataTransfer.items.add(new File([text], name, { type: 'text/plain' }))
          for (const kind of ['dragover', 'drop']) document.body.dispatchEvent(new DragEvent(kind, { dataTransfer, bubbles: true, cancelable: true }))
        },
        [name, text],
      )
    },
    get steps() {
      return steps
    },
  }
}

// atMost and atLeast print a figure beside its target, and expect that it is met. was is the figure of
// the window before this one.
const tell = (what, is, target, was) => console.log(`${what}: ${is}, ${target} (before: ${was})`)
export function atMost(what, is, most, was) {
  tell(what, is, `at most ${most}`, was)
  assert.ok(is <= most, `${what}: ${is}, but ${most} at most`)
}
export function atLeast(what, is, least, was) {
  tell(what, is, `at least ${least}`, was)
  assert.ok(is >= least, `${what}: ${is}, but ${least} at least`)
}
