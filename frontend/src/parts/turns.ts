// A Turn is the text of one speaker.
export interface Turn {
  who: string // empty if the speaker is not known
  text: string
}

// begins lists the marks before a message, by model family. The group matches the speaker.
const begins = [
  /<\|im_start\|>(\w+)\n?/, // Qwen and many others
  /<start_of_turn>(\w+)\n?/, // Gemma
  /<\|start_header_id\|>(\w+)<\|end_header_id\|>\n*/, // Llama 3
  /<\|start\|>(\w+)[^<]{0,40}(?:<\|channel\|>[^<]{0,40})?<\|message\|>/, // gpt-oss
  /\[(\/?INST)\] ?/, // Mistral, Llama 2
  /<\|(user|assistant|system)\|>\n?/, // Phi, GLM
  /<｜(User|Assistant)｜>/, // DeepSeek
  /<\|START_OF_TURN_TOKEN\|><\|(\w+)_TOKEN\|>/, // Command
]
const ends = /<\|im_end\|>|<end_of_turn>|<\|eot_id\|>|<\|end\|>|<\|return\|>|<｜end▁of▁sentence｜>|<\|END_OF_TURN_TOKEN\|>|<\/s>/
const first = /^(?:<bos>|<s>|<\|begin_of_text\|>|<｜begin▁of▁sentence｜>|<BOS_TOKEN>)/ // the mark at the beginning of a text

const names: Record<string, string> = { user: 'User', inst: 'User', assistant: 'Model', model: 'Model', chatbot: 'Model', '/inst': 'Model', system: 'System', developer: 'System', tool: 'Tool' }

const begin = new RegExp(begins.map((b) => b.source).join('|'), 'g')
const end = new RegExp(ends.source, 'g')

// turns splits the text of a chat into turns, without the model's marks between messages. A text
// without marks is one turn without a speaker.
export function turns(text: string): Turn[] {
  const found = [...text.matchAll(begin)]
  if (found.length === 0 && !ends.test(text)) return [{ who: '', text }]
  const said = (part: string): string => part.replace(end, '').trim()
  const list: Turn[] = []
  const before = said(text.slice(0, found[0]?.index).replace(first, ''))
  if (before !== '') list.push({ who: '', text: before })
  found.forEach((m, i) => {
    const word = m.slice(1).find((g) => g !== undefined) ?? ''
    const part = said(text.slice(m.index + m[0].length, found[i + 1]?.index))
    if (part !== '') list.push({ who: names[word.toLowerCase()] ?? word, text: part })
  })
  return list
}

// closed returns whether a text ends after a message, so that another may follow.
export const closed = (text: string): boolean => new RegExp(`(?:${ends.source})\\s*$`).test(text)
