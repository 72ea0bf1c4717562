// The clipboard, and links to other sites. The window's web view can do neither by itself. Wails
// provides functions for both.

interface Wails {
  BrowserOpenURL(url: string): void
  ClipboardSetText(text: string): Promise<boolean>
}

const wails = (): Wails | undefined => (window as { runtime?: Wails }).runtime

// copy puts a text into the clipboard.
export async function copy(text: string): Promise<void> {
  const w = wails()
  if (!w) return navigator.clipboard.writeText(text)
  if (!(await w.ClipboardSetText(text))) throw new Error('The clipboard takes nothing.')
}

document.addEventListener('click', (e) => {
  const w = wails()
  const link = e.target instanceof Element ? e.target.closest<HTMLAnchorElement>('a[target="_blank"][href]') : null
  if (!w || !link) return
  e.preventDefault()
  w.BrowserOpenURL(link.href)
})
