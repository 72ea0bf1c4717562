import table from '../../../app/control/clients.json'

// A Client is a program as people call it, with the colour of its tile.
export interface Client {
  name: string
  colour: string
}

// The programs whose User-Agent says something else than their name, as the command line and the menu have
// them.
const known = (table as (Client & { begins?: string; is?: string })[]).map(
  ({ begins, is, ...client }): [agent: RegExp, Client] => [is ? new RegExp(`^${is}$`) : new RegExp(`^(${begins})`, 'i'), client],
)

// programOf returns what calls itself agent, without its version.
export const programOf = (agent: string): string => agent.replace(/(.)\/.*$/, '$1')

// clientOf returns the name and the colour of what calls itself agent. What is not known keeps its own
// name, up to its version.
export function clientOf(agent: string): Client {
  const found = known.find(([of]) => of.test(agent))
  if (found) return found[1]
  return { name: programOf(agent) || 'Unnamed client', colour: '#5b5b66' }
}
