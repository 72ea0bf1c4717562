// What the window's web view cannot do by itself, and Wails provides: the clipboard, links to other
// sites, the menu of a Mac and the paths of files that are dropped.
import type { Action } from '../parts/shortcuts.ts'

interface Wails {
  BrowserOpenURL(url: string): void
  ClipboardSetText(text: string): Promise<boolean>
  EventsOn(name: string, heard: (data: never) => void): () => void
}

const wails = (): Wails | undefined => (window as { runtime?: Wails }).runtime

// copy puts a text into the clipboard.
export async function copy(text: string): Promise<void> {
  const w = wails()
  if (!w) return navigator.clipboard.writeText(text)
  if (!(await w.ClipboardSetText(text))) throw new Error('The clipboard can’t be written.')
}

// copied copies a text, and returns the outcome in words.
export const copied = (text: string, done = 'Copied'): Promise<string> =>
  copy(text).then(
    () => done,
    () => 'Not copied',
  )

// saves says whether the page can save a file. The window's web view cannot.
export const saves = (): boolean => wails() === undefined

// save puts a file into the browser's downloads.
export function save(name: string, text: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob([text]))
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000)
}

document.addEventListener('click', (e) => {
  const w = wails()
  const link = e.target instanceof Element ? e.target.closest<HTMLAnchorElement>('a[target="_blank"][href]') : null
  if (!w || !link) return
  e.preventDefault()
  w.BrowserOpenURL(link.href)
})

// onMenu calls act for each entry of the menu that is chosen, until the returned function is called.
export const onMenu = (act: (id: Action) => void): (() => void) | undefined => wails()?.EventsOn('action', act)

// onDroppedModels calls add with the paths of folders and GGUF files that are dropped.
export const onDroppedModels = (add: (paths: string[]) => void): (() => void) | undefined => wails()?.EventsOn('models-dropped', add)
