const near = 60 // pixels below the pane that count as in sight
const room = 16 // pixels that stay free below

// follow keeps the end of a growing text in sight, and the content below it in its box. The end
// must have been in sight at the beginning. A person who scrolls up ends it.
export function follow(growing: () => boolean): (node: HTMLElement) => () => void {
  return (node) => {
    const box = node.parentElement ?? node
    const pane = node.closest<HTMLElement>('.pane') ?? document.documentElement
    const below = (of: HTMLElement): number => of.getBoundingClientRect().bottom - pane.getBoundingClientRect().bottom
    let grew = false // the text grew at the last look; the parts below an answer appear when it ends
    const grows = (): boolean => growing() || grew
    const there = (): boolean => below(grows() ? box : node) < near
    let following = false // the watch sets it at its first look at the size
    let looked = false
    let before = pane.scrollTop
    const scrolled = (): void => {
      const now = there()
      if (now || pane.scrollTop < before || !grows()) following = now
      before = pane.scrollTop
    }
    const watch = new ResizeObserver(() => {
      // A page that opens on a growing text follows its end, unless it restores a place in the
      // text.
      if (!looked && growing()) following = there() || pane.scrollTop === 0
      looked = true
      if (!grows()) following = there()
      else if (following) pane.scrollBy({ top: Math.max(0, below(box) + room) })
      grew = growing()
    })
    watch.observe(node)
    pane.addEventListener('scroll', scrolled)
    return () => {
      watch.disconnect()
      pane.removeEventListener('scroll', scrolled)
    }
  }
}
