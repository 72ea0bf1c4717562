// events yields the data of each server-sent event of a stream, up to its end. An EventSource can
// neither send a header nor POST.
export async function* events(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader()
  let rest = ''
  try {
    for (;;) {
      const { value, done } = await reader.read()
      if (done) return
      const lines = (rest + value).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) {
        if (!line.startsWith('data: ')) continue // a comment, or the end of an event
        const data = line.slice('data: '.length)
        if (data === '[DONE]') return
        yield data
      }
    }
  } finally {
    reader.cancel().catch(() => {}) // the caller may have left before the end
  }
}
