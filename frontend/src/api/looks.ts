// whileSeen calls look now, when the tab comes into view again, and every so many milliseconds while it
// is in view. A hidden tab asks for nothing. It returns what ends the calls.
export function whileSeen(pause: number, look: () => void): () => void {
  const seen = (): void => {
    if (!document.hidden) look()
  }
  seen()
  const again = setInterval(seen, pause)
  document.addEventListener('visibilitychange', seen)
  return () => {
    clearInterval(again)
    document.removeEventListener('visibilitychange', seen)
  }
}
