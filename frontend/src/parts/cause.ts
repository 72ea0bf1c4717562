import type { Divergence, DivergenceText, Run } from '../api/types.ts'
import { programOf } from './clients.ts'
import { count, duration, number } from './format.ts'
import { phasesOf, type Part } from './phases.ts'

// divergenceOf returns where the prompt of a run parts from an earlier text, null if it does not or if that
// is not kept. The text of another program says nothing of this one; others are runs that are known.
export function divergenceOf(r: Run, others: (Run | null)[] = []): Divergence | null {
  const parted = (r.parted as Divergence | undefined) ?? null
  const from = others.find((o) => o?.id === parted?.run)
  return from && programOf(from.client) !== programOf(r.client) ? null : parted
}

const few = 256 // tokens that are read at once

// reread returns how many tokens of its prompt a run read again, 0 if it did not part from an earlier
// text, began a new chat, or had most of it ready.
export function reread(r: Run, others: (Run | null)[] = []): number {
  const read = r.prompt_tokens - r.cached_tokens
  const parted = divergenceOf(r, others)
  return parted && !parted.new && read > Math.max(few, r.prompt_tokens / 2) ? read : 0
}

// A Change is the place where a prompt parts from an earlier text, in whole words.
export interface Change {
  before: string
  kept: string
  given: string
}

// changeOf returns what changed in a prompt. Tokens may end within a word, as in the time of a day.
export function changeOf({ before = '', kept_text = '', given_text = '', ...tokens }: DivergenceText): Change {
  const word = /\S*$/.exec(before)![0]
  const old = word + (kept_text || tokens.kept)
  const now = word + (given_text || tokens.given)
  let same = 0
  while (same < Math.min(old.length, now.length) && old.at(-1 - same) === now.at(-1 - same)) same++
  // What is the same again goes, and so does a mark at the end of both.
  const after = /(?:^[.,;:!?]+|[.,;:!?]*\s).*$/s.exec(now.slice(now.length - same))?.[0] ?? ''
  const cut = (text: string): string => text.slice(0, text.length - after.length)
  return { before: before && `…${before.slice(0, before.length - word.length)}`, kept: cut(old), given: cut(now) }
}

// isTime reports whether a change is one time or date in place of another.
export const isTime = ({ kept, given }: Change): boolean => [kept, given].every((text) => /\d{1,2}:\d\d|\d{4}-\d\d-\d\d/.test(text))

// waitedFor returns how long a run waited for other requests: in the queue, and while they were read or
// answered beside it.
const waitedFor = (r: Run): number => r.queue_ms + (r.beside_ms ?? 0)

// waited reports whether that was most of its time.
const waited = (r: Run): boolean => waitedFor(r) > r.total_ms / 2

// cause says in one sentence what took a run's time.
export function cause(r: Run, others: (Run | null)[] = []): string {
  const parts = phasesOf(r)
  const most = parts.reduce<Part | null>((a, b) => (a && a.ms >= b.ms ? a : b), null)
  if (waited(r)) return `${duration(r.total_ms)}, of which ${duration(waitedFor(r))} went into waiting for other requests.`
  if (!most) return `It took ${duration(r.total_ms)}.`
  const took = `${duration(r.total_ms)}, of which ${duration(most.ms)} went into`
  switch (most.phase) {
    case 'queue':
      return `${took} waiting for other requests.`
    case 'load':
      return `${took} loading the model.`
    case 'restored':
      return `${took} restoring ${count(r.cached_tokens, 'token')} from checkpoints.`
    case 'read':
      return `${took} ${reread(r, others) > 0 ? 're-reading' : 'reading'} ${count(r.prompt_tokens - r.cached_tokens, 'token')}.`
    default:
      return `${took} writing ${count(r.completion_tokens, 'token')}.`
  }
}

// compared says how a run differs from the one that its prompt parted from, phase by phase.
export function compared(r: Run, other: Run): string {
  const ms = (of: Run, phase: Part['phase']): number => phasesOf(of).find((p) => p.phase === phase)?.ms ?? 0
  const names = [
    ['queue', 'waiting'],
    ['load', 'loading'],
    ['restored', 'restoring'],
    ['read', 'reading'],
    ['written', 'writing'],
  ] as const
  const differs = names.map(([phase, name]) => ({ name, ms: ms(r, phase) - ms(other, phase) })).filter((p) => Math.abs(p.ms) >= 50)
  const list = differs.map((p) => `${p.name} ${p.ms < 0 ? '−' : '+'}${duration(Math.abs(p.ms))}`).join(', ')
  return `Run ${number(other.id)} took ${duration(other.total_ms)}${other.client === r.client ? ', from the same client' : ''}${list ? `. Here: ${list}` : ', the same in each phase'}.`
}

// An Advice is what would make runs like one faster, with the page where it is done.
export interface Advice {
  text: string
  button?: string
  href?: string
}

// adviceOf returns what to do about the time that a run took, null where nothing would help.
export function adviceOf(r: Run, others: (Run | null)[] = []): Advice | null {
  const parts = phasesOf(r)
  const most = parts.reduce<Part | null>((a, b) => (a && a.ms >= b.ms ? a : b), null)
  const parted = divergenceOf(r, others)
  if (!waited(r) && most?.phase === 'load' && r.load_ms > 1000) return { text: 'Keep the model in memory: let several models share it, and unload idle ones later.', button: 'Open Settings', href: '#/settings' }
  if (waited(r) || most?.phase === 'queue') return { text: 'Other requests were answered first. Send fewer at the same time, or use a smaller model for one of the programs.' }
  if (parted && r.prefill_ms > 1000) {
    return parted.answer
      ? { text: 'Have the program send earlier answers unchanged. The program, its chat template or a person edited one, so everything after it was re-read.' }
      : { text: 'Have the program put changing text, such as the time, at the end of the prompt, or leave it out. Everything before it then comes from the cache.' }
  }
  return null
}
