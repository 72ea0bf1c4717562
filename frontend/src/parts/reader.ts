import MarkdownIt from 'markdown-it'

import { isSlow } from './legible.ts'

// deepest is how many elements of HTML may be nested. What nests deeper is shown as plain text.
const deepest = 100

// tags lists the HTML that the text of a model may have. It has no images: a remote image would tell its
// server that a person reads the answer. It has nothing of SVG or MathML.
export const tags = ['p', 'br', 'hr', 'strong', 'em', 'del', 'code', 'pre', 'blockquote', 'ul', 'ol', 'li', 'h3', 'h4', 'h5', 'h6', 'a', 'table', 'thead', 'tbody', 'tr', 'th', 'td', 'div', 'span', 'sub', 'sup', 'kbd']

const whole = /<(?:\/?([a-z][a-z0-9]*)(?:\s+[\w:.-]+(?:\s*=\s*(?:[^\s"'=<>`]+|'[^']*'|"[^"]*"))?)*\s*\/?>)?/gi

// tagged returns HTML of a model with only its whole tags that are listed. The others are text.
const tagged = (html: string): string => html.replace(whole, (tag, name?: string) => (name && tags.includes(name.toLowerCase()) ? tag : `&lt;${tag.slice(1)}`))

// block matches a tag that begins or ends a block of its own.
const block = /<\/?(?:p|hr|blockquote|[uo]l|li|h[3-6]|table|t(?:head|body|r|h|d)|div|pre)(?![a-z0-9])/i

// mostElements is how many elements a block may have. To clean as many takes a fifth of a second.
const mostElements = 5000

// isTooMuch returns whether HTML has more than mostElements, or more than deepest one within another. An
// element that is not closed has all that follows within it. It is too much as well if a browser would take
// too long to lay out the text between two tags of blocks.
export function isTooMuch(html: string): boolean {
  if (html.split(block).some(isSlow)) return true
  const open: string[] = []
  let all = 0
  for (const [, end, written] of html.matchAll(/<(\/?)([a-z][a-z0-9]*)/gi)) {
    const name = written!.toLowerCase()
    const at = end ? open.lastIndexOf(name) : -1
    if (at >= 0) open.length = at
    if (!end && ++all > mostElements) return true
    if (!end && !['br', 'hr', 'input'].includes(name) && open.push(name) > deepest) return true
  }
  return false
}

// languageOf returns the first word after a fence.
export const languageOf = (info: string): string => /^[^\s{,:]*/.exec(info)?.[0] ?? ''

// reader reads Markdown. It reads in linear time, where other libraries take seconds for 30 kB of some
// texts. What nests deeper than it reads is deeper than deepest. A line break is one on the page as well,
// because code often comes without a fence.
export const reader = new MarkdownIt({ html: true, breaks: true, linkify: true, maxNesting: 2 * deepest })
reader.linkify.set({ fuzzyLink: false }) // main.go is no address
reader.disable('image') // it stays a link

// A row that lacks cells gets them. What would have more cells than characters is read as text, since 30 kB
// would become a million cells, and so is a table that is too wide to be laid out quickly.
const table = reader.block.ruler.getRules('')[0]!
reader.block.ruler.at(
  'table',
  (state, from, to, silent) => {
    if (!table(state, from, to, true)) return false
    let end = from + 1
    while (end < to && !state.isEmpty(end)) end++
    const begin = state.bMarks[from]!
    const columns = state.src.slice(state.bMarks[from + 1], state.eMarks[from + 1]).split('|').length
    return columns <= 300 && columns * (end - from) <= Math.max(1000, state.eMarks[end - 1]! - begin) && table(state, from, to, silent)
  },
  { alt: ['paragraph', 'reference'] },
)

const { rules } = reader.renderer
const { escapeHtml } = reader.utils

// The headings of an answer are below the page's own.
rules.heading_open = rules.heading_close = (tokens, i, options, _, self) => {
  const t = tokens[i]!
  t.tag = `h${Math.min(6, Number(t.tag[1]) + 2)}`
  return self.renderToken(tokens, i, options)
}
rules.s_open = () => '<del>'
rules.s_close = () => '</del>'
rules.html_inline = rules.html_block = (tokens, i) => tagged(tokens[i]!.content)

// Code within a block has the same button as a block of code.
rules.fence = rules.code_block = (tokens, i) =>
  `<div class="coded"><div class="code-head"><span class="grow">${escapeHtml(languageOf(tokens[i]!.info))}</span><button type="button" class="wrap">Wrap</button><button type="button" class="copy">Copy</button></div><pre tabindex="0"><code>${escapeHtml(tokens[i]!.content)}</code></pre></div>`

// A list may have tasks, which are done or not.
reader.core.ruler.push('tasks', ({ tokens, Token }) => {
  for (const [i, { children }] of tokens.entries()) {
    const text = children?.[0]
    const mark = /^\[([ x])\](?= )/i.exec(text?.content ?? '')
    if (!children || !text || !mark || tokens[i - 2]?.type !== 'list_item_open') continue
    const box = new Token('task', 'input', 0)
    box.attrs = [['type', 'checkbox'], ...(mark[1] === ' ' ? [] : [['checked', ''] as [string, string]])]
    text.content = text.content.slice(mark[0].length)
    children.unshift(box)
  }
})
