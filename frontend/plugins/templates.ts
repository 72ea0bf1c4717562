import type { Plugin } from 'vite'

const ends = /(?:<\/[\w-]+>)+$/
const optional = /<\/(?:p|li|d[dt]|t[dhr]|option)>(?=<\/?(?:p|li|d[dlt]|t[dhr]|option|[ou]l|div|table|thead|tbody|select)\b)/g
const value = /="([^\s"'`=<>/$\\]+)"/g

// shorten returns the same HTML in fewer bytes. It leaves out end tags that the parser adds by itself,
// and quotes that a value does not need.
export const shorten = (html: string): string =>
  html
    .replace(ends, '')
    .replace(optional, '')
    .replace(/<[a-z][^<>]*>/g, (tag) => tag.replace(value, '=$1').replace(/\/>$/, '>'))

// share returns a script in which equal templates are one, and each event is delegated once. A template
// is only ever cloned, and a second delegation of an event does nothing.
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

// leanTemplates shortens what Svelte makes of the page's parts. The slots are those of an older Svelte,
// and no part has one.
export const leanTemplates: Plugin = {
  name: 'lean-templates',
  enforce: 'post',
  transform(code, id) {
    if (!id.endsWith('.svelte')) return undefined
    return code.replace(/,\s*\$\$slots: \{[^}]*\}/g, '').replace(/(?<=\$\.from_html\(`)[^`]*/g, shorten)
  },
  renderChunk: (code) => share(code),
}
