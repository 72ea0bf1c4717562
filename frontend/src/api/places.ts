const name = 'tandem-places' // in the session's storage
const patience = 3000 // milliseconds that a page may take to reach its old length
const most = 50 // remembered pages

// pane is the id of the part of a page that scrolls. The window itself does not.
export const pane = 'pane'
const shown = (): HTMLElement | null => document.getElementById(pane)

interface Entry {
  place?: number
}

// Places remembers how far each page of the history was scrolled. The browser's own memory is not
// enough, because a list is short until it has been read.
export class Places {
  #down = new Map<number, number>() // pixels, by the entry of the history
  #at = 0 // the entry that is shown
  #wanted: number | null = null // pixels to scroll to, once the page is long enough
  #patience: ReturnType<typeof setTimeout> | undefined
  #grows: ResizeObserver | undefined

  constructor() {
    history.scrollRestoration = 'manual'
    try {
      this.#down = new Map(JSON.parse(sessionStorage.getItem(name) ?? '[]') as [number, number][])
    } catch {
      // data in another form is dropped
    }
    // Events of a pane do not bubble, but they can be captured.
    addEventListener('scroll', (e) => {
      const of = shown()
      if (this.#wanted === null && of && e.target === of) this.#down.set(this.#at, of.scrollTop)
    }, true)
    // A person who scrolls decides the place.
    for (const event of ['wheel', 'touchstart', 'pointerdown', 'keydown']) addEventListener(event, () => (this.#wanted = null), { passive: true })
    addEventListener('pagehide', () => sessionStorage.setItem(name, JSON.stringify([...this.#down].slice(-most))))
  }

  // #watch looks at the length of the shown page.
  #watch(): void {
    this.#grows?.disconnect()
    const content = shown()?.firstElementChild
    if (!content) return
    this.#grows = new ResizeObserver(() => this.#go())
    this.#grows.observe(content)
  }

  // come scrolls a page after a change of the address. After Back, Forward or a reload, the page
  // has its old place. A link to another page begins at the top.
  come(other: boolean): void {
    const known = (history.state as Entry | null)?.place
    if (known === undefined) {
      this.#at = performance.timeOrigin + performance.now()
      history.replaceState({ ...(history.state as Entry | null), place: this.#at } satisfies Entry, '')
      // A chat opens at its end by itself.
      this.#wanted = other && shown()?.dataset.opens !== 'end' ? 0 : null
    } else if (known !== this.#at) {
      this.#at = known
      this.#wanted = this.#down.get(known) ?? 0
    }
    clearTimeout(this.#patience)
    this.#patience = setTimeout(() => (this.#wanted = null), patience)
    this.#watch()
    this.#go()
  }

  #go(): void {
    const of = shown()
    // The older messages of a chat come a moment later, above the others.
    if (this.#wanted === null || !of || 'partial' in of.dataset) return
    of.scrollTop = this.#wanted
    if (Math.abs(of.scrollTop - this.#wanted) < 1) this.#wanted = null
  }
}
