// keepAtEnd scrolls an element to its end, and again when its content gets another size: what is out of sight is
// laid out only when it comes near. It stops when the element is scrolled up, or a person does something in it.
export function keepAtEnd(node: HTMLElement): () => void {
  const acts = ['wheel', 'touchstart', 'pointerdown', 'keydown'] as const
  let at = 0
  const go = (): void => {
    node.scrollTop = node.scrollHeight
    at = node.scrollTop
  }
  const scrolled = (): void => {
    if (node.scrollTop < at && node.scrollHeight - node.scrollTop - node.clientHeight > 1) stop()
  }
  const watch = new ResizeObserver(go)
  const stop = (): void => {
    watch.disconnect()
    node.removeEventListener('scroll', scrolled)
    for (const act of acts) node.removeEventListener(act, stop)
  }
  go()
  for (const child of node.children) watch.observe(child)
  node.addEventListener('scroll', scrolled)
  for (const act of acts) node.addEventListener(act, stop, { passive: true })
  return stop
}

// atEnd is keepAtEnd from each change of the text on.
export const atEnd = (text: string) => (node: HTMLElement): (() => void) => {
  void text
  return keepAtEnd(node)
}
