import type { Sample } from '../parts/speeds.ts'
import { Failure, hasSession, stream, why } from './client.ts'
import { merge, type Json } from './patch.ts'
import type { State } from './types.ts'

const minutesKept = 5
const samplesKey = 'tandem-samples' // in the tab's storage
const longestWait = 10_000 // milliseconds between two attempts

// before returns the state that the page had before a reload.
function before(): Sample[] {
  try {
    const kept = JSON.parse(sessionStorage.getItem(samplesKey) ?? '[]') as [number, [number, number][]][]
    return kept.map(([at, speeds]) => ({ at, speeds: new Map(speeds) }))
  } catch {
    return [] // data in another form is dropped
  }
}

// A Live follows the state of the serving process. It connects again after a break.
export class Live {
  state = $state<State | null>(null) // null before the first answer
  problem = $state('') // why the state is not known now
  locked = $state(false) // the page needs a session
  crashed = $state(false) // no process serves until a person starts one
  samples = $state.raw<Sample[]>(before())

  #end = new AbortController()
  #following = false

  constructor() {
    // A page that is loaded again does not get the past samples again. Until the state arrives,
    // nothing is known.
    addEventListener('pagehide', () => sessionStorage.setItem(samplesKey, JSON.stringify([...this.samples.map((s) => [s.at, [...s.speeds]]), [Date.now() / 1000, []]])))
  }

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
      this.#sample(state)
      began()
    }
  }

  #sample(state: State): void {
    const at = Date.now() / 1000
    const kept = this.samples.filter((s) => s.at > at - 60 * minutesKept)
    this.samples = [...kept, { at, speeds: new Map(state.active.map((run) => [run.run_id, run.per_second])) }]
  }

  stop(): void {
    this.#end.abort()
  }
}
