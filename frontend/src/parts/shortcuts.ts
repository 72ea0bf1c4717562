import table from './shortcuts.json'

// An Action is what a key, an entry of the menu or a row of the palette does.
export type Action =
  | 'palette' | 'chat' | 'completion' | 'again' | 'edit' | 'curl' | 'settings' | 'find'
  | 'playground' | 'now' | 'runs' | 'checkpoints' | 'models' | 'connect'
  | 'composer' | 'model' | 'panel' | 'sidebar' | 'stop' | 'help' | 'report'

// A Shortcut is an action with its key. The window's menu on a Mac is made of the same table.
export interface Shortcut {
  id: Action
  name: string
  menu: 'File' | 'View' | 'Help'
  key: string // a character, or up or escape; empty for an entry of the menu alone
  with: '' | 'cmd' | 'shift+cmd' | 'alt+cmd' // cmd is Ctrl where there is no Command key
  browser?: boolean // in a tab the key belongs to the browser
  where?: string // the key works there alone
}

// shortcuts is the table of all keys. The palette, the menu and Help show it.
//
// The model has Shift and Command with M: on a Mac, Command with M minimises every window.
export const shortcuts = table as Shortcut[]

const signs: Record<string, string> = { up: '↑', escape: 'Esc' }

// written writes a key as people on this computer know it.
export function written(s: Pick<Shortcut, 'key' | 'with'>, mac: boolean): string {
  const key = signs[s.key] ?? s.key.toUpperCase()
  if (s.with === '') return key
  const before = s.with.split('+')
  if (mac) return `${before.map((m) => ({ shift: '⇧', alt: '⌥', cmd: '⌘' })[m]).join('')}${key}`
  return [...before.reverse().map((m) => ({ shift: 'Shift', alt: 'Alt', cmd: 'Ctrl' })[m]), key].join('+')
}

// A Press is what a KeyboardEvent says.
export type Press = Pick<KeyboardEvent, 'key' | 'code' | 'metaKey' | 'ctrlKey' | 'altKey' | 'shiftKey'>

// keyOf returns the character of a key. Option changes what letters write, and other scripts have no
// Latin letters, so the place of the key counts there.
function keyOf(e: Press): string {
  const key = e.key.toLowerCase()
  if (/^[a-z0-9,?]$/.test(key)) return key
  return /^(?:Key|Digit)(.)$/.exec(e.code)?.[1]?.toLowerCase() ?? key
}

// pressed returns the shortcut that a press means. Keys without Command or Ctrl are left to the part
// of the page that has the focus.
export function pressed(e: Press, mac: boolean, tab: boolean): Shortcut | undefined {
  if (!(mac ? e.metaKey : e.ctrlKey) || (mac ? e.ctrlKey : e.metaKey)) return undefined
  const key = keyOf(e)
  return shortcuts.find((s) => {
    if (s.key !== key || s.with === '' || (tab && s.browser)) return false
    // A question mark needs Shift on most keyboards.
    const shift = s.key === '?' ? e.shiftKey : s.with === 'shift+cmd'
    return e.altKey === (s.with === 'alt+cmd') && e.shiftKey === shift
  })
}
