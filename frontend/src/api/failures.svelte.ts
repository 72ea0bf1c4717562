import { why } from './client.ts'

// Failures holds two errors of a page: why its data could not be read, and why an action was
// refused. The next good reading clears the first, the next action the second.
export class Failures {
  reading = $state('')
  doing = $state('')

  #asked = 0 // readings so far

  // read takes the answer of a request, unless a later request was made: answers may overtake each
  // other.
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

  // act runs an action and returns whether it succeeded.
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
