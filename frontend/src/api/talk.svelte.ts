import { attach, type TextFile } from '../parts/attachments.ts'
import { branch, latest, siblings } from '../parts/thread.ts'
import { askOf } from './ask.ts'
import { Failure, get, post, remove, request, why } from './client.ts'
import { factsOf, type Facts } from './facts.ts'
import { Generation, type Ask } from './generate.ts'
import type { Options, Usual } from './options.ts'
import type { Chat, Message, WholeChat } from './types.ts'

const shownEvery = 100 // milliseconds between two looks at a growing answer
const savedEvery = 2000 // milliseconds between two saves of a growing answer
const leavesWithin = 10_000 // milliseconds from the break of an answer to the end of its page, if the page's end broke it
const lastWords = 60 << 10 // bytes of a request that outlives the page, at most

// A Left is an answer that was growing when the page was left, or that the leaving broke.
export interface Left {
  chat: number
  message: number
  name: string // name of its request
}

// broke returns whether an answer ended because Tandem or the connection to it ended.
const broke = (e: unknown): boolean => !(e instanceof Failure) || e.code === 'unreachable' || e.code === 'not_ready'

// none returns whether an answer ended, or its page was left, before the answer began. Such an
// answer is not a message.
const none = (m: Message, all: Message[]): boolean =>
  m.role === 'assistant' && m.content === '' && !factsOf(m).thought && m.finish !== 'stop' && m.finish !== 'length' && !all.some((x) => x.parent === m.id)

// A Talk is a conversation that is shown or in which an answer is generated. It keeps its messages
// one by one. If keeping is off, it lives in the page alone.
export class Talk {
  readonly kind: 'chat' | 'code'
  chat = $state.raw<Chat | null>(null) // null while the talk is not kept
  keep = $state(true) // it is kept from its first message on
  messages = $state.raw<Message[]>([]) // ids below 0 are not kept, or not yet
  leaf = $state(0)
  system = $state('')
  options = $state<Options>({})
  usual = $state.raw<Usual>({})
  input = $state('') // the typed text
  files = $state.raw<TextFile[]>([]) // that go with the next message
  coming = $state(0) // files that are being read, and copies that are being kept
  editing = $state(0) // id of the message that a person edits
  edited = $state('') // its typed text
  own = $state('') // the instructions that a preset took the place of
  whole = $state(false) // the page shows all messages of the branch, not only the latest
  failure = $state('')
  busy = $state(false) // an answer is coming
  answered = $state(false) // the last answer that was asked for here came to its end or limit
  left = $state.raw<Message[]>([]) // answers that ended before they began
  flying = $state.raw<number[]>([]) // ids of the runs in flight, of all tabs
  growing = $state.raw<{ id: number; run: number; text: string; thought: string; spans: number[] } | null>(null) // the growing answer at the last look

  #generation: Generation | null = null
  #over = Promise.resolve() // resolves after the growing answer has ended and is kept
  #unkept: Message | null = null // an answer whose end could not be kept
  #keeping: Promise<unknown> = Promise.resolve() // resolves after a copy or a person's own text is kept
  #became = new Map<number, number>() // ids of messages before they were kept, and after
  #limit = 0 // tokens that the growing answer may have
  #left = false // the page ended, so the failures of its requests mean nothing
  #due: { left: Left; until: number } | null = null // an answer that continues if the page is loaded again by then
  #ids = 0 // counts down
  #changed: () => void

  // changed is called after a change of the kept data.
  constructor(kind: 'chat' | 'code', keep: boolean, changed: () => void) {
    this.kind = kind
    this.keep = keep
    this.#changed = changed
  }

  // open reads a chat.
  static async open(id: number, changed: () => void): Promise<Talk> {
    const { chat, messages } = await get<WholeChat>(`/app/chats/${id}`)
    const t = new Talk(chat.kind === 'code' ? 'code' : 'chat', true, changed)
    t.chat = chat
    t.#take(messages)
    t.leaf = t.left.find((m) => m.id === chat.leaf)?.parent ?? chat.leaf
    t.system = chat.system
    t.options = (chat.options ?? {}) as Options
    if (t.kind === 'code') t.input = t.sent?.content ?? ''
    return t
  }

