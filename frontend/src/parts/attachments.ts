import type { Attached } from '../api/facts.ts'

// A TextFile is a file whose text goes with a message.
export interface TextFile extends Attached {
  text: string
}

export const mostAttached = 900_000 // bytes of all files of a message; a message holds 1 MiB

// sizeOf returns the bytes of a text.
export const sizeOf = (text: string): number => new Blob([text]).size

// textOf returns the text of a file. It throws why it is none. It reads no file that is too large.
export async function textOf(file: File): Promise<string> {
  const { name } = file
  if (file.size > mostAttached) throw new Error(`${name} is too large: a message holds 900 kB of files.`)
  const bytes = await file.arrayBuffer()
  let text = '\0'
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    // it is no text
  }
  if (text.includes('\0')) throw new Error(`${name} is not a text file.`)
  return text
}

// fence returns a fence that the text does not have.
function fence(text: string): string {
  let longest = 2
  for (const [ticks] of text.matchAll(/^`{3,}/gm)) longest = Math.max(longest, ticks.length)
  return '`'.repeat(longest + 1)
}

// attach puts files before the words of a message. Each stands below its name, as a block of code.
export function attach(files: TextFile[], words: string): string {
  const parts = files.map(({ name, text }) => {
    const ticks = fence(text)
    return `${name}:\n${ticks}\n${text}${text.endsWith('\n') ? '' : '\n'}${ticks}\n\n`
  })
  return parts.join('') + words
}
