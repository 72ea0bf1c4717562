import type { Checkpoint } from '../api/types.ts'

type Part = Pick<Checkpoint, 'id' | 'parent' | 'kind' | 'from_token' | 'to_token'>

// continued sets each checkpoint's parent to the text that it continues. On the disk the parent is
// the checkpoint whose beginning it shares. But two chats that begin alike, such as with one system
// prompt, are two texts. A prompt with the question and only a part of the answer continues that
// answer too, because models leave out their thoughts.
export function continued<T extends Part>(nodes: T[]): T[] {
  const known = new Map(nodes.map((n) => [n.id, n]))
  return nodes.map((n) => {
    let from = n.from_token // end of the text that both share, in tokens
    let p = known.get(n.parent)
    while (p && from < p.to_token && !(p.kind === 'answer' && n.kind === 'prompt' && from >= p.from_token)) {
      from = Math.min(from, p.from_token)
      p = known.get(p.parent)
    }
    return p?.id === n.parent ? n : { ...n, parent: p?.id ?? '' }
  })
}

// A Row is a node in the list of a tree. The nodes that continue it stand below it.
export interface Row<T> {
  of: T
  depth: number
  above: string[] // ids, the root's first
}

// tree lists nodes as rows. A node whose parent is not among them is a root. Siblings keep their
// order.
export function tree<T extends { id: string; parent: string }>(nodes: T[]): Row<T>[] {
  const ids = new Set(nodes.map((n) => n.id))
  const below = new Map<string, T[]>()
  for (const n of nodes) {
    const parent = ids.has(n.parent) ? n.parent : ''
    below.set(parent, [...(below.get(parent) ?? []), n])
  }
  const rows: Row<T>[] = []
  // The loop does not recurse, because a long answer is a long line of checkpoints.
  const todo = (below.get('') ?? []).map((of) => ({ of, depth: 0, above: [] as string[] })).reverse()
  for (let row = todo.pop(); row; row = todo.pop()) {
    rows.push(row)
    const above = [...row.above, row.of.id]
    // An only child stays in its parent's column. Only branches are indented.
    const children = below.get(row.of.id) ?? []
    const depth = row.depth + (children.length > 1 ? 1 : 0)
    for (const of of [...children].reverse()) todo.push({ of, depth, above })
  }
  return rows
}

// A Text is a row of a tree with the earlier rows that only this text continues.
export interface Text<T> extends Row<T> {
  earlier: Row<T>[] // oldest first
}

// texts folds each line of rows into its newest row. Rows that stand for themselves stay.
export function texts<T extends { id: string }>(rows: Row<T>[], alone: (of: T) => boolean): Text<T>[] {
  const list: Text<T>[] = []
  let earlier: Row<T>[] = []
  rows.forEach((row, i) => {
    const next = rows[i + 1]
    const only = next?.above.at(-1) === row.of.id && next.depth === row.depth
    if (only && !alone(row.of)) {
      earlier.push(row)
      return
    }
    list.push({ ...row, earlier })
    earlier = []
  })
  return list
}

// A Guide is what is drawn before a row at one level of its depth: a line that passes by, a branch
// from a line that goes on, the line's last branch, or nothing.
export type Guide = 'pass' | 'branch' | 'last' | 'none'

// guides returns what is drawn before each row of a tree, from the first level to the row's own.
export function guides(rows: { depth: number }[]): Guide[][] {
  const on: boolean[] = [] // by depth: a row further down hangs on the same line
  return rows
    .toReversed()
    .map(({ depth }) => {
      const drawn = Array.from({ length: depth }, (_, i): Guide => {
        const more = on[i + 1] === true
        return i + 1 === depth ? (more ? 'branch' : 'last') : more ? 'pass' : 'none'
      })
      on.length = depth
      on[depth] = true
      return drawn
    })
    .reverse()
}
