import DOMPurify from 'dompurify'
import { Parser, Renderer, type Token, type Tokens } from 'marked'

import type { Block } from './blocks.ts'

// allowed lists the HTML that the text of a model may become. It has no images: a remote image
// would tell its server that a person reads the answer. It has no data attributes: keys and the menu
// find the page's own parts by these. It has nothing of SVG or MathML.
const allowed = {
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  ALLOWED_TAGS: ['p', 'br', 'hr', 'strong', 'em', 'del', 'code', 'pre', 'blockquote', 'ul', 'ol', 'li', 'h3', 'h4', 'h5', 'h6', 'a', 'table', 'thead', 'tbody', 'tr', 'th', 'td', 'input', 'button', 'div', 'span', 'sub', 'sup', 'kbd'],
  ALLOWED_ATTR: ['href', 'start', 'type', 'checked', 'disabled', 'class', 'tabindex'],
  ADD_URI_SAFE_ATTR: ['start', 'type', 'tabindex'], // these are no addresses
  ALLOWED_URI_REGEXP: /^(?:https?|mailto):/i,
}

const escape = (text: string): string => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`)

// languageOf returns the first word after a fence.
const languageOf = (lang = ''): string => /^[^\s{,:]*/.exec(lang)?.[0] ?? ''

// classes lists what the page's own code head needs. A text may use no other.
const classes = ['copy', 'wrap', 'coded', 'code-head', 'grow']

// The headings of an answer are below the page's own. Code within a block has the same button as a
// block of code.
class Page extends Renderer {
  override heading({ tokens, depth }: Tokens.Heading): string {
    const level = Math.min(6, depth + 2)
    return `<h${level}>${this.parser.parseInline(tokens)}</h${level}>`
  }
  override code({ text, lang }: Tokens.Code): string {
    return `<div class="coded"><div class="code-head"><span class="grow">${escape(languageOf(lang))}</span><button type="button" class="wrap">Wrap</button><button type="button" class="copy">Copy</button></div><pre tabindex="0"><code>${escape(text)}</code></pre></div>`
  }
}
const renderer = new Page()

// purify is DOMPurify with rules that its options cannot express. A model must not write text that
// looks like the page's own, or fields that take a person's text.
const purify = DOMPurify()
purify.addHook('uponSanitizeAttribute', (_, data) => {
  if (data.attrName === 'class' && !classes.includes(data.attrValue)) data.keepAttr = false
  if (data.attrName === 'tabindex' && data.attrValue !== '0') data.keepAttr = false
})
purify.addHook('afterSanitizeAttributes', (node) => {
  if (node.nodeName === 'A') {
    node.setAttribute('target', '_blank')
    node.setAttribute('rel', 'noopener noreferrer')
  } else if (node.nodeName === 'INPUT') {
    node.setAttribute('type', 'checkbox')
    node.setAttribute('disabled', '')
    node.setAttribute('aria-label', node.hasAttribute('checked') ? 'done' : 'to do')
  } else if (node.nodeName === 'BUTTON' && !['copy', 'wrap'].includes(node.getAttribute('class') ?? '')) {
    node.remove()
  }
})

// clean returns HTML with only what is allowed.
export const clean = (html: string): string => purify.sanitize(html, allowed)

// block renders a block of Markdown. Code stays as it is; everything else becomes clean HTML.
export const block = (token: Token): Block => (token.type === 'code' ? { html: '', code: (token as Tokens.Code).text, language: languageOf((token as Tokens.Code).lang) } : { html: clean(Parser.parse([token], { renderer })), code: null, language: '' })
