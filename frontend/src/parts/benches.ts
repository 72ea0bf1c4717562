import type { Bench, BenchResult, Spread } from '../api/types.ts'

const none: Spread = { median: 0, low: 0, high: 0 }

// parts names the parts of a measurement, in its order.
export const parts: Record<string, string> = { decode: 'Writing code, with and without drafts', restore: 'Restoring a prompt, and reading it', verify: 'Checking several tokens at once' }
export const partNames = Object.keys(parts)

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
