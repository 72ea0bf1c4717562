import type { Timings } from './answer.ts'

// An Attached is what a message keeps of a file. The file's text is in the message itself.
export interface Attached {
  name: string
  tokens: number // of the model that answers; 0 = not known
}

// Facts are the data kept with a message's text.
export interface Facts {
  files?: Attached[] // of a person's message, which begins with their texts
  said?: number // where the person's own words begin after them
  timings?: Timings
  limit?: number // tokens that the request allowed
  waited?: number // milliseconds until the first word
  spans?: number[] // see Answer
  thought?: string
}
