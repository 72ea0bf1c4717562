import { get } from './client.ts'
import { Failures } from './failures.svelte.ts'
import type { Storage } from './types.ts'

const pause = 3000 // milliseconds between two readings

// A Disk is what Tandem takes of the disk, read again when it may have changed.
export class Disk {
  known = $state.raw<Storage | null>(null)
  said = $state('') // what was removed last
  failures = new Failures()
  #last = 0 // time of the last reading, in milliseconds

  read = (): Promise<void> =>
    this.failures.read(
      () => {
        this.#last = Date.now()
        return get<Storage>('/app/storage')
      },
      (found) => (this.known = found),
    )

  // act does something that changes the disk.
  act = async (what: () => Promise<unknown>): Promise<void> => {
    if (await this.failures.act(what)) await this.read()
  }

  // soon reads after a pause, because requests begin and end faster than a person reads. It returns
  // what takes that back.
  soon(): () => void {
    const wait = setTimeout(() => void this.read(), this.#last + pause - Date.now())
    return () => clearTimeout(wait)
  }
}
