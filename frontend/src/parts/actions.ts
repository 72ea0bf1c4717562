import { tick } from 'svelte'

import type { Action } from './shortcuts.ts'

const patience = 30 // frames that a page may take to appear

// A part of the page names itself by data-action. The last one counts: the latest answer is below all
// others.
function part(id: Action): HTMLElement | undefined {
  const all = [...document.querySelectorAll<HTMLElement>(`[data-action="${id}"]`)]
  return all.findLast((e) => (e.checkVisibility?.() ?? true) && !e.matches(':disabled'))
}

// able returns whether the page shows the part that does an action.
export const able = (id: Action): boolean => part(id) !== undefined

// reach presses the part that does an action, or puts the focus there if it is a field. It waits a
// moment for a page that is about to appear, because a part of the page before may go away.
export async function reach(id: Action): Promise<void> {
  await tick()
  let found = part(id)
  for (let i = 0; !found && i < patience; i++) {
    await new Promise((next) => requestAnimationFrame(next))
    found = part(id)
  }
  if (found instanceof HTMLInputElement || found instanceof HTMLTextAreaElement) {
    found.focus()
    if (found instanceof HTMLInputElement) found.select()
  } else {
    found?.click()
  }
}

// typed acts as if a person had typed a key where the focus is.
export function typed(key: string): void {
  ;(document.activeElement ?? document.body).dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }))
}
