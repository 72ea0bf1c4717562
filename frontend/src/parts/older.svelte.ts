import { tick, untrack } from 'svelte'

import type { Talk } from '../api/talk.svelte.ts'

const atOnce = 12 // messages that fill any window
const next = 6 // messages of a further step
const pause = 30 // milliseconds between two steps, in which the page takes keys

// Older shows the latest messages of a talk at once, and the older ones step by step above them. So a
// long chat opens as fast as a short one. The messages in view do not move.
export class Older {
  #hidden = $state(0) // messages of the beginning that are not shown yet
  #talk: Talk

  constructor(talk: Talk) {
    this.#talk = talk
    this.#hidden = talk.whole ? 0 : Math.max(0, talk.shown.length - atOnce)
    if (this.#hidden === 0) talk.whole = true
  }

  // from is the index of the first message to show.
  get from(): number {
    return this.#talk.shown.length > this.#hidden ? this.#hidden : 0
  }

  // show is attached to the list. It adds the older messages above it.
  show = (list: HTMLElement): (() => void) | void => {
    const pane = list.closest<HTMLElement>('.pane')
    if (!pane || untrack(() => this.#hidden) === 0) return
    pane.dataset.partial = ''
    let timer: ReturnType<typeof setTimeout> | undefined
    const step = async (): Promise<void> => {
      const end = pane.scrollHeight - pane.scrollTop
      this.#hidden = Math.max(0, this.#hidden - next)
      if (this.#hidden === 0) {
        this.#talk.whole = true
        delete pane.dataset.partial
      }
      await tick()
      pane.scrollTop = pane.scrollHeight - end
      if (this.#hidden > 0) timer = setTimeout(() => void step(), pause)
    }
    timer = setTimeout(() => void step(), pause)
    return () => {
      clearTimeout(timer)
      delete pane.dataset.partial
    }
  }
}
