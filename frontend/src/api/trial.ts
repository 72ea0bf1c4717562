import { Failure, get, request } from './client.ts'
import type { Run } from './types.ts'

const asks = 'Say hello in one short sentence.'
const most = 24 // tokens of the answer
const pause = 150 // milliseconds between two looks at the run
const looks = 40 // at most: the run ends soon after its answer

// The routes of programs that do not use chat completions, with the form of a request.
const routes: Record<string, { path: string; body: object }> = {
  claude: { path: '/v1/messages', body: { max_tokens: most, messages: [{ role: 'user', content: asks }] } },
  codex: { path: '/v1/responses', body: { max_output_tokens: most, input: asks } },
}
const usual = { path: '/v1/chat/completions', body: { max_tokens: most, messages: [{ role: 'user', content: asks }] } }

// tryProgram sends one request by the route that a program uses. It returns the request's run after
// that has ended.
export async function tryProgram(id: string): Promise<Run> {
  const { path, body } = routes[id] ?? usual
  const headers = { 'X-Tandem-Client': 'Tandem' }
  const answer = await request(path, { method: 'POST', headers, body: JSON.stringify({ model: 'tandem', ...body }) })
  await answer.text()
  const run = Number(answer.headers.get('X-Tandem-Run') ?? 0)
  for (let n = 0; n < looks; n++) {
    const found = await get<Run>(`/app/runs/${run}`)
    if (found.ended_at) return found
    await new Promise((wait) => setTimeout(wait, pause))
  }
  throw new Failure(`The answer came, but run ${run} has not ended.`, 'internal', 0)
}
