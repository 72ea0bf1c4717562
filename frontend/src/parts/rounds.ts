import type { RoundRun, Speculation } from '../api/types.ts'

// A Stretch is some rounds in a row, and what they came to together.
export interface Stretch {
  from: number // the first of them, counted from 1
  to: number
  drafted: number // tokens
  stood: number
}

// stretches cuts rounds into as many parts of a length as are wanted at most.
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

// rounds is how many of them a stretch has.
export const rounds = (s: Stretch): number => s.to - s.from + 1

// levels makes lines of figures of stretches: level from the first round of each to
// after its last one, so that a lone one between others without a figure is seen too.
export function levels(list: Stretch[], ...of: ((s: Stretch) => number | null)[]): [number[], ...(number | null)[][]] {
  const edge = 1e-3 // rounds: places have to grow
  return [list.flatMap((s) => [s.from, s.to + 1 - edge]), ...of.map((f) => list.flatMap((s) => [f(s), f(s)]))]
}

// A Position says how often there was a draft at a place of a block, and how often
// it stood, and with it all before.
export interface Position {
  at: number // from 1
  tried: number
  stood: number
}

export const positions = (s: Speculation): Position[] => s.drafted_at.map((tried, i) => ({ at: i + 1, tried, stood: s.accepted_at[i] ?? 0 }))

// share writes a part in percent.
export const share = (part: number, whole: number): string => (whole > 0 ? `${Math.round((100 * part) / whole)} %` : '–')
