// A Node is the place of a message in a chat.
export interface Node {
  id: number
  parent: number // 0 = it begins the chat
  role: string
}

// branch lists the messages from the beginning of a chat to a leaf.
export function branch<T extends Node>(messages: T[], leaf: number): T[] {
  const byID = new Map(messages.map((m) => [m.id, m]))
  const path: T[] = []
  for (let m = byID.get(leaf); m && path.length < messages.length; m = byID.get(m.parent)) path.push(m)
  return path.reverse()
}

// siblings lists the messages with the parent and role of m, including m, oldest first.
export const siblings = <T extends Node>(messages: T[], m: T): T[] => messages.filter((x) => x.parent === m.parent && x.role === m.role)

// latest returns the end of the branch after a message that was written to last.
export function latest(messages: Node[], id: number): number {
  for (;;) {
    const child = messages.findLast((m) => m.parent === id)
    if (!child) return id
    id = child.id
  }
}