  #take(messages: Message[]): void {
    this.messages = messages.filter((m) => !none(m, messages))
    this.left = messages.filter((m) => none(m, messages))
  }

  // refresh reads the messages that another tab, or the page before a reload, has kept meanwhile.
  async refresh(): Promise<void> {
    await this.#keeping
    if (!this.chat || this.busy) return
    const { chat, messages } = await get<WholeChat>(`/app/chats/${this.chat.id}`)
    if (this.busy) return
    this.chat = chat
    const own = this.messages.filter((m) => m.id < 0)
    this.#take(messages)
    this.messages = [...this.messages, ...own]
    const last = this.messages.find((m) => m.id === chat.leaf)
    if (last?.parent === this.leaf) this.leaf = last.id // the answer has its first words now
  }

  // empty says that the talk has not begun. holds says that it has what a person began and the server
  // does not know.
  empty = $derived(!this.chat && !this.busy && this.messages.length === 0)
  holds = $derived(this.empty || this.files.length > 0 || this.coming > 0 || this.editing !== 0)

  // interrupted returns whether a kept answer lacks its end. grows says whether another tab
  // receives it.
  interrupted = (m: Message): boolean => m.role === 'assistant' && m.id > 0 && m.run > 0 && m.finish === '' && m.id !== this.growing?.id
  grows = (m: Message): boolean => this.interrupted(m) && this.flying.includes(m.run)

  // continues returns whether an answer can continue from its last token.
  continues = (m: Message): boolean => this.interrupted(m) && !this.grows(m) && m.id === this.leaf

  // elsewhere returns whether another tab receives an answer, or may receive it. The run of an
  // answer that has just been asked for is not kept yet.
  elsewhere = $derived(!this.busy && (this.messages.some(this.grows) || this.left.some((m) => this.grows(m) || (m.run === 0 && m.finish === '' && this.flying.length > 0))))

  // shown lists the messages of the branch in view.
  shown = $derived(branch(this.messages, this.leaf))

  // sent is the last message of a person. For code it is the text that the answer continues.
  sent = $derived(this.shown.findLast((m) => m.role === 'user'))

  // edits says that the field of a message is open.
  edits = $derived(this.shown.some((m) => m.id === this.editing))

  siblings = (m: Message): Message[] => siblings(this.messages, m)

  // show shows another message at the same place of the chat, and the messages after it.
  show(m: Message): void {
    const before = this.sent?.content
    this.leaf = latest(this.messages, m.id)
    if (this.kind === 'code' && this.input === before) this.input = this.sent?.content ?? ''
    if (this.chat && this.leaf > 0) void this.#tell(`/app/chats/${this.chat.id}`, { leaf: this.leaf })
  }

  // keepSetup keeps system prompt and options.
  keepSetup(): void {
    if (this.chat) void this.#tell(`/app/chats/${this.chat.id}`, { system: this.system, options: this.#setup() })
  }

  #setup = (): Options => $state.snapshot(this.options) as Options

  // #tell stores data on the server. A failure is shown and has no other effect.
  async #tell<T>(path: string, body: unknown): Promise<T | null> {
    try {
      return await post<T>(path, body)
    } catch (e) {
      this.failure = `This couldn’t be kept: ${why(e)}`
      return null
    }
  }

  // copy begins a talk with the branch up to a message. Nothing of it is kept yet.
  copy(leaf: number, changed: () => void): Talk {
    const t = new Talk(this.kind, this.keep, changed)
    t.system = this.system
    t.options = this.#setup()
    t.usual = this.usual
    for (const m of branch(this.messages, leaf)) t.#put({ ...m, parent: t.leaf, finish: m.finish || 'interrupted' })
    return t
  }

  // keepCopy keeps the copied messages. What is said meanwhile waits for its end, because it follows a
  // message that is kept last.
  async keepCopy(title: string): Promise<void> {
    if (!this.keep) return
    this.coming++
    await (this.#keeping = this.#keepAll(title))
    this.coming--
    this.#changed()
  }

  async #keepAll(title: string): Promise<void> {
    await this.#keepChat(title)
    // Each message that is kept changes the parent of the next one.
    for (let i = 0; this.chat && i < this.messages.length; i++) {
      if ((await this.#add(this.messages[i]!)).id > 0) continue
      void remove(`/app/chats/${this.chat.id}`).catch(() => {}) // the message says why its copy is not kept
      this.chat = null
      this.keep = false
    }
  }

  // #keepChat keeps the talk. If that fails, it lives in the page alone from now on.
  async #keepChat(title: string): Promise<void> {
    this.chat = await this.#tell<Chat>('/app/chats', { kind: this.kind, title, system: this.system, options: this.#setup() })
    this.keep = this.chat !== null
  }

  // #keptID returns the id of a message after it is kept.
  async #keptID(id: number): Promise<number> {
    await this.#keeping
    return this.#became.get(id) ?? id
  }

  // remove deletes a message with all that follow it.
  async remove(m: Message): Promise<void> {
    const chat = this.chat
    if (m.id > 0 && chat) await remove(`/app/chats/${chat.id}/messages/${m.id}`)
    const gone = new Set([m.id])
    for (const x of this.messages) if (gone.has(x.parent)) gone.add(x.id)
    const other = this.siblings(m).findLast((x) => x.id !== m.id)
    const shown = this.shown.some((x) => gone.has(x.id))
    this.messages = this.messages.filter((x) => !gone.has(x.id))
    if (!shown) return
    this.leaf = other ? latest(this.messages, other.id) : m.parent
    if (chat && this.leaf > 0) void this.#tell(`/app/chats/${chat.id}`, { leaf: this.leaf })
  }

  // send adds a person's message with its files after another, and generates an answer to it.
  async send(words: string, files: TextFile[], parent: number): Promise<void> {
    const before = attach(files, '')
    const facts: Facts = { files: files.map(({ name, tokens }) => ({ name, tokens })), said: before.length }
    await (files.length > 0 ? this.say(before + words, parent, facts, words || files[0]!.name) : this.say(words, parent))
  }

  // say adds a person's message after another, and generates an answer to it. Without a title, the
  // chat takes one from the message.
  async say(content: string, parent: number, facts: Facts | null = null, title = ''): Promise<void> {
    if (!this.busy) await this.#begin(() => this.#say(content, parent, facts, title))
  }

  async #say(content: string, parent: number, facts: Facts | null, title: string): Promise<void> {
    parent = await this.#keptID(parent)
    if (!this.chat && this.keep) await this.#keepChat(title)
    await this.#add(this.#put({ parent, role: 'user', content, finish: 'said', facts }))
    this.#changed()
    await this.#answer(this.leaf)
  }

  // #put shows a message after its parent.
  #put(of: Pick<Message, 'parent' | 'role' | 'content' | 'finish'> & Partial<Message>): Message {
    const m: Message = { model: '', run: 0, facts: null, created_at: new Date().toISOString(), ...of, id: --this.#ids, chat: 0 }
    this.messages = [...this.messages, m]
    this.leaf = m.id
    return m
  }

  // rewrite adds a person's own text beside an answer of the model. The model continues from there
  // as if it had said so.
  async rewrite(of: Message, content: string): Promise<void> {
    if (this.busy) return
    this.failure = ''
    const parent = await this.#keptID(of.parent)
    const m = this.#put({ parent, role: 'assistant', content, finish: 'edited' })
    await (this.#keeping = this.#add(m))
    this.#changed()
  }

  // answer generates another answer to a message, and keeps the earlier ones. Without a model, the
  // current one answers.
  async answer(parent: number, model = ''): Promise<void> {
    if (!this.busy) await this.#begin(() => this.#answer(parent, model))
  }

  // goOn continues an interrupted answer from its last token, unless another tab has continued it. It
  // returns false if nothing is known of the answer now.
  async goOn(id: number): Promise<boolean> {
    try {
      await this.refresh()
    } catch (e) {
      this.failure = why(e)
      return false
    }
    const m = this.messages.find((x) => x.id === id)
    if (m && this.interrupted(m) && id === this.leaf && !this.busy) await this.#begin(() => this.#goOn(m))
    return true
  }

  async #goOn(m: Message): Promise<void> {
    const { limit = 0, spans = [], thought = '' } = factsOf(m)
    this.#generation?.answer.again(m.content, thought, spans, m.run)
    this.growing = { id: m.id, run: m.run, text: m.content, thought, spans }
    await this.#grow(m, limit, (g, changed) => g.follow(`/app/runs/${m.run}/resume`, {}, changed))
  }

  // comeBack continues an answer that was growing when the page was left.
  async comeBack(left: Left): Promise<void> {
    this.#due = { left, until: Infinity } // the page may be left again before the answer grows
    try {
      // The page was left, and its last request may not have arrived.
      await post(`/app/runs/${left.name}/cancel`, { left: true })
    } catch (e) {
      this.failure = why(e)
      if (broke(e)) return // the page is left again, or Tandem is away
    }
    if (!(await this.goOn(left.message))) return
    // If no text had arrived, asking again loses nothing. A browser may end the requests of a page
    // before the page hears that it goes away. That page has kept an error then.
    const begun = this.left.find((x) => x.id === left.message)
    if (begun && begun.finish !== 'stopped' && begun.parent === this.leaf) await this.answer(begun.parent)
    if (this.#due?.left === left) this.#due = null
  }

  #begin(come: () => Promise<void>): Promise<void> {
    this.busy = true
    this.answered = this.#left = false
    this.failure = ''
    this.#generation = new Generation()
    return (this.#over = come())
  }

  // #add keeps a message of the list, and gives it the id of the kept message.
  async #add(m: Message): Promise<Message> {
    if (!this.chat || m.parent < 0) return m
    const kept = await this.#tell<Message>(`/app/chats/${this.chat.id}/messages`, { parent: m.parent, role: m.role, content: m.content, model: m.model, finish: m.finish, run: m.run, facts: m.facts })
    if (!kept) return m
    this.#became.set(m.id, kept.id)
    this.messages = this.messages.map((x) => (x.id === m.id ? kept : x.parent === m.id ? { ...x, parent: kept.id } : x))
    if (this.leaf === m.id) this.leaf = kept.id
    if (this.editing === m.id) this.editing = kept.id
    if (this.growing?.id === m.id) this.growing = { ...this.growing, id: kept.id }
    return kept
  }

  // ask returns the request for an answer to a message. of is an answer that is there: the request is
  // the one that it answers.
  ask(after: number, of?: Message): Ask {
    const first = of ? this.siblings(of)[0] : this.messages.find((m) => m.parent === after && m.role === 'assistant')
    const again = first !== undefined && first.id !== of?.id
    return askOf({ kind: this.kind, system: this.system, options: this.#setup(), usual: this.usual }, branch(this.messages, after), again)
  }

  async #answer(parent: number, model = ''): Promise<void> {
    parent = await this.#keptID(parent)
    const ask = { ...this.ask(parent), ...(model ? { model } : {}) }
    const m = this.#put({ parent, role: 'assistant', content: '', finish: '' })
    this.growing = { id: m.id, run: 0, text: '', thought: '', spans: [] }
    // The answer gets its id before it grows. So every later save changes the same message, also
    // the save at the page's end.
    await this.#grow(await this.#add(m), ask.max_tokens, (g, changed) => g.run(ask, changed))
  }

  // #grow shows an answer while it arrives, and keeps it.
  async #grow(m: Message, limit: number, come: (g: Generation, changed: () => void) => Promise<void>): Promise<void> {
    this.#limit = limit
    if (m.id > 0) this.#due = null // leave names this answer from now on
    const g = this.#generation ?? new Generation()
    g.resumable = m.id > 0
    const before = m.run // the run that the answer continues; 0 = the answer is new

    // saved is the save in progress. Only one runs at a time.
    let saving = false
    let saved = Promise.resolve()
    const save = (): void => {
      if (saving || (g.answer.text.length === m.content.length && g.answer.run === m.run)) return
      saving = true
      saved = (async () => {
        m = await this.#save({ ...m, content: g.answer.text, model: g.answer.model || m.model, run: g.answer.run })
        saving = false
      })()
    }
    let look: ReturnType<typeof setTimeout> | undefined
    const show = (): void => {
      look = undefined
      if (this.growing) this.growing = { id: m.id, run: g.answer.run, text: g.answer.text, thought: g.answer.thought, spans: g.answer.spans.slice() }
    }
    const saver = setInterval(save, savedEvery)
    try {
      await come(g, () => {
        look ??= setTimeout(show, shownEvery)
        if (this.growing && g.answer.run !== this.growing.run) this.growing = { ...this.growing, run: g.answer.run }
        if (g.answer.run !== m.run) save() // other tabs find the growing answer by its run
      })
    } catch (e) {
      this.failure = why(e)
      g.answer.finish = before > 0 || broke(e) ? '' : 'error'
      // A page that goes away may lose its requests before it hears so.
      if (broke(e) && this.chat && m.id > 0) this.#due = { left: { chat: this.chat.id, message: m.id, name: g.name }, until: performance.now() + leavesWithin }
    }
    clearInterval(saver)
    clearTimeout(look)
    await saved
    const a = g.answer
    if (a.text === '' && a.thought === '' && a.finish !== 'stop') {
      if (a.finish !== 'stopped' && this.failure === '') this.failure = 'The answer ended before its first word.'
      const end = { ...m, run: a.run, finish: a.finish === 'stopped' ? 'stopped' : 'error' }
      if (m.id > 0) await this.#save(end)
      if (a.run > 0) this.left = [...this.left, end]
      this.messages = this.messages.filter((x) => x.id !== m.id)
      this.leaf = m.parent
    } else if (a.finish !== '' || before === 0 || a.run !== before) {
      const facts: Facts = { limit, ...(a.waited ? { waited: Math.round(a.waited) } : {}), ...(a.timings ? { timings: a.timings } : {}), ...(a.thought ? { thought: a.thought } : {}), spans: a.spans }
      await this.#save({ ...m, content: a.text, model: a.model || m.model, finish: a.finish, run: a.run, facts })
    }
    this.growing = this.#generation = null
    this.answered = a.finish === 'stop' || a.finish === 'length'
    this.busy = false
    this.#changed()
  }

  // #save puts the answer so far into the list, and keeps it.
  async #save(m: Message): Promise<Message> {
    if (m.id > 0 && this.chat && !this.#left) this.#unkept = (await this.#tell(...this.#kept(m, this.chat))) ? null : m
    this.messages = this.messages.map((x) => (x.id === m.id ? m : x))
    return m.id < 0 ? this.#add(m) : m
  }

  #kept = (m: Message, { id }: Chat): [path: string, body: unknown] => [`/app/chats/${id}/messages/${m.id}`, { content: m.content, model: m.model, finish: m.finish, run: m.run, facts: m.facts }]

  // keepAgain keeps an answer that could not be kept while Tandem was away, unless more of it has
  // been kept since.
  async keepAgain(): Promise<void> {
    const m = this.#unkept
    if (!m || !this.chat || this.busy) return
    try {
      const { messages } = await get<WholeChat>(`/app/chats/${this.chat.id}`)
      if (this.busy || this.#unkept !== m) return
      const there = messages.find((x) => x.id === m.id)
      if (there && there.finish === '' && m.content.startsWith(there.content)) await post(...this.#kept(m, this.chat))
      this.#unkept = null
      this.failure = ''
    } catch {
      // it tries again when Tandem comes back the next time
    }
  }

  // stop ends the growing answer, and returns after its text is kept.
  async stop(): Promise<void> {
    await this.#generation?.stop()
    await this.#over
  }

  // leave keeps the answer so far when the page ends. It returns where the answer can continue, or
  // null if none can.
  leave(): Left | null {
    this.#left = true
    const send = (path: string, body: unknown): void => void request(path, { method: 'POST', body: JSON.stringify(body), keepalive: true }).catch(() => {})
    const m = this.messages.find((x) => x.id === this.growing?.id)
    const g = this.#generation
    g?.leave(send)
    if (!this.chat || !m || m.id < 0 || !g) return this.#due && performance.now() < this.#due.until ? this.#due.left : null
    const a = g.answer
    if ((a.text !== '' || a.run > 0) && a.text.length * 3 <= lastWords) {
      const brief = { content: a.text, model: a.model || m.model, run: a.run, ...(g.stopped ? { finish: 'stopped' } : {}) }
      const all = { ...brief, facts: { spans: a.spans, limit: this.#limit, ...(a.thought ? { thought: a.thought } : {}) } satisfies Facts }
      send(`/app/chats/${this.chat.id}/messages/${m.id}`, JSON.stringify(all).length < lastWords ? all : brief)
    }
    return g.stopped ? null : { chat: this.chat.id, message: m.id, name: g.name }
  }
}
