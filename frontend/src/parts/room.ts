// How much of the model's context a chat takes.
import type { Timings } from '../api/answer.ts'
import type { Active } from '../api/types.ts'
import { number } from './format.ts'

// A Room is the context of a model with what a chat takes of it, in tokens.
export interface Room {
  used: number
  ready: number // of these, came from a checkpoint
  length: number // of the context; 0 = not known
}

// roomOf returns the room by the last finished answer, or by the one that grows.
export function roomOf(last: Timings | undefined, growing: Active | undefined, length: number): Room {
  const ready = last?.cache_n ?? 0
  const used = last ? last.cache_n + last.prompt_n + last.predicted_n : 0
  if (!growing || growing.prompt_tokens === 0) return { used, ready, length }
  return { used: growing.prompt_tokens + growing.completion_tokens, ready: growing.prompt_restored ?? 0, length }
}

// short writes a number of tokens in three or four letters.
export function short(n: number): string {
  const [unit, name] = n < 999.5 ? [1, ''] : n < 999_500 ? [1e3, 'k'] : [1e6, 'M']
  return `${unit > 1 && n < 9.95 * unit ? (n / unit).toFixed(1) : Math.round(n / unit)}${name}`
}

// sentence says in words how full a context is.
export function sentence({ used, ready, length }: Room): string {
  return `${number(used)}${length > 0 ? ` of ${number(length)}` : ''} tokens used (${number(ready)} from cache)`
}
