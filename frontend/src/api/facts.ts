import type { Attached } from '../parts/attachments.ts'
import type { Timings } from './answer.ts'

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
