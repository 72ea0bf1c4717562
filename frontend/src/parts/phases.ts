import type { Active, Run } from '../api/types.ts'

// A Part of a ribbon is a phase of a request with its length in milliseconds.
export interface Part {
  phase: 'queue' | 'load' | 'restored' | 'read' | 'written' | 'unknown'
  ms: number
}

const took = (parts: Part[]): Part[] => parts.filter((p) => p.ms > 0)

// phasesOf returns the phases of a run that took time. The prefill has the restoring in it.
export function phasesOf(r: Run): Part[] {
  const written = r.first_token_ms > 0 ? Math.max(0, r.total_ms - r.first_token_ms) : 0
  return took([
    { phase: 'queue', ms: r.queue_ms },
    { phase: 'load', ms: r.load_ms },
    { phase: 'restored', ms: r.restore_ms },
    { phase: 'read', ms: r.prefill_ms - r.restore_ms },
    { phase: 'written', ms: written },
  ])
}

// lengthOf returns how long the ribbon of a request is, in percent, beside the slowest one shown. The
// root lets short requests be seen beside long ones.
export const lengthOf = (ms: number, slowest: number): number => (slowest > 0 ? Math.max(4, 100 * Math.sqrt(Math.min(1, ms / slowest))) : 4)

// perSecond returns how many tokens of its answer a run wrote a second, 0 if that is not known.
export function perSecond(r: Run): number {
  const ms = r.total_ms - r.first_token_ms
  return r.ended_at && r.first_token_ms > 0 && r.completion_tokens > 1 && ms > 0 ? (1000 * (r.completion_tokens - 1)) / ms : 0
}

// speedsOf returns the middle speed of the runs of each model that wrote something.
export function speedsOf(runs: Run[]): Map<string, number> {
  const speeds = new Map<string, number[]>()
  for (const r of runs) if (perSecond(r) > 0) speeds.set(r.model, [...(speeds.get(r.model) ?? []), perSecond(r)])
  return new Map([...speeds].map(([model, own]) => [model, own.sort((a, b) => a - b)[own.length >> 1] ?? 0]))
}

// readingOf returns the ribbon of a prompt that is read, in tokens.
export function readingOf(r: Active): Part[] {
  const restored = r.prompt_restored ?? 0
  return took([{ phase: 'restored', ms: restored }, { phase: 'read', ms: r.prompt_done - restored }])
}

// writingOf returns the ribbon of an answer that is written. The server tells when it began to
// restore, to read and to write. The page alone saw that the model was being loaded: seen is what it saw.
export function writingOf(r: Active, now: number, seen: Part[]): Part[] {
  const began = Date.parse(r.started_at)
  const writes = r.writing_since ? Date.parse(r.writing_since) : now
  const begins = r.reading_since ? Date.parse(r.reading_since) : writes
  const restores = r.restoring_since ? Date.parse(r.restoring_since) : begins
  const reads = (r.prompt_restored ?? 0) > 0 ? begins : restores // the search for a checkpoint counts as reading
  const loaded = Math.min(seen.find((p) => p.phase === 'load')?.ms ?? 0, restores - began)
  return took([{ phase: 'queue', ms: restores - began - loaded }, { phase: 'load', ms: loaded }, { phase: 'restored', ms: reads - restores }, { phase: 'read', ms: writes - reads }, { phase: 'written', ms: now - writes }])
}
