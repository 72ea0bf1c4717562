import type { Plugin } from 'vite'

// A Cut takes out of a file of a library what this page never uses. After an upgrade that moves it, it
// stays in, and the test of the cuts fails.
export interface Cut {
  file: string // how its path ends
  from: RegExp
  to: string
}

const svelte = '/svelte/src/internal/'
const marked = '/marked/lib/marked.esm.js'
const dompurify = '/dompurify/dist/purify.es.mjs'

export const cuts: Cut[] = [
  // Components of Svelte's older or asynchronous kind.
  { file: `${svelte}flags/index.js`, from: /export let (\w+_flag) = false/g, to: 'export const $1 = false' },
  { file: `${svelte}flags/index.js`, from: /^\t(\w+_flag) = true;$/gm, to: "\tthrow new Error('plugins/libraries.ts leaves out what needs $1');" },
  { file: `${svelte}flags/index.js`, from: /^\t\w+_flag = false;$/gm, to: '' },

  // Pages that a server has rendered.
  { file: `${svelte}client/dom/hydration.js`, from: /export let hydrating = false/, to: 'export const hydrating = false' },
  { file: `${svelte}client/dom/hydration.js`, from: /^\thydrating = value;$/gm, to: '' },

  // What DOMPurify allows without a list of our own, and how it knows SVG and MathML, which an answer may
  // not have. Without these lists it lets through less, never more.
  { file: dompurify, from: /^const (html\$1|html|svg\$1|svgFilters|svgDisallowed|svg|mathMl\$1|mathMlDisallowed|mathMl|xml) = freeze\(\[[^\]]*\]\)/gm, to: 'const $1 = freeze([])' },

  // What stands in for language features in old browsers.
  { file: dompurify, from: /^function AsyncGenerator\(.*?(?=^const )/ms, to: '' },
  { file: dompurify, from: /_slicedToArray\((\w+), 2\)/g, to: '$1' },

  // The functions that put extensions into marked.
  { file: marked, from: /var [\w$]+=new [\w$]+;function [\w$]+\(\w+,\w+\)\{return [\w$]+\.parse\(.*?;(?=export\{)/s, to: '' },
  { file: marked, from: /[\w$]+ as (?!(?:Lexer|Parser|Renderer)\b)\w+,?/g, to: '' },

  // Its options, which are always the same here.
  { file: marked, from: /this\.options\.(?:pedantic|silent)\b/g, to: 'false' },
  { file: marked, from: /this\.options\.(?:gfm|breaks)\b/g, to: 'true' },
  { file: marked, from: /this\.options\.(?:extensions|hooks)\b/g, to: 'null' },

  // The rules of other kinds of Markdown. A rule that nothing names may go.
  { file: marked, from: /block:([\w$]+)\.normal,inline:([\w$]+)\.normal/, to: 'block:$1.gfm,inline:$2.breaks' },
  { file: marked, from: /static get rules\(\)\{return\{block:[\w$]+,inline:[\w$]+\}\}/, to: '' },
  { file: marked, from: /\bnormal:[\w$]+,(gfm:[\w$]+(?:,breaks:[\w$]+)?),pedantic:[\w$]+/g, to: '$1' },
  { file: marked, from: /,[\w$]+=\{\.\.\.[\w$]+,(?:html:g\(|emStrongLDelim:).*?\.getRegex\(\)\}(?=,)/gs, to: '' },
  { file: marked, from: /(?<=[, ][\w$]+=)(g\([^;]*?\.getRegex\(\))(?=,[\w$]+=|;)/g, to: '/* @__PURE__ */(()=>$1)()' },
]

// cut returns the code of a file of a library without what the page never uses.
export const cut = (code: string, file: string): string => cuts.filter((c) => file.endsWith(c.file)).reduce((rest, c) => rest.replace(c.from, c.to), code)

// leanLibraries cuts the libraries of the script.
export const leanLibraries: Plugin = { name: 'lean-libraries', transform: (code, id) => (cuts.some((c) => id.endsWith(c.file)) ? cut(code, id) : undefined) }
