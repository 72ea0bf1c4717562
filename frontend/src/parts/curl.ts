import type { Ask } from '../api/generate.ts'
import { copied } from '../api/outside.ts'
import { curlOf } from './exports.ts'

// takeCurl copies a command that asks the endpoint the same, and returns the outcome in words.
export const takeCurl = async (address: string, ask: Ask): Promise<string> =>
  address === '' ? 'Not copied: the endpoint is closed' : copied(curlOf(address, ask), 'Copied as curl')
