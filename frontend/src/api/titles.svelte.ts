import { get } from './client.ts'
import type { Checkpoint, CheckpointTitle, CheckpointTitles } from './types.ts'

const atOnce = 50 // checkpoints per request

// Titles holds the subjects of checkpoints that are not chats of this window, and the last words of
// all checkpoints. Both come from the text. So it reads only the checkpoints in view, once each.
export class Titles {
  #known = $state.raw(new Map<string, CheckpointTitle>())
  #asked = new Set<string>()

  // of returns the title of a checkpoint, empty while none is known.
  of = (c: Checkpoint): string => c.title || this.#known.get(c.id)?.title || ''

  // ends returns the last words of a checkpoint's text, empty while they are not known.
  ends = (c: Checkpoint): string => this.#known.get(c.id)?.ends ?? ''

  // ask reads the texts of checkpoints. It skips a text that cannot be read.
  async ask(list: Checkpoint[]): Promise<void> {
    const ids = list.filter((c) => !this.#asked.has(c.id)).map((c) => c.id)
    for (const id of ids) this.#asked.add(id)
    for (; ids.length > 0; ids.splice(0, atOnce)) {
      try {
        const { titles } = await get<CheckpointTitles>(`/app/checkpoint-titles?ids=${ids.slice(0, atOnce).map(encodeURIComponent).join(',')}`)
        this.#known = new Map([...this.#known, ...titles.map((t): [string, CheckpointTitle] => [t.id, t])])
      } catch {
        for (const id of ids) this.#asked.delete(id) // the next reading of the list asks again
        return
      }
    }
  }
}
