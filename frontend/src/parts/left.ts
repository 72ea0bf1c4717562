import type { Active } from '../api/types.ts'

const least = 500 // milliseconds of reading that tell a speed

// left returns how many milliseconds the reading of a prompt will take from now on, by its speed since
// the first look. It is 0 where nothing tells.
export function left(of: Pick<Active, 'prompt_done' | 'prompt_tokens'>, first: { at: number; done: number }, now: number): number {
  const read = of.prompt_done - first.done
  const took = now - first.at
  return read > 0 && took >= least ? ((of.prompt_tokens - of.prompt_done) * took) / read : 0
}
