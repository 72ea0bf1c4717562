// machine is the name of the computer that shows the page.
export const machine = navigator.platform.startsWith('Mac') ? 'Mac' : 'machine'

// menuBar is the place of Tandem's icon on this computer.
export const menuBar = machine === 'Mac' ? 'menu bar' : 'tray'

// topics are the pages in the order of the navigation, each with its subject.
export const topics = [
  { path: 'welcome', name: 'First steps', text: 'choose a model and connect an editor' },
  { path: 'now', name: 'Now', text: 'what is being answered, how fast, and how much memory is in use' },
  { path: 'playground', name: 'Playground', text: 'try the model: complete code, or chat' },
  { path: 'models', name: 'Models', text: 'download, choose, set up and remove models' },
  { path: 'conversations', name: 'Conversations', text: 'texts that are ready to be continued: continue, name, pin or delete them' },
  { path: 'storage', name: 'Storage', text: 'what takes space on the disk, and how to free it' },
  { path: 'runs', name: 'Runs', text: 'what each request took and why, and a way to check its answer' },
  { path: 'mac', name: `This ${machine}`, text: 'measure how fast a model is here' },
  { path: 'connect', name: 'Connect', text: 'what to write into an editor' },
  { path: 'settings', name: 'Settings', text: 'port, keys, folders, limits, history' },
  { path: 'help', name: 'Help', text: 'this page: Tandem in short, what words mean, a report to send to a helper, and the log' },
] as const
