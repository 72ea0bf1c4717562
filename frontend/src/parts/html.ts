import DOMPurify from 'dompurify'

import { Blocks, type Block, type Links, type Part } from './blocks.ts'
import { isTooMuch, reader, tags } from './reader.ts'

// allowed lists the HTML that the text of a model may become. It has no data attributes: keys and the
// menu find the page's own parts by these.
const allowed = {
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  ALLOWED_TAGS: [...tags, 'input', 'button'],
  ALLOWED_ATTR: ['href', 'start', 'type', 'checked', 'disabled', 'class', 'tabindex'],
  ADD_URI_SAFE_ATTR: ['start', 'type', 'tabindex'], // these are no addresses
  ALLOWED_URI_REGEXP: /^(?:https?|mailto):/i,
}

// classes lists what the page's own code head needs. A text may use no other.
const classes = ['copy', 'wrap', 'coded', 'code-head', 'grow']

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

// largest is the most characters of HTML that a block becomes. A few lines can name a long address
// thousands of times.
const largest = 300_000

// block renders a part of a text. Code stays as it is, and so does what nests too deeply, becomes too large
// or cannot be rendered. Everything else becomes clean HTML.
function block({ type, raw, code, language }: Part, links: Links): Block {
  if (code !== null) return { html: '', code, language, text: null }
  try {
    const html = type === 'plain' ? '' : reader.render(raw, links)
    if (html !== '' && html.length <= largest && !isTooMuch(html)) return { html: clean(html), code, language, text: null }
  } catch {
    // the text itself is shown
  }
  return { html: '', code, language, text: raw }
}

// blocks returns the blocks of an empty text.
export const blocks = (): Blocks => new Blocks(block)
