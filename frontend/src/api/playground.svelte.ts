import { tick } from 'svelte'

import { get, post, remove } from './client.ts'
import { Failures } from './failures.svelte.ts'
import { Talk, type Left } from './talk.svelte.ts'
import type { Chat, ChatList, Message, Preset, Presets } from './types.ts'

// draftKey returns the key for the text that a person types in a chat, or in a new chat of a kind.
// The text outlives the page.
const draftKey = (of: number | Talk['kind']): string => `tandem-draft-${of}`
const keyOf = (t: Talk): string => draftKey(t.chat?.id ?? t.kind)

// example is the code to complete before a person has written any.
const example = 'package main\n\nimport "os"\n\n// read returns what is in a file.\nfunc read(name string) (string, error) {\n\tdata, err := os.ReadFile(name)\n'
const shownKey = 'tandem-playground' // in the tab's storage: a Shown
const leftKey = 'tandem-left' // in the tab's storage: the answers that grew when the page was left

// A Shown is the state that a reload restores.
interface Shown {
  kind: Talk['kind']
  chat: number // id; 0 = the chat is not kept
  tinted: boolean
  panel: boolean | null // see Playground.panel
}

const mostListed = 200 // chats of one answer
const roomy = '(min-width: 1081px)' // the panel stands beside the chat, not over it

// A Playground is the list of the kept chats and the shown chat. It outlives its page, so that an
// answer continues while a person looks at another page.
export class Playground {
  talk = $state.raw<Talk | null>(null) // null until a kind is chosen
  list = $state.raw<Chat[]>([])
  words = $state.raw<Record<number, string>>({}) // what a search found in the chats of the list, by their ids
  next = $state(0) // see ChatList
  keep = $state(true)
  count = $state(0)
  search = $state('')
  failures = new Failures()
  reading = $state(false) // the next part of the list is being read
  anyway = $state(false) // a person chats with the demo model, although it cannot chat
  tinted = $state(false) // drafted tokens have a colour
  presets = $state.raw<Preset[]>([]) // instructions with a name
  shown = $state(0) // counts the talks that were shown

  #talks = new Set<Talk>() // the shown talk, and those in which answers grow or something typed waits
  #latest: Partial<Record<Talk['kind'], Talk>> = {} // the talk of a kind that was shown last
  #turn = 0 // counts the shown talks: an answer for an earlier one comes too late
  #listed = Promise.resolve() // resolves after the list was read again
  #long: string | null = null // the search whose list has more than its first part
  #panel = $state<boolean | null>(null) // null = a person has neither opened nor closed it
  #roomy = $state(true)

