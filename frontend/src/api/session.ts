const name = 'tandem-session' // in the tab's storage, and of the channel
const patience = 300 // milliseconds that other tabs have to answer, before a link is asked for

interface Word {
  session?: string // of the tab that says it; none = it asks for one
}

// A Session is what Tandem knows a browser by that a person opened with a link. Each tab
// keeps it in storage of its own, and a tab without one is handed that of another by a
// channel, which pages of this origin in this browser alone can hear. With the last tab
// it is gone. A cookie would be sent to every port of this machine, so to other users'
// programs too; storage that tabs share would outlive them, and whoever serves at this
// port next could read it.
export class Session {
  onhanded = (): void => {} // another tab handed its session over
  #channel = new BroadcastChannel(name)
  #refused = new Set<string>() // what Tandem does not take any more
  #heard = (): void => {}

  constructor() {
    this.#channel.onmessage = ({ data }: MessageEvent<Word>) => this.#hear(data.session)
    // A tab that comes back finds others waiting.
    const own = this.get()
    if (own !== null) this.#say({ session: own })
  }

  get = (): string | null => sessionStorage.getItem(name)

  // set keeps the session that a link bought, and hands it to the tabs that have none.
  set(session: string): void {
    sessionStorage.setItem(name, session)
    this.#say({ session })
  }

  // drop forgets one that Tandem refused, unless there is another by now, and asks
  // other tabs for theirs.
  drop(session: string): void {
    this.#refused.add(session)
    if (this.get() !== session) return
    sessionStorage.removeItem(name)
    this.#say({})
  }

  // ask returns once another tab has handed its session over, or none has for a moment.
  async ask(): Promise<void> {
    if (this.get() !== null) return
    await new Promise<void>((done) => {
      this.#heard = done
      setTimeout(done, patience)
      this.#say({})
    })
  }

  #say(word: Word): void {
    this.#channel.postMessage(word)
  }

  #hear(session: string | undefined): void {
    const own = this.get()
    if (session === undefined) {
      if (own !== null) this.#say({ session: own })
    } else if (own === null && !this.#refused.has(session)) {
      sessionStorage.setItem(name, session)
      this.#heard()
      this.onhanded()
    }
  }
}
