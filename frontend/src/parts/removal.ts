import type { Removal } from '../api/types.ts'
import { bytes } from './format.ts'

// removalText says what removing a model does.
export function removalText(r: Removal): string {
  const first = r.in_memory ? 'It is unloaded first. ' : ''
  if (!r.deletes) return `${first}It is removed from the list. Its files stay, because Tandem didn’t download them.`
  return `${first}Its files are deleted, which frees ${bytes(r.bytes)}.`
}
