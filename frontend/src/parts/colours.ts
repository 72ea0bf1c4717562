import { isSlow } from './legible.ts'

// A Language says how code of a language reads. quotes match its strings.
interface Language {
  words: string
  comments: string
  quotes: string
  caseless?: boolean
}

const slashes = '\\/\\/[^\\n]*|\\/\\*[\\s\\S]*?(?:\\*\\/|$)'
const hash = '(?<![^\\s;])#[^\\n]*'
const double = '"(?:\\\\[\\s\\S]|[^"\\\\\\n])*"?'
const single = "'(?:\\\\[\\s\\S]|[^'\\\\\\n])*'?"
const letter = "'(?:\\\\[^'\\n]{1,10}|[^'\\\\\\n])'" // a lifetime of Rust is none
const back = '`(?:\\\\[\\s\\S]|[^`\\\\])*`?'
const long = '"""[\\s\\S]*?(?:"""|$)|\'\'\'[\\s\\S]*?(?:\'\'\'|$)'

const common = 'break case const continue default else enum false for if return static struct switch true while'
const object = 'abstract catch class extends final finally import interface new null package private protected public super this throw throws try void'

const go: Language = {
  words: `any append bool break byte case chan const continue default defer else error fallthrough false float64 for func go goto if import int int64 interface len make map new nil package range return rune select string struct switch true type var`,
  comments: slashes,
  quotes: `${double}|${letter}|\`[^\`]*\`?`,
}
const script: Language = {
  words: `${common} ${object} any as async await boolean constructor debugger declare delete do export from function get implements in instanceof keyof let namespace never number of readonly set string symbol type typeof undefined unknown var yield`,
  comments: slashes,
  quotes: `${double}|${single}|${back}`,
}
const python: Language = {
  words: 'and as assert async await break case class continue def del elif else except finally for from global if import in is lambda match None nonlocal not or pass raise return self True False try while with yield',
  comments: hash,
  quotes: `${long}|${double}|${single}`,
}
const rust: Language = {
  words: `${common} as async await bool box crate dyn extern f32 f64 fn i32 i64 impl in let loop match mod move mut pub ref self Self str super trait type u8 u32 u64 unsafe use usize where`,
  comments: slashes,
  quotes: `${double}|${letter}`,
}
const c: Language = {
  words: `${common} ${object} auto bool char constexpr delete do double explicit extern float friend goto include inline int long namespace noexcept nullptr operator override register short signed size_t sizeof template typedef typename union unsigned using virtual volatile`,
  comments: slashes,
  quotes: `${double}|${letter}`,
}
const java: Language = {
  words: `${common} ${object} as boolean byte char companion data do double float fun implements in instanceof int internal is lateinit long native object open operator override record sealed short synchronized val var when yield`,
  comments: slashes,
  quotes: `${long}|${double}|${letter}`,
}
const sharp: Language = {
  words: `${common} ${object} as async await base bool byte char decimal delegate double dynamic event float foreach get in int internal is long namespace object out override params readonly ref sealed set string using var virtual yield`,
  comments: slashes,
  quotes: `@"(?:[^"]|"")*"?|${double}|${letter}`,
}
const swift: Language = {
  words: `${common} ${object} as associatedtype async await Bool defer deinit Double extension fallthrough fileprivate func guard in init inout Int internal is let mutating nil open override protocol repeat rethrows self Self some String throws typealias var where`,
  comments: slashes,
  quotes: `${long}|${double}`,
}
const shell: Language = {
  words: 'case cd do done echo elif else esac exit export fi for function if in local read return set shift source then until unset while',
  comments: hash,
  quotes: `${double}|'[^']*'?`,
}
const sql: Language = {
  words: 'add all alter and as asc begin between by case check column commit constraint create default delete desc distinct drop else end exists foreign from group having in index inner insert into is join key left like limit not null offset on or order outer primary references returning rollback select set table then union unique update using values view when where with',
  comments: '--[^\\n]*|\\/\\*[\\s\\S]*?(?:\\*\\/|$)',
  quotes: "'(?:[^']|'')*'?|\"[^\"]*\"?",
  caseless: true,
}

const languages: Record<string, Language> = {
  go, golang: go, js: script, javascript: script, jsx: script, ts: script, typescript: script, tsx: script, json: script, python, py: python, rust, rs: rust,
  c, h: c, cpp: c, 'c++': c, java, kotlin: java, kt: java, csharp: sharp, cs: sharp, 'c#': sharp, swift, bash: shell, sh: shell, shell, zsh: shell, sql,
}

const most = 60_000 // characters; longer code has no colours
const mostColoured = 10_000 // its words, strings and comments; code with more has no colours

const escape = (text: string): string => text.replace(/[&<>"]/g, (s) => `&#${s.charCodeAt(0)};`)

// coloured returns code as HTML, with its comments, strings, numbers and keywords in spans. It returns
// null for a language that it does not know, and for very long code.
export function coloured(code: string, name: string): string | null {
  const key = name.toLowerCase()
  const of = Object.hasOwn(languages, key) ? languages[key] : undefined
  if (!of || code.length > most || isSlow(code)) return null
  const words = new Set(of.words.split(' '))
  const parts = new RegExp(`(${of.comments})|(${of.quotes})|(\\b(?:0[xXbBoO])?\\d[\\w.]*)|[A-Za-z_$][\\w$]*`, 'g')
  let at = 0
  let html = ''
  let coloured = 0
  for (const found of code.matchAll(parts)) {
    const [text, comment, string, number] = found
    const word = of.caseless ? text.toLowerCase() : text
    const kind = comment ? 'comment' : string ? 'string' : number ? 'number' : words.has(word) ? 'keyword' : ''
    if (kind === '') continue
    if (++coloured > mostColoured) return null
    const before = code.slice(at, found.index)
    const indent = /(?<=\n)[ \t]+$/.exec(before)?.[0] ?? '' // a tab before a span would be too wide
    html += `${escape(before.slice(0, before.length - indent.length))}<span class="${kind}">${indent}${escape(text)}</span>`
    at = found.index + text.length
  }
  return html + escape(code.slice(at))
}
