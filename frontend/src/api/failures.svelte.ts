import { why } from './client.ts'

// Failures are why what a page shows could not be read, and why what a person did
// there was refused. The next good reading ends the one, the next thing that is
// done the other.
export class Failures {
  reading = $state('')
  doing = $state('')

  async read(what: () => Promise<unknown>): Promise<void> {
    try {
      await what()
      this.reading = ''
    } catch (e) {
      this.reading = why(e)
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
