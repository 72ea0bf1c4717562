import type { DrafterRounds, RoundRun, Speculation } from '../api/types.ts'
import { count } from './format.ts'

// A Stretch is some rounds in a row, with their sums.
export interface Stretch {
  from: number // its first round, from 1
  to: number
  drafted: number // tokens
  stood: number
}

// stretches cuts rounds into at most so many parts of equal length.
export function stretches(runs: RoundRun[], most: number): Stretch[] {
  const total = runs.reduce((n, [, , count]) => n + count, 0)
  const each = Math.max(1, Math.ceil(total / most))
  const list: Stretch[] = []
  let at = 0
  for (const [drafted, stood, count] of runs) {
    for (let left = count; left > 0; ) {
      if (at % each === 0) list.push({ from: at + 1, to: at, drafted: 0, stood: 0 })
      const part = list.at(-1)!
      const n = Math.min(left, each - (at % each))
      part.to += n
      part.drafted += n * drafted
      part.stood += n * stood
      at += n
      left -= n
    }
  }
  return list
}

// drafterOf returns the drafter of most drafted rounds in a stretch, as a place in
// Speculation.drafters, counted from 1; 0 if all rounds are plain, or if it is not known.
export function drafterOf(runs: RoundRun[], s: Stretch): number {
  const counts = new Map<number, number>()
  let at = 0
  for (const [, , n, by] of runs) {
    const shared = Math.min(at + n, s.to) - Math.max(at, s.from - 1)
    at += n
    if (by > 0 && shared > 0) counts.set(by, (counts.get(by) ?? 0) + shared)
  }
  return [...counts].reduce((best, one) => (one[1] > best[1] ? one : best), [0, 0])[0]
}

// asked tells whether a drafter drafted, or could have: the request wants it.
export const asked = (d: DrafterRounds): boolean => d.rounds > 0 || Boolean(d.idle || d.slower || d.preceded || d.failed)

// why says why a drafter did not draft in more rounds.
export const why = (d: DrafterRounds): string =>
  [
    d.slower ? `expected to be slower in ${count(d.slower, 'round')}` : '',
    d.preceded ? `another drafter comes first when a request sets the depth, in ${count(d.preceded, 'round')}` : '',
    d.idle ? `nothing to draft in ${count(d.idle, 'round')}` : '',
    d.failed ? `given up: ${d.failed}` : '',
  ]
    .filter((part) => part)
    .join('; ') || '–'

// rounds returns the number of rounds in a stretch.
export const rounds = (s: Stretch): number => s.to - s.from + 1

// levels makes lines for a plot from figures of stretches. A line is level from the first round of
// a stretch to the end of its last round. So a lone figure is visible too.
export function levels(list: Stretch[], ...of: ((s: Stretch) => number | null)[]): [number[], ...(number | null)[][]] {
  const edge = 1e-3 // rounds: each place must be greater than the one before it
  return [list.flatMap((s) => [s.from, s.to + 1 - edge]), ...of.map((f) => list.flatMap((s) => [f(s), f(s)]))]
}

// A Position counts the drafts at a place of a block. stood counts the drafts there that were
// accepted together with all drafts before them.
export interface Position {
  at: number // from 1
  tried: number
  stood: number
}

export const positions = (s: Speculation): Position[] => s.drafted_at.map((tried, i) => ({ at: i + 1, tried, stood: s.accepted_at[i] ?? 0 }))

// share writes a part in percent.
export const share = (part: number, whole: number): string => (whole > 0 ? `${Math.round((100 * part) / whole)} %` : '–')
