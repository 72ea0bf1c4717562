import { get } from './client.ts'
import type { CheckpointList } from './types.ts'

// checkpoints reads the checkpoints that were used last, page by page, until it has at least the
// given number or all. It lists each checkpoint once, even if one is used meanwhile.
export async function checkpoints(least: number): Promise<CheckpointList> {
  let list = await get<CheckpointList>('/app/checkpoints')
  while (list.next && list.checkpoints.length < least) {
    const page = await get<CheckpointList>(`/app/checkpoints?before=${encodeURIComponent(list.next)}`)
    const known = new Set(list.checkpoints.map((c) => c.id))
    list = { ...page, checkpoints: [...list.checkpoints, ...page.checkpoints.filter((c) => !known.has(c.id))] }
  }
  return list
}