  constructor() {
    const width = matchMedia(roomy)
    const look = (): void => void (this.#roomy = width.matches)
    look()
    width.addEventListener('change', look)
    addEventListener('pagehide', () => {
      const left = [...this.#talks].flatMap((t) => t.leave() ?? [])
      if (left.length > 0) sessionStorage.setItem(leftKey, JSON.stringify([...this.#left(), ...left]))
    })
  }

  // panel is whether the options of an answer are shown: as a person chose, or else where there is room
  // beside the chat.
  get panel(): boolean {
    return this.#panel ?? this.#roomy
  }
  // over is whether the options lie over the chat.
  get over(): boolean {
    return this.panel && !this.#roomy
  }
  set panel(shown: boolean) {
    this.#panel = shown
  }

  // #left returns the answers that were growing when the page was left. An answer leaves the list
  // when a person looks at its chat.
  #left(): Left[] {
    try {
      return JSON.parse(sessionStorage.getItem(leftKey) ?? '[]') as Left[]
    } catch {
      return [] // data in another form is dropped
    }
  }

  // #comeBack continues the answer of a talk that has just been opened.
  #comeBack(t: Talk, chat: number): void {
    const all = this.#left()
    const last = all.findLast((l) => l.chat === chat)
    if (!last) return
    sessionStorage.setItem(leftKey, JSON.stringify(all.filter((l) => l.chat !== chat)))
    void t.comeBack(last)
  }

  // comeTo restores the state before a reload, or begins with an empty chat of the usual kind. It
  // returns the id of the chat to open, 0 for none.
  comeTo(usual: Talk['kind']): number {
    let before: Partial<Shown> = {}
    try {
      before = JSON.parse(sessionStorage.getItem(shownKey) ?? '{}') as Partial<Shown>
    } catch {
      // data in another form is dropped
    }
    this.tinted = before.tinted === true
    this.#panel = before.panel ?? null
    this.begin(before.kind === 'chat' || before.kind === 'code' ? before.kind : usual)
    return before.chat ?? 0
  }

  // stay keeps the state for a reload.
  stay(): void {
    if (!this.talk) return
    const { kind, chat } = this.talk
    sessionStorage.setItem(shownKey, JSON.stringify({ kind, chat: chat?.id ?? 0, tinted: this.tinted, panel: this.#panel } satisfies Shown))
  }

  // read reads the list again from its beginning, as far as it is shown.
  read = (): Promise<void> => (this.#listed = this.#page(0))
  more = async (): Promise<void> => {
    if (this.reading) return
    this.reading = true
    await this.#listed
    if (this.next) await this.#page(this.next)
    this.reading = false
  }

  #page(before: number): Promise<void> {
    const search = this.search
    const part = before ? `&before=${before}` : this.#long === search ? `&limit=${Math.min(mostListed, this.list.length)}` : ''
    return this.failures.read(
      () => get<ChatList>(`/app/chats?search=${encodeURIComponent(search)}${part}`),
      (page) => {
        if (search !== this.search) return // the person typed more meanwhile
        this.#long = part ? search : null
        this.list = before ? [...this.list, ...page.chats] : page.chats
        this.words = { ...(before ? this.words : {}), ...Object.fromEntries(page.chats.map((c, i) => [c.id, page.words?.[i] ?? ''])) }
        this.next = page.next
        const shown = page.chats.find((c) => c.id === this.talk?.chat?.id)
        if (shown && this.talk) this.talk.chat = shown // the first message gave it a title
        this.keep = page.keep
        if (this.talk?.empty) this.talk.keep = page.keep
        this.count = page.count
      },
    )
  }

  // fresh shows an empty chat of a kind on its page. Its list is shown too, since a search may not
  // match the new chat.
  fresh(kind: 'chat' | 'code'): void {
    this.begin(kind)
    if (this.search !== '') {
      this.search = ''
      void this.read()
    }
    location.hash = '#/playground'
  }

  // turn shows the latest talk of a kind, or an empty one.
  turn(kind: Talk['kind']): void {
    const before = this.#latest[kind]
    if (this.talk?.kind === kind) return
    if (!before) return this.fresh(kind)
    if (!before.chat) this.#show(before)
    location.hash = `#/playground${before.chat ? `/${before.chat.id}` : ''}`
  }

  // #forget takes talks from what turn leads back to.
  #forget(goes: (t: Talk) => boolean): void {
    for (const t of Object.values(this.#latest)) if (goes(t)) delete this.#latest[t.kind]
  }

  // begin shows an empty chat of a kind: the one that a person left before its first message, or else a
  // new one.
  begin(kind: 'chat' | 'code'): void {
    this.failures.doing = ''
    const from = this.talk
    // The text typed in a talk that is not kept goes away with it.
    if (from?.kind === kind && !from.chat && from.messages.length > 0) sessionStorage.removeItem(draftKey(kind))
    const t = [...this.#talks].find((x) => x.kind === kind && x.empty) ?? this.#newTalk(kind)
    t.keep = this.keep
    t.input ||= sessionStorage.getItem(draftKey(kind)) ?? (kind === 'code' ? example : '')
    this.#show(t)
  }

  #newTalk(kind: Talk['kind']): Talk {
    let kept = false
    const t = new Talk(kind, this.keep, () => {
      // Another talk that is not kept may have begun meanwhile, with text of its own.
      const other = this.talk
      if (t.chat && !kept && (other === t || other?.kind !== kind || other.chat)) sessionStorage.removeItem(draftKey(kind))
      kept = t.chat !== null
      this.#changed(t)
    })
    return t
  }

  #show(t: Talk): void {
    this.#turn++
    this.shown++
    for (const x of this.#talks) if (!x.busy && !x.holds) this.#talks.delete(x)
    this.#talks.add(t)
    this.talk = this.#latest[t.kind] = t
  }

  // remember keeps the text that a person types.
  remember(t: Talk): void {
    const typed = t.input !== (t.kind === 'code' ? t.sent?.content : '')
    if (typed) sessionStorage.setItem(keyOf(t), t.input)
    else sessionStorage.removeItem(keyOf(t))
  }

  // showOption opens the options and puts the focus into one of their fields.
  async showOption(id: string): Promise<void> {
    this.panel = true
    await tick()
    document.getElementById(id)?.focus()
  }

  #changed(t: Talk): void {
    void this.read()
    if (this.talk === t) this.#address()
  }

  // #address puts the chat into the page's address, if the page is shown.
  #address(): void {
    if (!location.hash.startsWith('#/playground')) return
    history.replaceState(history.state, '', `#/playground${this.talk?.chat ? `/${this.talk.chat.id}` : ''}`)
  }

  // open shows a kept chat. With 0 it changes nothing: a chat that is on its way still comes.
  async open(id: number): Promise<void> {
    this.failures.doing = ''
    if (id === 0) return this.#address()
    const turn = ++this.#turn
    if (this.talk?.chat?.id === id) return
    const known = [...this.#talks].find((t) => t.chat?.id === id)
    if (known) {
      void known.refresh().catch(() => {}) // it shows what it has
      return this.#show(known)
    }
    const there = await this.failures.act(async () => {
      const t: Talk = await Talk.open(id, () => this.#changed(t))
      if (turn !== this.#turn) return
      t.input = sessionStorage.getItem(draftKey(id)) ?? t.input
      this.#show(t)
      this.#comeBack(t, id)
    })
    if (!there) this.#forget((t) => t.chat?.id === id && t !== this.talk)
    if (!there && turn === this.#turn) this.#address()
  }

  // branch begins a chat with a copy of the shown one up to a message.
  async branch(m: Message): Promise<void> {
    const from = this.talk
    if (!from) return
    const t = from.copy(m.id, () => this.#changed(t))
    this.#show(t)
    await t.keepCopy(from.chat?.title ?? '')
  }

  // keepAgain keeps the messages that could not be kept while Tandem was away.
  keepAgain(): void {
    for (const t of this.#talks) void t.keepAgain()
  }

  // growing is the talk in which an answer grows: the shown one before others.
  get growing(): Talk | undefined {
    return this.talk?.busy ? this.talk : [...this.#talks].find((t) => t.busy)
  }

  // answering reports whether an answer grows in a chat.
  answering(id: number): boolean {
    return this.talk?.chat?.id === id ? this.talk.busy : [...this.#talks].some((t) => t.chat?.id === id && t.busy)
  }

  async rename(c: Chat, title: string): Promise<void> {
    await this.failures.act(async () => {
      const now = await post<Chat>(`/app/chats/${c.id}`, { title })
      if (this.talk?.chat?.id === c.id) this.talk.chat = now
    })
    await this.read()
  }

  async pin(c: Chat): Promise<void> {
    await this.failures.act(() => post(`/app/chats/${c.id}`, { pinned: !c.pinned }))
    await this.read()
  }

  async readPresets(): Promise<void> {
    await this.failures.act(async () => (this.presets = (await get<Presets>('/app/presets')).presets))
  }

  // keepPreset keeps instructions under a name. It replaces earlier ones of that name.
  // It returns whether that succeeded.
  async keepPreset(name: string, system: string): Promise<boolean> {
    const kept = await this.failures.act(() => post('/app/presets', { name, system }))
    if (kept) await this.readPresets()
    return kept
  }

  async dropPreset(name: string): Promise<void> {
    await this.failures.act(async () => (this.presets = (await remove<Presets>(`/app/presets/${encodeURIComponent(name)}`)).presets))
  }

  // remove deletes a chat.
  async remove(c: Chat): Promise<void> {
    await this.failures.act(async () => {
      await this.#drop((t) => t.chat?.id === c.id)
      await remove(`/app/chats/${c.id}`)
      sessionStorage.removeItem(draftKey(c.id))
    })
    await this.read()
  }

  async removeAll(): Promise<void> {
    await this.failures.act(async () => {
      await this.#drop((t) => t.chat !== null)
      await remove('/app/chats')
      for (const key of Object.keys(sessionStorage)) if (/^tandem-draft-\d+$/.test(key)) sessionStorage.removeItem(key)
    })
    await this.read()
  }

  // #drop stops the answers in chats that are to be deleted, and shows none of these chats. It
  // returns after the answers are kept: deleting a chat also deletes what its runs stored.
  async #drop(goes: (t: Talk) => boolean): Promise<void> {
    const gone = [...this.#talks].filter(goes)
    const ends = gone.map((t) => t.stop())
    for (const t of gone) this.#talks.delete(t)
    this.#forget(goes)
    if (this.talk && goes(this.talk)) {
      this.begin(this.talk.kind)
      this.#address()
    }
    await Promise.all(ends)
  }

  // setKeep sets whether chats are kept from now on. It returns whether that succeeded.
  async setKeep(keep: boolean): Promise<boolean> {
    if (!(await this.failures.act(() => post('/app/chats/keep', { keep })))) return false
    await this.read()
    return true
  }
}
