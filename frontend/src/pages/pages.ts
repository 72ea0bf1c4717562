import type { Component } from 'svelte'

import type { Live } from '../api/live.svelte.ts'
import type { Playground } from '../api/playground.svelte.ts'
import type { State } from '../api/types.ts'
import type { Path } from '../topics.ts'
import NotLoaded from './NotLoaded.svelte'
import Now from './Now.svelte'
import PlaygroundPage from './Playground.svelte'

export type Page = Component<{ live: Live; state: State; rest: string; playground: Playground }>

// The two pages that a person looks at most come with the script. Each other page is a file of its own,
// so that the first paint waits for less.
const pages: Record<Path, () => Promise<{ default: Page }>> = {
  playground: async () => ({ default: PlaygroundPage }),
  now: async () => ({ default: Now }),
  runs: () => import('./Runs.svelte'),
  checkpoints: () => import('./Checkpoints.svelte'),
  models: () => import('./Models.svelte'),
  connect: () => import('./Connect.svelte'),
  settings: () => import('./Settings.svelte'),
}

// isPage returns whether an address names a page.
export const isPage = (name: string): name is Path => Object.hasOwn(pages, name)

// loadPage returns a page. If its file cannot be loaded, it returns a page that says so.
export const loadPage = async (path: Path): Promise<Page> => {
  try {
    return (await pages[path]()).default
  } catch {
    return NotLoaded
  }
}

// loadRest loads the other pages while nothing else happens. They then open at once, also when
// Tandem is away.
export function loadRest(): void {
  const load = (): void => void Promise.all((Object.keys(pages) as Path[]).map(loadPage))
  if ('requestIdleCallback' in window) requestIdleCallback(load)
  else setTimeout(load, 500) // WebKit
}
