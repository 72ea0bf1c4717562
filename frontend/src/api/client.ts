import { events } from './events.ts'
import { Session } from './session.ts'

// A Failure is an error that the endpoint answered with.
export class Failure extends Error {
  constructor(
    message: string,
    readonly code: string,
    readonly status: number,
  ) {
    super(message)
  }
}

// why is what to tell a person of what was thrown.
export const why = (e: unknown): string => (e instanceof Error ? e.message : String(e))

// inWindow says that the page is in Tandem's own window, whose requests go
// through the control socket and need no session.
export const inWindow = location.protocol === 'wails:' || location.hostname === 'wails.localhost'

export const session = new Session()

// takeCode exchanges the code of a link that `tandem open` made, which stands
// after the address's #, and takes it out of the address. A page may be named
// after it.
export async function takeCode(): Promise<void> {
  const [code, page] = location.hash.slice(1).split('/')
  if (code === undefined || !/^[A-Z2-7]{20,}$/.test(code)) return
  history.replaceState(null, '', location.pathname + (page ? `#/${page}` : ''))
  session.set((await post<{ session: string }>('/app/session', { code })).session)
}

// hasSession says whether the control routes can be asked.
export const hasSession = (): boolean => inWindow || session.get() !== null

// request sends a request and returns the answer if it is a good one.
export async function request(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers)
  const own = session.get()
  if (own !== null) headers.set('Authorization', `Bearer ${own}`)
  if (init.body !== undefined) headers.set('Content-Type', 'application/json')
  let answer: Response
  try {
    answer = await fetch(path, { ...init, headers })
  } catch (e) {
    if (init.signal?.aborted) throw e
    throw new Failure('Tandem does not answer.', 'unreachable', 0)
  }
  if (answer.ok) return answer
  // A link that is used up says nothing of the session that is there.
  if (answer.status === 401 && own !== null && path.startsWith('/app/') && path !== '/app/session') session.drop(own)
  const text = await answer.text()
  let error: { message?: string; code?: string } = {}
  try {
    error = (JSON.parse(text) as { error?: typeof error }).error ?? {}
  } catch {
    // not one of Tandem's own answers
  }
  throw new Failure(error.message ?? `Tandem answered ${answer.status}.`, error.code ?? 'internal', answer.status)
}

export const get = async <T>(path: string): Promise<T> => (await request(path)).json() as Promise<T>

export const post = async <T = unknown>(path: string, body: unknown = {}): Promise<T> =>
  (await request(path, { method: 'POST', body: JSON.stringify(body) })).json() as Promise<T>

export const remove = async <T = unknown>(path: string): Promise<T> => (await request(path, { method: 'DELETE' })).json() as Promise<T>

// stream sends a request and yields the data of its events. An error event is
// thrown as a Failure. began is called before the first of them.
export async function* stream(path: string, init: RequestInit, began?: (answer: Response) => void): AsyncGenerator<string> {
  const answer = await request(path, init)
  began?.(answer)
  if (answer.body === null) return
  for await (const data of events(answer.body)) {
    if (data.startsWith('{"error":{')) {
      const { error } = JSON.parse(data) as { error: { message: string; code: string } }
      throw new Failure(error.message, error.code, answer.status)
    }
    yield data
  }
}
