// A Day is a heading with what belongs below it.
export interface Day<T> {
  name: 'Pinned' | 'Today' | 'Yesterday' | 'Older'
  list: T[]
}

// byDay divides a list, newest first, by the days on which its parts were changed. Pinned ones come
// first, whatever their day. Days without any are left out.
export function byDay<T extends { updated_at: string; pinned?: boolean }>(list: T[], now = new Date()): Day<T>[] {
  const today = new Date(now.getFullYear(), now.getMonth(), now.getDate()).getTime()
  const yesterday = new Date(now.getFullYear(), now.getMonth(), now.getDate() - 1).getTime()
  const days: Day<T>[] = [
    { name: 'Pinned', list: [] },
    { name: 'Today', list: [] },
    { name: 'Yesterday', list: [] },
    { name: 'Older', list: [] },
  ]
  for (const one of list) {
    const at = Date.parse(one.updated_at)
    days[one.pinned ? 0 : at >= today ? 1 : at >= yesterday ? 2 : 3]?.list.push(one)
  }
  return days.filter((d) => d.list.length > 0)
}
