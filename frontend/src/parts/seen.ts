import type { Connection, SeenClient } from '../api/types.ts'
import { clientOf, type Client } from './clients.ts'

// The agents of programs whose id says something else.
const agents: Record<string, string> = { claude: 'claude-code', javascript: 'node' }

// What programs call themselves in requests whose library writes the name: another program may have
// sent those too.
const libraries: Record<string, string> = { aider: 'Python', continue: 'Node' }

// notSeen says of a program that no request has named.
export const notSeen = (id: string): string => (libraries[id] ? `shown in Runs as ${libraries[id]}` : 'not connected yet')

// afterTest says what a program does once it asks.
export const afterTest = (id: string): string => (libraries[id] ? `it will be ${notSeen(id)}` : 'it will show up here as connected')

// programOf returns a program of the page as the history has it.
export const programOf = (id: string): Client => clientOf(agents[id] ?? id)

// seenAt returns when a program asked last, or nothing where it never did. A key may have the
// program's name at its beginning.
export function seenAt(of: Pick<Connection, 'id' | 'name'>, seen: SeenClient[]): string {
  const name = programOf(of.id).name.toLowerCase()
  const own = seen.filter(({ client }) => clientOf(client).name.toLowerCase() === name || client.toLowerCase().startsWith(`${of.name.toLowerCase()} `))
  return own.map((s) => s.at).sort().at(-1) ?? ''
}
