import { turns } from './turns.ts'

// A Begun is what a kept text says, as a chat of the playground has it.
export interface Begun {
  kind: 'chat' | 'code'
  system: string
  messages: { role: 'user' | 'assistant'; content: string }[]
}

// begun returns a kept text as a chat. A text without speakers is code to complete.
export function begun(text: string): Begun {
  const all = turns(text)
  if (!all.some((t) => t.who === 'User')) return { kind: 'code', system: '', messages: [{ role: 'user', content: text }] }
  const said = (who: string[]): typeof all => all.filter((t) => who.includes(t.who))
  return {
    kind: 'chat',
    system: said(['System']).map((t) => t.text).join('\n\n'),
    messages: said(['User', 'Model', 'Tool']).map((t) => ({ role: t.who === 'Model' ? 'assistant' : 'user', content: t.text })),
  }
}
