// Forms in which a chat leaves the window.
import type { Ask } from '../api/generate.ts'
import type { Chat, Message } from '../api/types.ts'
import { ended } from './format.ts'

// markdownOf writes the shown branch of a chat as Markdown.
export function markdownOf(title: string, system: string, shown: Message[]): string {
  const part = (who: string, text: string): string => `**${who}**\n\n${text.trim()}\n`
  const parts = shown.map((m) => part(m.role === 'user' ? 'You' : m.model || 'The model', whole(m)))
  return [`# ${title}\n`, ...(system.trim() ? [part('Instructions', system)] : []), ...parts].join('\n')
}

// whole returns the text of a message. If the answer was stopped, its last code is closed, and a line
// says so.
function whole({ content, finish, role }: Message): string {
  if (role === 'user' || finish === 'stop' || finish === 'edited') return content
  const open = (content.match(/^```/gm) ?? []).length % 2 > 0
  return `${content}${open ? '\n```' : ''}\n\n*(${ended(finish)})*`
}

// jsonOf writes a chat with all its branches.
export const jsonOf = (chat: Partial<Chat>, messages: Message[]): string => JSON.stringify({ chat, messages }, null, 2) + '\n'

// curlOf writes a command that asks the endpoint the same.
export function curlOf(address: string, ask: Ask): string {
  const path = 'messages' in ask ? '/v1/chat/completions' : '/v1/completions'
  const body = JSON.stringify({ model: 'tandem', ...ask }, null, 2).replaceAll("'", "'\\''")
  return `curl ${address}${path} -H 'Content-Type: application/json' -d '${body}'\n`
}

// fileName makes a name of a title.
export const fileName = (title: string, end: string): string => `${title.replace(/[^\p{L}\p{N}]+/gu, '-').replace(/^-|-$/g, '').slice(0, 60) || 'chat'}.${end}`
