import { begun } from '../parts/begun.ts'
import { get, post, remove } from './client.ts'
import type { Chat, Checkpoint, Message } from './types.ts'

// takeToPlayground makes a chat of a checkpoint's text, or none if it fails. It returns the id of the
// chat.
export async function takeToPlayground(c: Checkpoint, title: string): Promise<number> {
  const { text = '' } = await get<Checkpoint>(`/app/checkpoints/${encodeURIComponent(c.id)}?whole=true`)
  const { kind, system, messages } = begun(text)
  const chat = await post<Chat>('/app/chats', { kind, system, title: title.slice(0, 100), options: null })
  let parent = 0
  try {
    for (const m of messages) {
      const mine = m.role === 'user' ? { finish: 'said', model: '' } : { finish: 'stop', model: c.model }
      parent = (await post<Message>(`/app/chats/${chat.id}/messages`, { ...m, ...mine, parent, run: 0, facts: null })).id
    }
  } catch (e) {
    await remove(`/app/chats/${chat.id}`).catch(() => {}) // the first failure is the one to tell
    throw e
  }
  return chat.id
}
