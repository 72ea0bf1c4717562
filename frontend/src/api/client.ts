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

// An ErrorBody is an answer, or an event, that is an error. Its message ends with the advice, which has
// commands for a terminal.
interface ErrorBody {
  message?: string
  advice?: string
  code?: string
}

// failureOf returns an error as the window shows it: without commands.
export function failureOf({ message = '', advice = '', code = 'internal' }: ErrorBody, status: number): Failure {
  const said = advice && message.endsWith(advice) ? message.slice(0, -advice.length).trimEnd() : message
  return new Failure(said || `Tandem answered ${status}.`, code, status)
}

// why returns the text that tells a person about a thrown value.
export const why = (e: unknown): string => (e instanceof Error ? e.message : String(e))

// inWindow is true if the page is in Tandem's own window. Its requests go through the control
// socket and need no session.
export const inWindow = location.protocol === 'wails:' || location.hostname === 'wails.localhost'

export const session = new Session()

// takeCode exchanges the code of a link that `tandem open` made, and removes it from the address.
// The code stands after the #. The name of a page may follow it.
export async function takeCode(): Promise<void> {
  const [code, ...page] = location.hash.slice(1).split('/')
  if (code === undefined || !/^[A-Z2-7]{20,}$/.test(code)) return
  history.replaceState(null, '', location.pathname + (page.length > 0 ? `#/${page.join('/')}` : ''))
  session.set((await post<{ session: string }>('/app/session', { code })).session)
}

// hasSession returns whether the page may use the control routes.
export const hasSession = (): boolean => inWindow || session.get() !== null

// request sends a request and returns the answer. It throws a Failure if the answer is an error.
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
  // A used link does not mean that the present session is bad.
  if (answer.status === 401 && own !== null && path.startsWith('/app/') && path !== '/app/session') session.drop(own)
  const text = await answer.text()
  let error: ErrorBody = {}
  try {
    error = (JSON.parse(text) as { error?: ErrorBody }).error ?? {}
  } catch {
    // another program answered
  }
  throw failureOf(error, answer.status)
}

export const get = async <T>(path: string): Promise<T> => (await request(path)).json() as Promise<T>

export const post = async <T = unknown>(path: string, body: unknown = {}): Promise<T> =>
  (await request(path, { method: 'POST', body: JSON.stringify(body) })).json() as Promise<T>

export const remove = async <T = unknown>(path: string): Promise<T> => (await request(path, { method: 'DELETE' })).json() as Promise<T>

// stream sends a request and yields the data of its events. It throws an error event as a Failure,
// and calls began before the first event.
export async function* stream(path: string, init: RequestInit, began?: (answer: Response) => void): AsyncGenerator<string> {
  const answer = await request(path, init)
  began?.(answer)
  if (answer.body === null) return
  for await (const data of events(answer.body)) {
    if (data.startsWith('{"error":{')) {
      throw failureOf((JSON.parse(data) as { error: ErrorBody }).error, answer.status)
    }
    yield data
  }
}
