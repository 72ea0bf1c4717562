// bytes writes an amount of memory or disk as the system's own programs do.
export function bytes(n: number): string {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB']
  let i = 0
  while (n >= 999.5 && i < units.length - 1) {
    n /= 1000
    i++
  }
  return `${i === 0 || n >= 100 ? Math.round(n) : n.toPrecision(n >= 10 ? 3 : 2)} ${units[i]}`
}

// memory writes an amount of memory in powers of two, as machines have it.
export const memory = (n: number): string => (n < 2 ** 30 ? `${Math.round(n / 2 ** 20)} MiB` : `${(n / 2 ** 30).toFixed(1).replace(/\.0$/, '')} GiB`)

// count writes a number with its noun.
export const count = (n: number, noun: string): string => `${number(n)} ${noun}${n === 1 ? '' : 's'}`

// number groups thousands.
export const number = (n: number): string => Math.round(n).toLocaleString('en-US')

// figure writes a number, one digit of one below 1, or a dash where there is none yet.
export const figure = (n: number): string => (n >= 1 ? number(n) : n > 0 ? `${Number(n.toPrecision(1))}` : '–')

// duration writes milliseconds.
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 90_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`
  const minutes = Math.round(ms / 60_000)
  return minutes < 90 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

// ago says how long ago a time was.
export function ago(time: string, now = Date.now()): string {
  const s = Math.max(0, (now - Date.parse(time)) / 1000)
  if (s < 60) return 'just now'
  if (s < 3600) return `${Math.floor(s / 60)} min ago`
  if (s < 86_400) return `${Math.floor(s / 3600)} h ago`
  return `${count(Math.floor(s / 86_400), 'day')} ago`
}

// moment writes a time of the day, with its date unless that is today.
export function moment(time: string, now = new Date()): string {
  const at = new Date(time)
  const clock = at.toLocaleTimeString('en-GB')
  return at.toDateString() === now.toDateString() ? clock : `${at.toLocaleDateString('en-GB', { day: 'numeric', month: 'short', year: 'numeric' })}, ${clock}`
}

// clock writes the time of a day, with its date unless that is today.
export function clock(time: string, now = new Date()): string {
  const at = new Date(time)
  const text = at.toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' })
  return at.toDateString() === now.toDateString() ? text : `${at.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' })} ${text}`
}

// saved writes milliseconds that were saved, or a dash if none were.
export const saved = (ms: number): string => (ms >= 1 ? duration(ms) : '–')

const ends: Record<string, string> = { stop: 'finished', length: 'hit the limit', cancel: 'stopped', stopped: 'stopped', interrupted: 'interrupted', '': 'interrupted', error: 'failed', edited: 'edited by you' }

// ended says in plain words why an answer ended, or a run.
export const ended = (reason: string): string => ends[reason] ?? reason

// cut says which limit stopped an answer. limit is the number of tokens that the request allowed, 0 if
// that is not known. An answer with fewer tokens met the end of the model's context.
export const cut = (t: { predicted_n: number }, limit: number): string =>
  t.predicted_n < limit
    ? `stopped after ${count(t.predicted_n, 'token')}: the context is full (set in Models, Settings…)`
    : `stopped at ${count(t.predicted_n, 'token')}`

const drafters: Record<string, string> = { dflash: 'a DFlash drafter', model: 'a small model', mtp: 'multi-token prediction (MTP)', dspark: 'a DSpark drafter', ngram: 'n-grams of the text so far', prediction: 'what the program expected', memory: 'earlier prompts and answers' }

const joined = 'lookup+' // before the kind of drafter that goes on where a match ends

// drafterName names a kind of drafter.
export function drafterName(kind: string): string {
  if (kind.startsWith(joined)) return `a match, and ${drafterName(kind.slice(joined.length))} from its end on`
  return drafters[kind] ?? kind
}

// drafterNames names all drafters of a model with a drafter of this kind. Earlier text is always among
// them: that of the request, and what is remembered of its client.
export const drafterNames = (kind: string): string => (kind === 'ngram' ? 'earlier text' : `${drafterName(kind)}, or earlier text where that is faster`)

// demo is the id of the model that is part of the program. It completes code and knows nothing. It
// answers before a person has chosen a model.
export const demo = 'pocket'

// starter is the id of the model that lies beside the program. It chats before a person has chosen a
// model; terms.ts says how well.
export const starter = 'starter'

const names: Record<string, string> = { [demo]: 'Demo model', [starter]: 'Starter model' }

// nameOf names a model without its publisher.
export const nameOf = (id: string): string => names[id] ?? id.split('/').at(-1) ?? id
