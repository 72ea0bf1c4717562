import type { Removal } from '../api/types.ts'
import { bytes } from './format.ts'

// removalText says what removing a model does.
export function removalText(r: Removal): string {
  const first = r.in_memory ? 'It is in memory and is unloaded first. ' : ''
  if (!r.deletes) return `${first}It leaves the list. Its files stay, because Tandem did not download them.`
  return `${first}Tandem downloaded it: its files are deleted, which frees ${bytes(r.bytes)} on the disk.`
}
