import type { Active, State } from '../api/types.ts'
import type { Part } from './phases.ts'

// runOf returns the request of an answer that grows. Until the server names its run, it is the latest
// request of this page that has no answer yet.
export const runOf = (active: Active[], run: number): Active | undefined =>
  run > 0 ? active.find((r) => r.run_id === run) : active.findLast((r) => r.client === 'Tandem' && r.completion_tokens === 0)

// reads tells whether the reading of a request's prompt has begun.
const reads = (of: Active): boolean => of.begun === true || of.prompt_done > 0

// restores tells whether a request's checkpoint is being restored.
const restores = (of: Active): boolean => of.restoring_since !== undefined && !reads(of)

// before returns the request that another one waits for, if one does: the one that came just before it.
export const before = (of: Active, active: Active[]): Active | undefined =>
  reads(of) || restores(of) ? undefined : active.findLast((r) => r.run_id < of.run_id && r.model === of.model)

// phaseOf returns what a request does now, before its first word.
export function phaseOf(of: Active | undefined, { loading }: Pick<State, 'loading'>): Part['phase'] {
  if (!of || of.prompt_tokens === 0) return loading ? 'load' : 'queue'
  if (reads(of)) return 'read'
  return restores(of) ? 'restored' : 'queue'
}

// A Course is what a request did until now. The time between two looks counts for what the later one
// saw. The server tells exact times when the answer has ended.
export class Course {
  #parts: Part[] = []
  #at: number

  constructor(began: number) {
    this.#at = began
  }

  // look adds what is seen now.
  look(phase: Part['phase'], now: number): Part[] {
    const known = this.#parts.find((p) => p.phase === phase)
    const ms = Math.max(0, now - this.#at)
    this.#at = now
    if (known) known.ms += ms
    else this.#parts.push({ phase, ms })
    return this.#parts.filter((p) => p.ms > 0).map((p) => ({ ...p }))
  }
}
