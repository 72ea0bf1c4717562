import { why } from './client.ts'

// Failures are why what a page shows could not be read, and why what a person did
// there was refused. The next good reading ends the one, the next thing that is
// done the other.
export class Failures {
  reading = $state('')
  doing = $state('')

  #asked = 0 // readings so far

  // read takes what was asked for, unless something was asked for since: answers
  // may overtake each other.
  async read<T>(ask: () => Promise<T>, take: (found: T) => void): Promise<void> {
    const turn = ++this.#asked
    try {
      const found = await ask()
      if (turn !== this.#asked) return
      take(found)
      this.reading = ''
    } catch (e) {
      if (turn === this.#asked) this.reading = why(e)
    }
  }

  // act returns whether what was done succeeded.
  async act(what: () => Promise<unknown>): Promise<boolean> {
    this.doing = ''
    try {
      await what()
      return true
    } catch (e) {
      this.doing = why(e)
      return false
    }
  }
}
