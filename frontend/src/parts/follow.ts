const near = 60 // pixels from the end of the page that count as there

// follow keeps the end of what grows in sight, unless somebody scrolls up.
export function follow(growing: () => boolean): (node: HTMLElement) => () => void {
  return (node) => {
    let following = true
    let before = 0
    let grew = false // it grew when the size was looked at last: what stands below an answer comes as it ends
    const scrolled = (): void => {
      const there = innerHeight + scrollY >= document.documentElement.scrollHeight - near
      if (there || scrollY < before) following = there
      before = scrollY
    }
    const watch = new ResizeObserver(() => {
      if ((growing() || grew) && following) scrollTo({ top: document.documentElement.scrollHeight })
      grew = growing()
    })
    watch.observe(node)
    addEventListener('scroll', scrolled)
    return () => {
      watch.disconnect()
      removeEventListener('scroll', scrolled)
    }
  }
}
