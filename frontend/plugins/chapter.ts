// chapter returns the text below a heading of the second level in a page of Markdown, up
// to the next such heading. It throws if the page has no such heading.
export function chapter(page: string, heading: string): string {
  const [, after] = `\n${page}`.split(`\n## ${heading}\n`)
  if (after === undefined) throw new Error(`there is no chapter “${heading}”`)
  return (after.split('\n## ')[0] ?? '').trim()
}
