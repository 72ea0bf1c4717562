import type { Run } from '../api/types.ts'

// A Sample is the measurement of one moment.
export interface Sample {
  at: number // seconds since 1970
  speeds: Map<number, number> // tokens per second, by the run
}

// A Past is a run that has ended, at its mean speed.
export interface Past {
  run: number
  from: number // its first token, in seconds since 1970
  to: number
  perSecond: number
}

const few = 8 // tokens

// past makes a Past of a run. It returns null if the run wrote nothing, or continued another run,
// because then its new tokens are not known.
export function past(r: Run): Past | null {
  if (!r.ended_at || r.completion_tokens === 0 || r.resumes) return null
  const to = Date.parse(r.ended_at) / 1000
  const whole = Math.max(1, r.total_ms)
  // The first token ends the wait, so it does not count. The time between only a few tokens says
  // nothing, because they may have come at once.
  const [tokens, ms] = r.completion_tokens >= few && r.first_token_ms < whole ? [r.completion_tokens - 1, whole - r.first_token_ms] : [r.completion_tokens, whole]
  return { run: r.id, from: to - ms / 1000, to, perSecond: (1000 * tokens) / ms }
}

// speeds returns the tokens per second of all runs together, from a moment until now: the times at
// which the speed changes, and the speed from there on. Samples count before the mean of a run. An
// answer has only its mean if it was too short for a sample, or came before the page.
export function speeds(samples: Sample[], runs: Past[], from: number, now: number): [number[], number[]] {
  const told = new Set(samples.flatMap((s) => [...s.speeds].filter(([, v]) => v > 0).map(([run]) => run)))
  const others = runs.filter((r) => !told.has(r.run) && r.to > from)
  const times = [...samples.map((s) => s.at), ...others.flatMap((r) => [r.from, r.to]), from, now].filter((t) => t >= from && t <= now)
  const at = [...new Set(times)].sort((a, b) => a - b)
  let next = 0 // index of the next sample
  let sum = 0 // tokens per second of the sample before it
  return [
    at,
    at.map((t) => {
      for (; next < samples.length && samples[next]!.at <= t; next++) sum = [...samples[next]!.speeds.values()].reduce((n, v) => n + v, 0)
      return others.reduce((n, r) => (r.from <= t && t < r.to ? n + r.perSecond : n), sum)
    }),
  ]
}
