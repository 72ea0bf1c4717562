import type { Timings } from './answer.ts'

// An Attached is what a message keeps of a file. The file's text is in the message itself.
export interface Attached {
  name: string
  tokens: number // of the model that answers; 0 = not known
}

// Facts are the data kept with a message's text.
export interface Facts {
  files?: Attached[] // of a person's message, which begins with their texts
  said?: number // where the person's own words begin after them
  timings?: Timings
  limit?: number // tokens that the request allowed
  waited?: number // milliseconds until the first word
  spans?: number[] // see Answer
  thought?: string
}

const isObject = (v: unknown): v is Record<string, unknown> => typeof v === 'object' && v !== null
const isNumber = (v: unknown): boolean => typeof v === 'number'

const figures = ['cache_n', 'prompt_n', 'prompt_ms', 'predicted_n', 'predicted_ms', 'predicted_per_second', 'draft_n', 'draft_n_accepted']
const later = ['tokens_per_verify', 'restore_ms', 'queue_ms', 'load_ms', 'run_id'] // old timings lack some of them

const forms: Record<keyof Facts, (v: unknown, content: string) => boolean> = {
  files: (v) => Array.isArray(v) && v.every((f) => isObject(f) && typeof f.name === 'string' && isNumber(f.tokens)),
  said: (v, content) => Number.isInteger(v) && (v as number) >= 0 && (v as number) <= content.length,
  timings: (v) => isObject(v) && figures.every((name) => isNumber(v[name])) && later.every((name) => v[name] === undefined || isNumber(v[name])),
  limit: isNumber,
  waited: isNumber,
  spans: (v) => Array.isArray(v) && v.every(isNumber),
  thought: (v) => typeof v === 'string',
}

// factsOf returns the facts of a message, without those that have another form: they come from a
// database that other versions and programs may write to.
export function factsOf({ facts, content }: { facts: unknown; content: string }): Facts {
  const known = (name: string): name is keyof Facts => Object.hasOwn(forms, name)
  return Object.fromEntries(Object.entries(isObject(facts) ? facts : {}).filter(([name, v]) => known(name) && forms[name](v, content)))
}
