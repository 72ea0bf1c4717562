import type { Blocks } from './blocks.ts'

// reading has what reads Markdown. No chat is part of the first paint, so that does not wait for it.
class Reading {
  blocks = $state.raw<(() => Blocks) | null>(null) // null before it is here: texts are shown as they are

  constructor() {
    import('./html.ts').then(
      (m) => (this.blocks = m.blocks),
      () => {}, // the server has gone
    )
  }
}

export const reading = new Reading()
