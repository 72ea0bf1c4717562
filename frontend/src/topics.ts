// machine is the name of the computer that shows the page.
export const machine = navigator.platform.startsWith('Mac') ? 'Mac' : 'machine'

// sendKey sends a text in which Enter begins a new line.
export const sendKey = machine === 'Mac' ? '⌘+Enter' : 'Ctrl+Enter'

// menuBar is the place of Tandem's icon on this computer.
export const menuBar = machine === 'Mac' ? 'menu bar' : 'tray'

// topics are the pages in the order of the sidebar, each with its subject.
export const topics = [
  { path: 'playground', name: 'Playground', icon: 'chat', text: 'chat with the model, or let it complete code' },
  { path: 'now', name: 'Now', icon: 'now', text: 'what is being answered, how fast, what was slow and why, and how much memory is used' },
  { path: 'runs', name: 'Runs', icon: 'runs', text: 'how long each request took and why, and a way to verify its answer' },
  { path: 'checkpoints', name: 'Checkpoints', icon: 'mark', text: 'what is cached of prompts and answers: continue, name, pin or delete it' },
  { path: 'models', name: 'Models', icon: 'cube', text: 'download, choose, set up, measure and remove models' },
  { path: 'connect', name: 'Connect', icon: 'plug', text: 'settings for editors and other programs' },
] as const

// Path names a page. Settings are a page without an entry among the others.
export type Path = (typeof topics)[number]['path'] | 'settings'

// moved are the old addresses of pages that are parts of others now.
export const moved: Record<string, string> = { conversations: 'checkpoints', storage: 'models/disk', mac: 'models/speed' }
