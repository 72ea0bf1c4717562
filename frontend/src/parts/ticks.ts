// ticks returns round places between two ends, at most about as many as asked for.
export function ticks(from: number, to: number, most: number): number[] {
  const rough = (to - from) / Math.max(1, most)
  if (!(rough > 0)) return []
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough) ?? 10 * power
  const list: number[] = []
  for (let n = Math.ceil(from / step); n * step <= to; n++) list.push(Number((n * step).toPrecision(12)))
  return list
}

// pathOf joins points by straight lines. Where a value is null, the line has a gap.
export function pathOf(xs: number[], ys: (number | null)[], x: (n: number) => number, y: (n: number) => number): string {
  let path = ''
  let drawn = false
  xs.forEach((at, i) => {
    const value = ys[i] ?? null
    if (value !== null) path += `${drawn ? 'L' : 'M'}${x(at).toFixed(1)} ${y(value).toFixed(1)}`
    drawn = value !== null
  })
  return path
}
