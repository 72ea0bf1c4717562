// This code must run before the rest of the page.

// A blank window is the worst failure, so the page shows every error.
function broken(reason: unknown): void {
  const page = document.createElement('pre')
  page.className = 'broken'
  page.setAttribute('role', 'alert')
  const why = reason instanceof Error ? (reason.stack ?? reason.message) : String(reason)
  page.textContent = `The page has failed. Reload it; if that does not help, this is why:\n\n${why}`
  document.body.prepend(page)
}
addEventListener('error', (e) => broken(e.error ?? e.message))
addEventListener('unhandledrejection', (e) => broken(e.reason))
