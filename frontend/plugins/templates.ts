import type { Plugin } from 'vite'

const ends = /(?:<\/[\w-]+>)+$/
const implied = [
  /<\/p>(?=<p[ >]|<\/(?:div|li|d[dt]|t[dh])>)/g,
  /<\/li>(?=<li[ >]|<\/[ou]l>)/g,
  /<\/d[dt]>(?=<d[dt][ >]|<\/(?:div|dl)>)/g,
  /<\/t[dh]>(?=<t[dh][ >]|<\/tr>)/g,
  /<\/tr>(?=<tr[ >]|<\/t(?:head|body)>)/g,
  /<\/option>(?=<option[ >]|<\/select>)/g,
]
const tag = /<[a-z](?:"[^"]*"|[^"<>])*>/g
const value = /="([^\s"'`=<>/$\\]+)"/g

// shorten returns the same HTML in fewer bytes. It leaves out end tags that the parser adds by itself,
// and quotes that a value does not need.
export const shorten = (html: string): string =>
  implied
    .reduce((rest, end) => rest.replace(end, ''), html.replace(ends, ''))
    .replace(tag, (whole) => whole.replace(value, '=$1').replace(/^(<(?:br|hr|img|input)\b.*)\/>$/s, '$1>'))

// share returns a script in which equal templates are one, because a template is only ever cloned. Each
// event is delegated once, because a second time has no effect.
export function share(code: string): string {
  const names = new Map<string, string>()
  const events = new Set<string>()
  return code
    .replace(/^var ([\w$]+) = ((?:\/\* @__PURE__ \*\/ )?from_html\(`[^`]*`(?:, \d+)?\));$/gm, (all, name: string, template: string) => {
      const first = names.get(template)
      if (first !== undefined) return `var ${name} = ${first};`
      names.set(template, name)
      return all
    })
    .replace(/^delegate\(\[([^\]]*)\]\);$/gm, (_, list: string) => {
      const added = list.match(/\w+/g)?.filter((event) => !events.has(event)) ?? []
      for (const event of added) events.add(event)
      return added.length > 0 ? `delegate(['${added.join("','")}']);` : ''
    })
}

// leanTemplates shortens the code of the page's parts. It leaves out their slots, which only an older
// Svelte uses.
export const leanTemplates: Plugin = {
  name: 'lean-templates',
  enforce: 'post',
  transform(code, id) {
    if (!id.endsWith('.svelte')) return undefined
    return code.replace(/,\s*\$\$slots: \{[^}]*\}/g, '').replace(/(?<=\$\.from_html\(`)[^`]*/g, shorten)
  },
  renderChunk: (code) => share(code),
}
