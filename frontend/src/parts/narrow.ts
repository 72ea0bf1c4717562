// narrow hides the settings of a page that do not have a text, and the parts in which none is left.
// A part whose heading has the text stays whole. What appears later is looked at then.
export function narrow(find: string): (node: HTMLElement) => (() => void) | void {
  const wanted = find.trim().toLowerCase()
  return (node) => {
    const has = (e: Element | null): boolean => e?.textContent.toLowerCase().includes(wanted) === true
    const look = (): void => {
      let any = false
      for (const part of node.querySelectorAll('section')) {
        const settings = [...part.querySelectorAll<HTMLElement>('.setting')]
        const whole = has(part.querySelector('h2'))
        for (const s of settings) s.hidden = !whole && !has(s)
        part.hidden = !whole && !(settings.length > 0 ? settings.some((s) => !s.hidden) : has(part))
        any ||= !part.hidden
      }
      node.classList.toggle('none', !any)
    }
    if (wanted === '') {
      for (const e of node.querySelectorAll<HTMLElement>('section, .setting')) e.hidden = false
      node.classList.remove('none')
      return
    }
    look()
    const watch = new MutationObserver(look)
    watch.observe(node, { childList: true, subtree: true, characterData: true })
    return () => watch.disconnect()
  }
}
