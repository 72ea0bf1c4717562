const name = 'tandem-session' // the key in the tab's storage, and the channel
const patience = 300 // milliseconds in which other tabs may answer before the page asks for a link

interface Word {
  session?: string // the sender's session; without one the sender asks for one
}

// A Session identifies a browser that a person opened with a link. Each tab keeps it in storage of
// its own. A tab without one gets it from another tab by a channel, which only pages of this origin
// in this browser can hear. The session ends with the last tab.
//
// A cookie would go to every port of this machine, and so to other users' programs. Storage that
// tabs share would outlive them, and the next program to serve at this port could read it.
export class Session {
  onhanded = (): void => {} // another tab handed its session over
  #channel = new BroadcastChannel(name)
  #refused = new Set<string>() // sessions that Tandem no longer accepts
  #heard = (): void => {}

  constructor() {
    this.#channel.onmessage = ({ data }: MessageEvent<Word>) => this.#hear(data.session)
    // A tab that comes back finds others waiting.
    const own = this.get()
    if (own !== null) this.#say({ session: own })
  }

  get = (): string | null => sessionStorage.getItem(name)

  // set keeps the session that a link gave, and hands it to the tabs that have none.
  set(session: string): void {
    sessionStorage.setItem(name, session)
    this.#say({ session })
  }

  // drop forgets a session that Tandem refused, unless another has replaced it. It asks other tabs
  // for theirs.
  drop(session: string): void {
    this.#refused.add(session)
    if (this.get() !== session) return
    sessionStorage.removeItem(name)
    this.#say({})
  }

  // ask returns after another tab has sent its session, or after 300 ms without an answer.
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
