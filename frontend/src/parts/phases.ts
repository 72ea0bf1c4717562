import type { Active, Run } from '../api/types.ts'

// A Part of a ribbon is a phase of a request with its length in milliseconds.
export interface Part {
  phase: 'queue' | 'load' | 'restored' | 'read' | 'written'
  ms: number
}

// phasesOf returns the phases of a run that took time.
export function phasesOf(r: Run): Part[] {
  const written = r.first_token_ms > 0 ? Math.max(0, r.total_ms - r.first_token_ms) : 0
  const parts: Part[] = [
    { phase: 'queue', ms: r.queue_ms },
    { phase: 'load', ms: r.load_ms },
    { phase: 'restored', ms: r.restore_ms },
    { phase: 'read', ms: r.prefill_ms },
    { phase: 'written', ms: written },
  ]
  return parts.filter((p) => p.ms > 0)
}

// lengthOf returns how long the ribbon of a request is, in percent, beside the slowest one shown. The
// root lets short requests be seen beside long ones.
export const lengthOf = (ms: number, slowest: number): number => (slowest > 0 ? Math.max(4, 100 * Math.sqrt(Math.min(1, ms / slowest))) : 4)

// perSecond returns how many tokens of its answer a run wrote a second, 0 if that is not known.
export function perSecond(r: Run): number {
  const ms = r.total_ms - r.first_token_ms
  return r.ended_at && r.first_token_ms > 0 && r.completion_tokens > 1 && ms > 0 ? (1000 * (r.completion_tokens - 1)) / ms : 0
}

// progressOf returns the ribbon of a request in flight. While its prompt is read, the whole room is
// the prompt; while it writes, the room is the time that went by.
export function progressOf(r: Active, elapsed: number): { parts: Part[]; length: number } {
  const all = (parts: Part[]): Part[] => parts.filter((p) => p.ms > 0)
  if (r.completion_tokens > 0) {
    const written = r.per_second > 0 ? Math.min(elapsed, (1000 * r.completion_tokens) / r.per_second) : 0
    return { parts: all([{ phase: 'read', ms: elapsed - written }, { phase: 'written', ms: written }]), length: 100 }
  }
  const restored = r.prompt_restored ?? 0
  return {
    parts: all([{ phase: 'restored', ms: restored }, { phase: 'read', ms: r.prompt_done - restored }]),
    length: r.prompt_tokens > 0 ? (100 * r.prompt_done) / r.prompt_tokens : 0,
  }
}
