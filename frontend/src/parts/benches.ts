import type { Bench, BenchDrafter, BenchProgress, BenchResult, Spread } from '../api/types.ts'

const none: Spread = { median: 0, low: 0, high: 0 }

// parts names the parts of a measurement, in its order.
export const parts: Record<string, string> = { decode: 'Writing code, with and without drafts', restore: 'Restoring and reading a prompt', verify: 'Checking several tokens at once' }
export const partNames = Object.keys(parts)

// share returns how much of a measurement is done, from 0 to 1. Each drafter has an equal share of
// the first part.
export function share(p: BenchProgress): number | undefined {
  const at = partNames.indexOf(p.part)
  if (!p.total || at < 0) return undefined
  const within = p.done / p.total
  return (at + (p.of ? ((p.nth ?? 1) - 1 + within) / p.of : within)) / partNames.length
}

// within says which drafter is measured, if several are.
export const within = (p: BenchProgress): string => (p.of && p.of > 1 ? ` ${p.nth} of ${p.of}: ${p.drafter}.` : '')

// minutes writes how long a measurement takes, about.
export function minutes(seconds: number): string {
  const n = Math.max(1, Math.round(seconds / 60))
  return n === 1 ? 'a minute' : `${['', '', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine'][n] ?? n} minutes`
}

// advice says in plain words which drafter is the fastest, and which are about as fast.
export function advice(rows: BenchDrafter[]): string {
  const [best, ...others] = rows.filter((d) => !d.why && d.decode.pairs > 0).sort((a, b) => b.decode.times.median - a.decode.times.median)
  if (!best) return 'None could be measured.'
  if (best.decode.times.low <= 1) return 'None of them is clearly faster than decoding without drafts here.'
  const times = best.decode.times
  const alike = others.filter((d) => d.decode.times.high >= times.low).map((d) => d.name)
  const more = alike.length > 0 ? ` About as fast: ${alike.join(', ')}.` : ''
  return `The fastest here is ${best.name}, ${digits(times.median)} times as fast as without drafts.${more}`
}

// headlines are the figures by which measurements are compared.
export const headlines: { name: string; of: (r: BenchResult) => Spread }[] = [
  { name: 'Without drafts, tokens/s', of: (r) => r.decode.plain },
  { name: 'With drafts, tokens/s', of: (r) => r.decode.drafted },
  { name: 'Drafts, times as fast', of: (r) => r.decode.times },
  { name: 'Restored, times as fast', of: (r) => r.restore.times },
  { name: '8 tokens at once, steps', of: (r) => r.verify.rows.find((v) => v.rows === 8)?.steps ?? none },
]

// comparable returns whether two measurements are of the same model and machine.
export const comparable = (a: Bench, b: Bench): boolean => a.model === b.model && a.machine === b.machine

// ratio writes one figure as a multiple of another.
export const ratio = (one: Spread, other: Spread): string => (other.median > 0 ? (one.median / other.median).toFixed(2) : '–')

// digits writes a figure with three digits, or all before the point.
export function digits(v: number): string {
  if (v === 0) return '–'
  return v >= 100 ? Math.round(v).toLocaleString('en-US') : v.toPrecision(3)
}
