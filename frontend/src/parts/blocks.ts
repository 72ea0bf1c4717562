import DOMPurify from 'dompurify'
import { marked, type Token } from 'marked'

// What the text of a model may become. Images are left out: a remote one would
// tell its server that the answer is read.
const allowed = {
  ALLOWED_TAGS: ['p', 'br', 'hr', 'strong', 'em', 'del', 'code', 'pre', 'blockquote', 'ul', 'ol', 'li', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'a', 'table', 'thead', 'tbody', 'tr', 'th', 'td', 'input'],
  ALLOWED_ATTR: ['href', 'start', 'type', 'checked', 'disabled', 'class'],
  ALLOWED_URI_REGEXP: /^(?:https?|mailto):/i,
}

const html = (tokens: Token[]): string => DOMPurify.sanitize(marked.parser(tokens), allowed)

// Blocks turns Markdown that grows at its end into HTML, block by block: those
// that cannot change any more are rendered once.
export class Blocks {
  readonly done: string[] = [] // HTML of the blocks that stay
  last = '' // HTML of the one that grows
  #text = '' // all so far
  #from = 0 // where the one that grows begins

  // set takes the whole text. If it is not what was there with more behind it,
  // all begins anew.
  set(text: string): void {
    if (text === this.#text) return
    if (!text.startsWith(this.#text)) {
      this.done.length = 0
      this.#from = 0
    }
    this.#text = text
    const tokens = marked.lexer(text.slice(this.#from))
    // The last block and the space behind it may yet change.
    let keep = tokens.length - 1
    while (keep > 0 && tokens[keep]?.type === 'space') keep--
    for (const token of tokens.slice(0, Math.max(0, keep))) {
      this.#from += token.raw.length
      if (token.type !== 'space') this.done.push(html([token]))
    }
    this.last = html(tokens.slice(Math.max(0, keep)))
  }
}
