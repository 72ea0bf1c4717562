import type { Plugin } from 'vite'

// A Cut takes code that the page never uses out of a file of a library. A cut that no longer matches
// changes nothing, and the test of the cuts fails.
export interface Cut {
  file: string // how its path ends
  from: RegExp
  to: string
  times: number // how often it matches
}

const svelte = '/svelte/src/internal/'
const marked = '/marked/lib/marked.esm.js'
const dompurify = '/dompurify/dist/purify.es.mjs'

export const cuts: Cut[] = [
  // No part is of Svelte's older or asynchronous kind.
  { file: `${svelte}flags/index.js`, from: /export let (\w+_flag) = false/g, to: 'export const $1 = false', times: 3 },
  { file: `${svelte}flags/index.js`, from: /^\t(\w+_flag) = true;$/gm, to: "\tthrow new Error('plugins/libraries.ts leaves out what needs $1');", times: 3 },
  { file: `${svelte}flags/index.js`, from: /^\t\w+_flag = false;$/gm, to: '', times: 1 },

  // An error has its name, which is enough to find it in Svelte's documentation.
  { file: `${svelte}client/errors.js`, from: /(?<=new Error\(`)https:\/\/svelte\.dev\/e\//g, to: 'svelte: ', times: 29 },

  // No server renders a page.
  { file: `${svelte}client/dom/hydration.js`, from: /export let hydrating = false/g, to: 'export const hydrating = false', times: 1 },
  { file: `${svelte}client/dom/hydration.js`, from: /^\thydrating = value;$/gm, to: '', times: 1 },

  // DOMPurify has no lists of its own, because parts/html.ts gives it one. So it no longer knows an
  // element of SVG or MathML, and none may be in that list.
  { file: dompurify, from: /^const (html\$1|html|svg\$1|svgFilters|svgDisallowed|svg|mathMl\$1|mathMlDisallowed|mathMl|xml) = freeze\(\[[^\]]*\]\)/gm, to: 'const $1 = freeze([])', times: 10 },

  // parts/html.ts asks DOMPurify for no profile, and gives it no policy of trusted types.
  { file: dompurify, from: /^\t\tUSE_PROFILES = .*$/gm, to: '', times: 1 },
  { file: dompurify, from: /if \((?:USE_PROFILES|cfg\.TRUSTED_TYPES_POLICY)\) \{/g, to: 'if (false) {', times: 2 },

  // Every browser that Tandem runs in takes lists apart, and nothing here is an asynchronous generator.
  { file: dompurify, from: /^function AsyncGenerator\(.*?^AsyncGenerator\.prototype\[.*?\.prototype\.return = function\(e\) \{.*?^\};\n/gms, to: '', times: 1 },
  { file: dompurify, from: /_slicedToArray\((\w+), 2\)/g, to: '$1', times: 1 },

  // The page has no extensions of marked, and calls it by three classes.
  { file: marked, from: /var [\w$]+=new [\w$]+;function [\w$]+\(\w+,\w+\)\{return [\w$]+\.parse\(.*?;(?=export\{)/gs, to: '', times: 1 },
  { file: marked, from: /[\w$]+ as (?!(?:Lexer|Parser|Renderer)\b)\w+,?/g, to: '', times: 15 },

  // Its options are those of parts/blocks.ts. They never change.
  { file: marked, from: /this\.options\.(?:pedantic|silent)\b/g, to: 'false', times: 24 },
  { file: marked, from: /this\.options\.(?:gfm|breaks)\b/g, to: 'true', times: 4 },
  { file: marked, from: /this\.options\.(?:extensions|hooks)\b/g, to: 'null', times: 12 },

  // The rules of other kinds of Markdown go. The last cut marks rules that may go if nothing names them.
  { file: marked, from: /block:([\w$]+)\.normal,inline:([\w$]+)\.normal/g, to: 'block:$1.gfm,inline:$2.breaks', times: 1 },
  { file: marked, from: /static get rules\(\)\{return\{block:[\w$]+,inline:[\w$]+\}\}/g, to: '', times: 1 },
  { file: marked, from: /\bnormal:[\w$]+,(gfm:[\w$]+(?:,breaks:[\w$]+)?),pedantic:[\w$]+/g, to: '$1', times: 2 },
  { file: marked, from: /,[\w$]+=\{\.\.\.[\w$]+,(?:html:g\(|emStrongLDelim:).*?\.getRegex\(\)\}(?=,)/gs, to: '', times: 2 },
  { file: marked, from: /(?<=[, ][\w$]+=)(g\([^;]*?\.getRegex\(\))(?=,[\w$]+=|;)/g, to: '/* @__PURE__ */(()=>$1)()', times: 32 },
]

const of = (file: string): Cut[] => cuts.filter((c) => file.endsWith(c.file))

// cut returns the code of a file of a library without what the page never uses.
export const cut = (code: string, file: string): string => of(file).reduce((rest, c) => rest.replace(c.from, c.to), code)

// leanLibraries cuts the libraries of the script.
export const leanLibraries: Plugin = { name: 'lean-libraries', transform: (code, id) => (of(id).length > 0 ? cut(code, id) : undefined) }
