import { Failure, hasSession, stream, why } from './client.ts'
import { merge, type Json } from './patch.ts'
import type { State } from './types.ts'

const longestWait = 10_000 // milliseconds between two attempts

// A Live follows the state of the serving process. It connects again after a break.
export class Live {
  state = $state<State | null>(null) // null before the first answer
  problem = $state('') // why the state is not known now
  locked = $state(false) // the page needs a session
  crashed = $state(false) // no process serves until a person starts one

  #end = new AbortController()
  #following = false

  // follow runs until the page ends or a session is needed. Only one runs at a time.
  async follow(): Promise<void> {
    if (this.#following) return
    this.#following = true
    this.locked = false
    try {
      await this.#follow()
    } finally {
      this.#following = false
    }
  }

  async #follow(): Promise<void> {
    let wait = 250
    while (!this.#end.signal.aborted) {
      try {
        await this.#once(() => (wait = 250))
        this.problem = 'Tandem stopped serving; waiting for it to come back.'
      } catch (e) {
        if (this.#end.signal.aborted) return
        // Another tab may have handed its session over meanwhile.
        if (e instanceof Failure && e.status === 401 && !hasSession()) {
          this.locked = true
          return
        }
        this.problem = e instanceof Failure && e.code === 'unreachable' ? 'Tandem does not answer. This page tries again by itself; start Tandem if it does not run.' : why(e)
        this.crashed = e instanceof Failure && e.code === 'server_crashed'
        if (this.crashed) this.state = null
      }
      await new Promise((done) => setTimeout(done, wait))
      wait = Math.min(wait * 2, longestWait)
    }
  }

  async #once(began: () => void): Promise<void> {
    let whole: Json | undefined
    let rev = 0
    const init = { headers: { Accept: 'text/event-stream' }, signal: this.#end.signal }
    for await (const data of stream('/app/state', init)) {
      whole = merge(whole, JSON.parse(data) as Json)
      const state = whole as unknown as State
      if (state.rev !== ++rev) throw new Error('An event of the state was lost.')
      this.state = state
      this.problem = ''
      this.crashed = false
      began()
    }
  }

  stop(): void {
    this.#end.abort()
  }
}
