// A Client is a program as people call it, with the colour of its tile.
export interface Client {
  name: string
  colour: string
}

// The programs whose User-Agent says something else than their name. White on each colour has a
// contrast of at least 4.5:1.
const known: [begins: RegExp, Client][] = [
  [/^claude-(cli|code)/i, { name: 'Claude Code', colour: '#b0522f' }],
  [/^codex/i, { name: 'Codex', colour: '#0f7a66' }],
  [/^zed/i, { name: 'Zed', colour: '#2f6fd6' }],
  [/^continue/i, { name: 'Continue', colour: '#4b4b57' }],
  [/^cline/i, { name: 'Cline', colour: '#7a4bc4' }],
  [/^(async)?(openai|anthropic)\/python|^python|^(aio)?httpx?\b/i, { name: 'Python', colour: '#306998' }],
  [/^\w+\/js |^node|^undici/i, { name: 'Node', colour: '#3c7a3c' }],
  [/^ollama/i, { name: 'Ollama', colour: '#4b4b57' }],
  [/^go-http-client/i, { name: 'Go', colour: '#00748f' }],
  [/^opencode/i, { name: 'OpenCode', colour: '#1f6f8b' }],
  [/^aider/i, { name: 'Aider', colour: '#2f7d32' }],
  [/^qwen/i, { name: 'Qwen Code', colour: '#5b3fa0' }],
  [/^llm\b/i, { name: 'llm', colour: '#8a3f6b' }],
  [/^curl/i, { name: 'curl', colour: '#4b4b57' }],
  [/^Tandem$/, { name: 'Playground', colour: '#4a4bd4' }],
  [/^tandem$/, { name: 'Command line', colour: '#4b4b57' }],
]

// programOf returns what calls itself agent, without its version.
export const programOf = (agent: string): string => agent.replace(/(.)\/.*$/, '$1')

// clientOf returns the name and the colour of what calls itself agent. What is not known keeps its own
// name, up to its version.
export function clientOf(agent: string): Client {
  const found = known.find(([begins]) => begins.test(agent))
  if (found) return found[1]
  return { name: programOf(agent) || 'Unnamed client', colour: '#5b5b66' }
}
