// area returns the path of values as an area on a base line, in a box of some width and height. up
// says on which side of the line it lies. most is the value that is as high as the box.
export function area(values: number[], most: number, width: number, height: number, base: number, up: boolean): string {
  if (values.length < 2) return ''
  const step = width / (values.length - 1)
  const side = up ? -1 : 1
  const points = values.map((v, i) => `${(i * step).toFixed(1)} ${(base + side * height * Math.min(1, most > 0 ? v / most : 0)).toFixed(1)}`)
  return `M0 ${base}L${points.join('L')}L${width} ${base}Z`
}

// round returns a round number that is no smaller than n: 1, 2 or 5 times a power of ten.
export function round(n: number): number {
  if (n <= 0) return 1
  const power = 10 ** Math.floor(Math.log10(n))
  return [1, 2, 5, 10].map((k) => k * power).find((v) => v >= n) ?? 10 * power
}
