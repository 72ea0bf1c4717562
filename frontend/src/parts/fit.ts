import { memory } from './format.ts'

const GiB = 2 ** 30

// A Place is what a model has to fit into. Zero is what is not known.
export interface Place {
  memory: number // bytes of the machine
  class: number // the largest model for it, in GiB of memory
  room: number // bytes that models may take
}

// A Fit says whether a model fits, before it is downloaded. What is not known fits neither way.
export interface Fit {
  fits: boolean | null
  text: string
}

// fit tells whether a model for machines with so many GiB fits here. bytes is what it downloads, 0
// while that is not known.
export function fit(from: number, bytes: number, here: Place): Fit {
  if (here.memory <= 0) return { fits: null, text: `for ${from} GiB of memory or more` }
  if (from > here.class) {
    return { fits: false, text: `too large: for ${from} GiB of memory or more` }
  }
  const left = bytes > 0 && here.room > 0 ? Math.floor((here.room - bytes) / GiB) : 0
  return { fits: true, text: left > 0 ? `fits in memory, leaves ${memory(left * GiB)}` : 'fits in memory' }
}
